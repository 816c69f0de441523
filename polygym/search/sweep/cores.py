"""Cores for measuring and for code generation, so that clocks do not disturb each other.

A job measures one program at a time on ``threads`` cores of its own, where nothing else runs
meanwhile. Before it measures, it generates code there, and on its part of the cores that no job
measures on. Two hardware threads of one core share everything that matters to a clock, so only the
first of them is used, unless there are fewer cores than threads are asked for.

Example: on eight cores, three jobs with two threads each measure on 0-1, 2-3 and 4-5; the first two
of them generate code on 6 and on 7 as well.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

_MIN_SPARE = 4
_TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True, slots=True)
class JobCores:
    """The cores of one job; it measures and generates code in turn."""

    measuring: tuple[int, ...]
    compiling: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CorePlan:
    """A place for each job, and a sentence if there are fewer places than jobs were asked for."""

    places: tuple[JobCores, ...]
    remark: str = ""


def spare_cores(place: JobCores) -> tuple[int, ...]:
    """Return the cores on which code may be generated while those of a place measure.

    A core that is busy takes a part of what all share: the last level of cache, the memory, the
    heat. On fewer than four cores one of them takes too large a part; there code waits. On more,
    half of the cores at most are busy beside those that measure.

    >>> spare_cores(JobCores((0,), (0, 1))), spare_cores(JobCores((0,), (0, 1, 2, 3)))
    ((), (2, 3))
    """
    spare = [core for core in place.compiling if core not in place.measuring]
    most = len(place.compiling) // 2
    return () if len(place.compiling) < _MIN_SPARE else tuple(spare[-most:])


def plan_cores(cores: Iterable[int], jobs: int, threads: int) -> CorePlan:
    """Return the places of the jobs that fit, which are one at least.

    >>> plan_cores(range(2), 1, 1).places
    (JobCores(measuring=(0,), compiling=(0, 1)),)
    >>> plan_cores(range(2), 4, 2).remark
    '4 jobs of 2 threads need 8 cores, and there are 2: one job at a time'
    """
    free = sorted(cores)
    fitting = max(1, min(jobs, len(free) // threads))
    blocks = [tuple(free[k * threads : (k + 1) * threads]) for k in range(fitting)]
    spare = free[fitting * threads :]
    places = tuple(JobCores(block, (*block, *spare[k::fitting])) for k, block in enumerate(blocks))
    return CorePlan(places, _remark(len(free), jobs, fitting, threads))


def _remark(cores: int, jobs: int, fitting: int, threads: int) -> str:
    who = f"{_counted(jobs, 'job')} of {_counted(threads, 'thread')} need{'s' * (jobs == 1)}"
    there = f"there {'is' if cores == 1 else 'are'} {cores}"
    needed = f"{who} {_counted(jobs * threads, 'core')}, and {there}"
    if threads > cores:
        return f"{needed}: the threads share them, one job at a time"
    if fitting < jobs:
        return f"{needed}: {'one job' if fitting == 1 else f'{fitting} jobs'} at a time"
    return ""


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def usable_cores(least: int = 1, siblings: Callable[[int], str] | None = None) -> tuple[int, ...]:
    """Return the cores that this process may use, one hardware thread of each.

    Where these are fewer than ``least``, further hardware threads of theirs make up for it.
    ``siblings`` returns the text in which Linux lists the hardware threads of a core.

    >>> usable_cores(1, lambda number: "0-1023") == (min(os.sched_getaffinity(0)),)
    True
    """
    seen: set[str] = set()
    chosen: list[int] = []
    others: list[int] = []
    for number in sorted(os.sched_getaffinity(0)):
        same = (siblings or _siblings)(number)
        (others if same in seen else chosen).append(number)
        seen.add(same)
    return tuple(sorted([*chosen, *others[: max(0, least - len(chosen))]]))


def _siblings(number: int) -> str:
    """Return what is the same for the hardware threads of one core; where unknown, the number."""
    try:
        path = _TOPOLOGY / f"cpu{number}" / "topology" / "thread_siblings_list"
        return path.read_text(encoding="ascii").strip() or str(number)
    except OSError:
        return str(number)
