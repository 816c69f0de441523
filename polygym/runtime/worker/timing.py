"""Repetitions and time limits of a measurement, options of a worker, and the host.

Time is what the program itself reads from ``CLOCK_MONOTONIC`` right before and after its kernel;
nothing of Python and no restoring of inputs lies between the two readings. A sample is the time of
one run, or of the fastest quarter of some in a row. The smallest one is the result, for
disturbances only ever add; all are kept. Short runs beside which another guest of the machine used
the core do not count (:mod:`polygym.runtime.worker.core_probe`).

Options of a worker are limits of the process and the rule of a measurement.
"""

import math
import os
import platform
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

_MAX_RUNS_PER_TURN = 20
_LEAST_ROUNDS_OF_A_PROCESS = 3
_MOST_PROCESSES = 3


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Repetition:
    """The rule that says when a program has been run often enough.

    It runs at least ``minimum`` times, and on while its samples add up to less than
    ``minimum_seconds``, but never more than ``maximum`` times (or ``minimum``, if that is more).

    In each of its turns it runs on while its runs add up to less than ``turn_seconds``; the sample
    is that of the fastest quarter. A program of microseconds beside one of milliseconds finds the
    caches full of the other's data, and its threads asleep.

    >>> rule = Repetition()
    >>> [rule.is_enough(samples) for samples in ([0.1] * 3, [0.1] * 4, [0.001] * 4, [1e-6] * 40)]
    [False, True, False, True]
    """

    minimum: int = 4
    minimum_seconds: float = 0.02
    maximum: int = 40
    turn_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a rule under which nothing would be run."""
        if self.minimum < 1:
            raise InputError(f"repetitions: expected at least 1, found {self.minimum}")

    def is_enough(self, samples: list[float]) -> bool:
        """Say whether a program with these samples is done."""
        if len(samples) < self.minimum:
            return False
        return len(samples) >= self.maximum or math.fsum(samples) >= self.minimum_seconds

    def parts(self) -> list["Repetition"]:
        """Return the rules of the processes in which programs that run in turn do so.

        Where the pages of its working memory lie, which no process can choose, makes one program of
        a microsecond in fifteen a fifth slower for the life of a process.

        >>> [part.minimum for part in Repetition(minimum=9, turn_seconds=0.001).parts()]
        [3, 3, 3]
        >>> [part.minimum for part in Repetition(minimum=31, turn_seconds=0.001).parts()]
        [11, 10, 10]
        >>> [part.minimum for part in Repetition(minimum=3, turn_seconds=0.001).parts()]
        [3]
        """
        if not self.turn_seconds:
            return [self]
        count = max(1, min(_MOST_PROCESSES, self.minimum // _LEAST_ROUNDS_OF_A_PROCESS))
        fewest, more = divmod(self.minimum, count)
        return [replace(self, minimum=fewest + (part < more)) for part in range(count)]

    def ends_turn(self, times: list[float]) -> bool:
        """Say whether a turn with runs of these times is over.

        >>> rule = Repetition(turn_seconds=0.002)
        >>> [rule.ends_turn(times) for times in ([0.01], [0.001], [0.001] * 2, [1e-6] * 20)]
        [True, False, True, True]
        """
        return len(times) >= _MAX_RUNS_PER_TURN or math.fsum(times) >= self.turn_seconds


def turn_sample(times: list[float]) -> float:
    """Return the sample of the runs of a turn: the mean of their fastest quarter.

    The least of some is a multiple of the clock's tick, 10 ns on some processors, which is 2 % of a
    run of 500.

    >>> turn_sample([0.012]), round(turn_sample([0.37e-6, 0.38e-6, 0.38e-6, 0.5e-6] * 2) * 1e9, 1)
    (0.012, 370.0)
    """
    fastest = sorted(times)[: max(1, len(times) // 4)]
    return math.fsum(fastest) / len(fastest)


ONCE = Repetition(minimum=1, minimum_seconds=0.0)
"""A single run."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How long one run may take: ``factor`` times the original's best, but at least ``floor``.

    The floor keeps the time slices of a busy machine from cutting off kernels of microseconds.

    >>> TimeLimit().seconds(0.25), TimeLimit().seconds(2e-6)
    (2.5, 0.01)
    """

    factor: float = 10.0
    floor: float = 0.01

    def seconds(self, baseline: float) -> float:
        """Return the limit of a run, given the original's best time."""
        return max(self.factor * baseline, self.floor)


GENEROUS_LIMIT = TimeLimit(floor=1.0)
"""Where somebody waits for one answer: threads of a busy machine may wake up late."""


@dataclass(frozen=True, slots=True)
class HostDescription:
    """The machine on which something was measured, for reports; empty or zero where unknown."""

    processor: str
    cores: int
    governor: str
    load_average: float
    memory_bytes: int
    system: str


def describe_host() -> HostDescription:
    """Describe the machine as it is now; ``cores`` counts those that this process may use."""
    fields = _key_values("/proc/cpuinfo")
    return HostDescription(
        processor=fields.get("model name", platform.machine()),
        cores=len(os.sched_getaffinity(0)),
        governor=_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        load_average=os.getloadavg()[0],
        memory_bytes=_kibibytes("MemTotal"),
        system=f"{platform.system()} {platform.release()}",
    )


def available_memory() -> int:
    """Return the bytes that can be allocated now without swapping, as the kernel estimates them.

    What the limits of this process's control groups leave counts too, where there are any.
    """
    result = [_kibibytes("MemAvailable") or sys.maxsize]
    for group in _control_groups():
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            most, now = (_text(f"{group}/{name}").strip() for name in (limit, used))
            if most.isdecimal() and now.isdecimal():
                result.append(max(0, int(most) - int(now) + _cached(group)))
    return min(result)


def _control_groups() -> list[str]:
    """Return the folders of the control groups that this process is in, with those around them.

    Lines of /proc/self/cgroup are like ``4:memory:/jobs/7``, or ``0::/jobs/7`` in version 2. In a
    container the folder of the innermost one may be at the top.
    """
    result = []
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        top = {"": "/sys/fs/cgroup", "memory": "/sys/fs/cgroup/memory"}.get(controllers)
        if top is not None:
            inside = Path(top, path.strip("/"))
            result += [
                str(folder) for folder in (inside, *inside.parents) if str(folder).startswith(top)
            ]
    return list(dict.fromkeys(result))


def _cached(group: str) -> int:
    """Return the bytes of files that a control group keeps in memory and can give up."""
    for line in _text(f"{group}/memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def _kibibytes(key: str) -> int:
    """Return a field of /proc/meminfo in bytes; it is written like ``16313516 kB``."""
    return 1024 * int(_key_values("/proc/meminfo").get(key, "0 kB").split()[0])


def _key_values(path: str) -> dict[str, str]:
    """Read lines of the form ``key : value``; of a key that repeats, the first line counts."""
    fields: dict[str, str] = {}
    for line in _text(path).splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def _text(path: str) -> str:
    """Return a small file's text, or nothing where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Limits of the worker.

    ``memory_limit`` is how many bytes one problem may take: the copies of its buffers
    (:attr:`polygym.runtime.worker.problem.Problem.memory`) and whatever its programs allocate. None
    stands for what is free on the machine when the problem is opened. ``original_seconds`` is the
    limit on each run of the original and of the initial-data program, for which there is no
    baseline yet.
    ``preparation_seconds`` is the limit on everything else: linking, restoring, comparing.
    """

    memory_limit: int | None = None
    original_seconds: float = 600.0
    preparation_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse limits under which nothing can run."""
        if self.memory_limit is not None and self.memory_limit <= 0:
            raise InputError(f"memory limit: expected more than 0 bytes, found {self.memory_limit}")
        if min(self.original_seconds, self.preparation_seconds) <= 0:
            raise InputError("time limits of the worker: expected more than 0 seconds")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How a program is measured.

    With ``keep_contents``, ``Session.contents`` can read what the last run left in the buffers.
    """

    repetition: Repetition = field(default_factory=Repetition)
    time_limit: TimeLimit = field(default_factory=TimeLimit)
    keep_contents: bool = False
