"""A Scop and a schedule in, machine code out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.compiler.codegen.c_printer import print_c
    from polygym.compiler.codegen.machine import Machine, this_machine
    from polygym.compiler.codegen.mapping import DEFAULT, SEQUENTIAL, Mapping, parse_mapping
    from polygym.compiler.codegen.pipeline import compile_program, lower
else:
    __getattr__ = lazily(
        __name__,
        {
            "c_printer": ("print_c",),
            "machine": ("Machine", "this_machine"),
            "mapping": ("DEFAULT", "Mapping", "SEQUENTIAL", "parse_mapping"),
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
