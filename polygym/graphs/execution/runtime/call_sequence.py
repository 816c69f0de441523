"""Kernels one after the other in a single call: what Python takes between two of them is saved.

A step from Python takes about 0.4 µs, and a small model has a hundred steps. The loop over them is
machine code itself, of the same entry point: its arguments are a count, then for each kernel the
address of its code and of its argument block. It ends at the first code other than 0, and writes
the place of that kernel where others write their time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from polygym.codegen.llvm.core.binary_interface import ENTRY_POINT
from polygym.codegen.llvm.jit import compile_object
from polygym.foreign import calls
from polygym.foreign.calls import EntryPoint
from polygym.runtime.loader import LoadedProgram, load_object

_LOOP = f"""
define i32 @{ENTRY_POINT}(ptr %arguments, ptr %place) {{
entry:
  %time = alloca i64
  %count = load i64, ptr %arguments
  br label %head
head:
  %at = phi i64 [ 0, %entry ], [ %next, %body ]
  %is_done = icmp eq i64 %at, %count
  br i1 %is_done, label %done, label %body
body:
  %twice = shl i64 %at, 1
  %first = add i64 %twice, 1
  %second = add i64 %twice, 2
  %code_slot = getelementptr i64, ptr %arguments, i64 %first
  %block_slot = getelementptr i64, ptr %arguments, i64 %second
  %code = load ptr, ptr %code_slot
  %block = load ptr, ptr %block_slot
  %result = call i32 %code(ptr %block, ptr %time)
  %next = add i64 %at, 1
  %is_right = icmp eq i32 %result, 0
  br i1 %is_right, label %head, label %failed
failed:
  store i64 %at, ptr %place
  ret i32 %result
done:
  ret i32 0
}}
"""


@cache
def _loop() -> LoadedProgram:
    return load_object(compile_object(_LOOP))


@dataclass(frozen=True, slots=True)
class CallSequence:
    """Calls of kernels; ``blocks`` are their arguments, which may be changed between calls."""

    entry: EntryPoint
    table: Any
    failed: Any
    blocks: tuple[Any, ...]

    @staticmethod
    def of(kernels: Sequence[tuple[EntryPoint, Any]]) -> "CallSequence":
        """Return the calls of functions with their argument blocks."""
        addresses = [calls.address_of(part) for kernel in kernels for part in kernel]
        table = calls.argument_block([len(kernels), *addresses])
        blocks = tuple(block for _, block in kernels)
        return CallSequence(_loop().call, table, calls.time_cell(), blocks)

    def __call__(self) -> tuple[int, int]:
        """Call all; return the code of the first that failed, and its place, (0, 0) if none did."""
        code = self.entry(self.table, self.failed)
        return (code, int(self.failed[0])) if code else (0, 0)


def call_alone(step: Callable[[], int]) -> tuple[int, int]:
    """Call a step that is no kernel as a sequence of one."""
    return step(), 0
