"""Slots of threads in private arrays.

Private arrays that are too large for the stack have a slot for each thread
(:mod:`polygym.codegen.analysis.private_memory`). Machine code counts the threads as they come,
printed C asks OpenMP for the thread's number; a region gets the slot in the place of the array.
Called directly, it gets the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polygym.codegen.analysis.private_memory import pooled_arrays, slot_elements
from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.llvm.access.protocols import Emitter
from polygym.codegen.llvm.core.source_builder import THREADS, SourceBuilder
from polygym.codegen.llvm.core.types import I64, LLVM_TYPE, declare_function, i64
from polygym.codegen.loopir import ir as loop_ir


@dataclass(frozen=True, slots=True)
class ThreadSlots:
    """A captured array with a slot for each thread: its place, and how far slots are apart."""

    place: int
    elements: int
    kind: ir.Type


def slots_of_threads(emitter: Emitter, captured: list[Any]) -> tuple[ThreadSlots, ...]:
    """Return the captured arrays that have a slot for each thread."""
    return tuple(
        ThreadSlots(
            captured.index(emitter.storage[name]),
            slot_elements(emitter.program, name),
            LLVM_TYPE[emitter.program.scop.array(name).type],
        )
        for name in pooled_arrays(emitter.program)
    )


def move_to_slots(
    builder: ir.IRBuilder, arguments: list[Any], slots: Sequence[ThreadSlots], thread: Any
) -> None:
    """Replace captured arrays by the slots of the thread of a number."""
    for slot in slots:
        behind = builder.mul(thread, i64(slot.elements))
        arguments[slot.place] = builder.gep(arguments[slot.place], [behind], source_etype=slot.kind)


def thread_slots(builder: ir.IRBuilder, program: loop_ir.LoopProgram, thread_count: Any) -> Any:
    """Return how many slots private arrays have: as many as threads may come to a loop."""
    loops = loop_ir.loops_in(program.body)
    if not any(isinstance(loop.annotation, ParallelLoop) for loop in loops):
        return i64(1)
    if isinstance(builder, SourceBuilder) and program.threads > 1:
        threads = declare_function(builder.module, THREADS, ir.FunctionType(I64, []))
        return builder.call(threads, [])
    return builder.zext(thread_count, I64)
