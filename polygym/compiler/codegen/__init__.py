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

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.compiler.codegen.c_printer import print_c
    from polygym.compiler.codegen.common.machine import Machine, this_machine
    from polygym.compiler.codegen.common.mapping import DEFAULT, SEQUENTIAL, Mapping, parse_mapping
    from polygym.compiler.codegen.pipeline import compile_program, lower
else:
    __getattr__ = lazily(
        __name__,
        {
            "c_printer": ("print_c",),
            "common.machine": ("Machine", "this_machine"),
            "common.mapping": ("DEFAULT", "Mapping", "SEQUENTIAL", "parse_mapping"),
            "pipeline": ("compile_program", "lower"),
        },
    )

__all__ = [
    "DEFAULT",
    "SEQUENTIAL",
    "Machine",
    "Mapping",
    "compile_program",
    "lower",
    "parse_mapping",
    "print_c",
    "this_machine",
]
