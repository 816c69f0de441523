"""A legal schedule in, machine code out: trees, then loops, then LLVM IR.

==================  ===============================================================================
``pipeline``        the way as a whole, and simpler ways where a mapping is out of isl's reach
``passes``          the passes of the way, in their order: one table
``stages``          what each pass leaves, for people
``trees``           the schedule as a tree of loops, and what a mapping makes of it
``loops``           isl's loops of the tree as a small IR, and the passes over it
``llvm``            the loops as LLVM IR, and as machine code that is loaded
``contraction``     smaller arrays, where a schedule has only a part of them alive
``c_printer``       the loops as C
``common``          what trees, loops and emitters agree about: mapping, machine, sizes, annotations
==================  ===============================================================================

Imports go from ``llvm`` to ``loops`` to ``trees`` to ``common``, and never back.
"""

from __future__ import annotations

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
