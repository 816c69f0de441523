"""The whole of code generation in one place: legal schedule → loops → LLVM IR → object code."""

from __future__ import annotations

from polygym.codegen.emit_llvm import emit_llvm
from polygym.codegen.jit import compile_object
from polygym.codegen.loop_ir import LoopProgram
from polygym.codegen.loops import generate_loops
from polygym.codegen.mapping import SEQUENTIAL, Mapping, apply_mapping
from polygym.codegen.tree import build_tree
from polygym.poly.legality import LegalSchedule


def lower(legal: LegalSchedule, mapping: Mapping = SEQUENTIAL) -> LoopProgram:
    """Return the loops that realise a legal schedule."""
    return generate_loops(apply_mapping(build_tree(legal), mapping), legal)


def compile_program(program: LoopProgram) -> bytes:
    """Return the machine code of a loop program as an object file."""
    return compile_object(emit_llvm(program))
