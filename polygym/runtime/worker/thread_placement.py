"""Every thread on cores of its own, so that none waits for a core that another one has.

A thread of OpenMP's sleeps between one run and the next. When it wakes up, the kernel may put it on
the core of the thread that has woken it, although another one is idle; it looks for threads that
share a core every few milliseconds only. A program of less than that then takes as long as with one
thread, in all its runs or in none: two answers for the same code, one twice the other. So the cores
that the process may use are dealt out among its threads, the part with the core of the first thread
to that one; within its part a thread may go anywhere. Times of 25 measurements of a convolution of
0.3 ms, two threads on two cores of an AMD EPYC, as they came: 6 below 0.35 ms and 19 from 0.48 to
0.67; with cores of their own 24 from 0.28 to 0.34, one of 0.48.

Example: of three threads on the cores 0 to 7, the first of which is at core 4, the first has 4, 5,
6, the second 7, 0, 1, the third 2, 3. Three threads on two cores have 0, 1 and 0.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

# Who sets one of these has said where threads are to be.
_USER_AFFINITY_VARIABLES = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")

_PROCESSOR = 36  # of the fields of /proc/self/stat after the process's name


class ThreadPlacement:
    """The threads of this process, where they are."""

    def __init__(self) -> None:
        """Begin with one thread, which may be anywhere."""
        self._cores = sorted(os.sched_getaffinity(0))
        self._is_wanted = not any(name in os.environ for name in _USER_AFFINITY_VARIABLES)
        self._count = 1

    def update(self) -> None:
        """Deal the cores out anew, if there are more or fewer threads than the last time."""
        if not self._is_wanted:
            return
        with suppress(OSError):  # the machine shows no threads, or forbids to move them
            threads = sorted(map(int, os.listdir("/proc/self/task")))
            if len(threads) == self._count:
                return
            self._count = len(threads)
            parts = assign_cores(self._cores, len(threads), _current_core())
            for thread, cores in zip(threads, parts, strict=True):
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.sched_setaffinity(thread, cores)


def assign_cores(cores: Sequence[int], threads: int, first: int) -> list[list[int]]:
    """Return the cores of each thread, beginning with the core ``first`` if it is one of them.

    >>> dealt(range(8), 3, 4), dealt(range(2), 3, 0)
    ([[4, 5, 6], [7, 0, 1], [2, 3]], [[0], [1], [0]])
    """
    at = cores.index(first) if first in cores else 0
    turned = [*cores[at:], *cores[:at]]
    if threads >= len(turned):
        return [[turned[thread % len(turned)]] for thread in range(threads)]
    least, more = divmod(len(turned), threads)
    ends = [thread * least + min(thread, more) for thread in range(threads + 1)]
    return [turned[begin:end] for begin, end in pairwise(ends)]


def _current_core() -> int:
    """Return the core on which the first thread is, or was last."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
    return int(fields.rpartition(")")[2].split()[_PROCESSOR])
