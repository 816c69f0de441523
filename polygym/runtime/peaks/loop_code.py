"""LLVM IR of loops that measure a machine, in the form that the worker runs.

A loop is the text of a function ``work(number, ones)``: ``number`` says which thread it is for,
``ones`` is memory of that thread's own that holds ones of all types, 4 KB, the beginning of which
may be written. Around it stands what every program has
(:mod:`polygym.codegen.llvm.core.binary_interface`): threads are started before the clock is read,
and take the numbers one after the other, so that all of the work is done however many threads there
are.
"""

from collections.abc import Sequence

from polygym.codegen.llvm.core.binary_interface import ENTRY_POINT, FORK_FUNCTION
from polygym.codegen.llvm.jit import compile_object
from polygym.mapping.machine import this_machine

# Bytes of memory that each thread has for results and operands.
THREAD_BYTES = 4096

_TEMPLATE = """
declare i32 @clock_gettime(i32, ptr)
declare void @{fork}(ptr, ptr, i32, i32)
{declarations}

define internal i64 @now() {{
  %time = alloca [2 x i64]
  call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %place = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}}

define internal void @work(i64 %number, ptr noalias %ones{parameters}) noinline {attributes} {{
entry:
{body}
}}

define internal void @idle(ptr %frame) {{
  ret void
}}

define internal void @task(ptr %frame) {{
entry:
{loads}
  br label %ticket
ticket:
  %number = atomicrmw add ptr %frame, i64 1 monotonic
  %some = icmp slt i64 %number, {threads}
  br i1 %some, label %chunk, label %end
chunk:
  %offset = mul i64 %number, {own}
  %ones = getelementptr i8, ptr %argument0, i64 %offset
  call void @work(i64 %number, ptr %ones{arguments})
  br label %ticket
end:
  ret void
}}

define i32 @{entry}(ptr %arguments, ptr %nanoseconds) {{
  %frame = alloca [{slots} x i64]
  store i64 0, ptr %frame
{stores}
  {start}
  %before = call i64 @now()
  {run}
  %after = call i64 @now()
  %elapsed = sub i64 %after, %before
  store i64 %elapsed, ptr %nanoseconds
  ret i32 0
}}
"""


def compile_loop(
    body: str, threads: int, *, buffers: Sequence[str] = (), declarations: str = ""
) -> bytes:
    """Return the object code of a loop for some threads.

    ``body`` is what ``work`` does, up to its return; ``buffers`` names the pointers that it gets
    beside the ones, in the order of the program's buffers.
    """
    count = 1 + len(buffers)
    bits = this_machine().vector_bits
    fork = f"call void @{FORK_FUNCTION}(ptr @%s, ptr %%frame, i32 {threads}, i32 0)"
    return compile_object(
        _TEMPLATE.format(
            fork=FORK_FUNCTION,
            entry=ENTRY_POINT,
            declarations=declarations,
            parameters="".join(f", ptr noalias %{name}" for name in buffers),
            attributes=f'nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"',
            body=body,
            loads="\n".join(map(_load_address, range(count))),
            threads=threads,
            own=THREAD_BYTES,
            arguments="".join(f", ptr %argument{place + 1}" for place in range(len(buffers))),
            slots=1 + count,
            stores="\n".join(map(_store_address, range(count))),
            start=fork % "idle" if threads > 1 else "",
            run=fork % "task" if threads > 1 else "call void @task(ptr %frame)",
        )
    )


def _load_address(place: int) -> str:
    """Return how a task reads a buffer's address from the frame."""
    return (
        f"  %slot{place} = getelementptr i64, ptr %frame, i64 {place + 1}\n"
        f"  %argument{place} = load ptr, ptr %slot{place}"
    )


def _store_address(place: int) -> str:
    """Return how a buffer's address comes into the frame."""
    return (
        f"  %from{place} = getelementptr ptr, ptr %arguments, i64 {place}\n"
        f"  %address{place} = load ptr, ptr %from{place}\n"
        f"  %to{place} = getelementptr i64, ptr %frame, i64 {place + 1}\n"
        f"  store ptr %address{place}, ptr %to{place}"
    )


def counted_loop(
    rounds: int, before: str, carried: Sequence[tuple[str, str, str]], body: str
) -> str:
    """Return a loop of so many rounds, and the block behind it.

    ``carried`` has the type of each value that a round hands to the next, its name in the round and
    that with which it begins; the body ends with its name and ``.next``.
    """
    phis = "\n".join(
        f"  {name} = phi {kind} [ {begin}, %entry ], [ {name}.next, %round ]"
        for kind, name, begin in carried
    )
    return (
        f"{before}\n  br label %round\nround:\n"
        "  %turn = phi i64 [ 0, %entry ], [ %turn.next, %round ]\n"
        f"{phis}\n{body}\n"
        "  %turn.next = add i64 %turn, 1\n"
        f"  %more = icmp slt i64 %turn.next, {rounds}\n"
        "  br i1 %more, label %round, label %done\ndone:"
    )
