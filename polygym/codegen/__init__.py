"""Code generation: a legal schedule in, machine code out, by way of trees, loops and LLVM IR.

================  ==================================================================
``pipeline``      lowering: the passes, their checks, simpler mappings as a fallback
``passes``        the passes in their order: one table
``pass_types``    the type of a pass, and the request that all passes serve
``stages``        the result of a pass as text, for ``polygym show --after``
``tree``          the schedule as a tree of loops, and its planning for a mapping
``generation``    loops of the tree, by isl's AST generator
``loopir``        the types of loops and indices
``analysis``      value ranges, footprints, disjointness
``transforms``    passes over loops
``recurrences``   families of transformations that few programs need
``validate``      checks of generated loops
``coalescing``    one loop in the place of a short one over neighbouring elements and another
``contraction``   smaller arrays, where a schedule keeps only a part of them alive
``llvm``          loops as LLVM IR and machine code
``c``             loops as C
``common``        facts that trees, loops and emitters share
================  ==================================================================
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.codegen.c import print_c
    from polygym.codegen.pipeline import compile_program, lower
    from polygym.mapping.machine import Machine, this_machine
    from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping, parse_mapping
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "DEFAULT_MAPPING",
    "SEQUENTIAL_MAPPING",
    "Machine",
    "Mapping",
    "compile_program",
    "lower",
    "parse_mapping",
    "print_c",
    "this_machine",
]
