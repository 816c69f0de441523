"""The builder of code that is printed as C (:mod:`polygym.codegen.c.kernel`).

The emitters decide the same for C as for machine code. They differ in three things, which C names
in one call or pragma: memory, vectors that go past the caches, and threads. What helps to print
is noted on the values themselves: names of arrays and counters, sums that do not wrap in practice.
"""

from typing import Any

from llvmlite import ir

ALLOCATE, RESERVE = "polygym_allocate", "polygym_reserve"
"""Helpers of printed C: memory of so many bytes; memory that the C library is to keep."""

FLOOR, REMAINDER = "polygym_floor", "polygym_remainder"
"""Helpers of printed C: a quotient rounded down, and what it leaves."""

STREAM, THREADS, THREAD = "polygym_stream", "polygym_threads", "polygym_thread"
"""Helpers of printed C: a vector past the caches; how many threads there may be; the own number."""


class SourceBuilder(ir.IRBuilder):  # type: ignore[misc]
    """Builds code that is printed as C."""


def note(value: Any, **notes: object) -> Any:
    """Note something on a value that helps to print it; return the value."""
    for name, text in notes.items():
        setattr(value, name, text)
    return value
