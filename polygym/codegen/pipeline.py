"""The whole of code generation in one place: legal schedule → loops → LLVM IR → object code."""

from __future__ import annotations

from dataclasses import replace

from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import compile_object
from polygym.codegen.loops.generate import generate_loops
from polygym.codegen.loops.ir import LoopProgram
from polygym.codegen.loops.jam import jam_loops
from polygym.codegen.loops.lanes import vectorise
from polygym.codegen.loops.ranges import check_ranges
from polygym.codegen.machine import this_machine
from polygym.codegen.mapping import SEQUENTIAL, Mapping
from polygym.codegen.trees.build import build_tree
from polygym.codegen.trees.plan import plan
from polygym.poly.legality import LegalSchedule


def lower(legal: LegalSchedule, mapping: Mapping = SEQUENTIAL) -> LoopProgram:
    """Return the loops that realise a legal schedule on this machine."""
    tree = plan(build_tree(legal), legal, mapping, this_machine())
    program = generate_loops(tree, legal)
    guarded = frozenset(name for name, _ in program.guarded)
    body = vectorise(jam_loops(program.body), legal.scop, guarded)
    check_ranges(body, legal.scop)
    return replace(program, body=body, threads=mapping.threads)


def compile_program(program: LoopProgram) -> bytes:
    """Return the machine code of a loop program as an object file."""
    return compile_object(emit_llvm(program))
