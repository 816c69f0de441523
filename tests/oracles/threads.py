"""Parallel loops that really start threads, however little there is to do in them, and are counted.

Code starts threads only where the work pays for it, which at the sizes of tests it never does; so
tests of parallel code take that limit away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from unittest.mock import patch

from polygym.codegen.llvm.loops import emit_parallel
from polygym.foreign import calls, openmp
from polygym.mapping.tuning_parameters import TUNING
from polygym.runtime import loader


@dataclass
class Forks:
    """How many threads each parallel loop asked for, in the order in which they ran."""

    asked: list[int] = field(default_factory=list)


@contextmanager
def every_loop_shared() -> Iterator[Forks]:
    """Within it, compiled code shares out every parallel loop of more than one iteration."""
    forks = Forks()
    share = calls.fork_function_at(openmp.fork_address() or calls.serial_fork_address())

    def counted(task: int, data: int, threads: int, flags: int) -> None:
        if data:  # else it is the start of the threads, before the clock runs
            forks.asked.append(threads)
        share(task, data, threads, flags)

    function = calls.fork_callback(counted)
    with (
        patch.object(emit_parallel, "TUNING", replace(TUNING, min_parallel_work=0)),
        patch.object(loader, "_fork_address", lambda: calls.address_of(function)),
    ):
        yield forks
