"""A short loop that tells whether this core is ours alone at the moment.

A virtual machine does not see who else computes on its physical cores. If another guest's thread
has the second half of a core (simultaneous multithreading), code there runs at half to four fifths
of its speed, for some milliseconds at a time, and the system's counters of stolen time show
nothing. A kernel of microseconds is measured within one such spell or outside all of them: fresh
processes then give two answers for the same code.

The probe is a checksum of zeros in the first-level cache, which keeps the core's front end full.
Alone it takes the same time to a few percent; beside another thread it takes 1.2 to 2 times as
long. It runs right before and after a run of the program, and the run is *undisturbed* if both
probes took their best time. Only the first thread's core is looked at.

Example: LU decomposition of 40 rows, 12 evaluators in new processes, two cores of a virtual AMD
EPYC. The original order and isl's schedule took 9.9 and 7.7 µs, or 14.2 and 10.5 in spells of 0.1
to 5 ms that filled a tenth to two thirds of the time. The speedup was 1.28, or 1.39; or 0.98, where
a spell began or ended between the two.
"""

import os
import time
import zlib
from contextlib import suppress
from math import inf
from pathlib import Path

from polygym.runtime.worker.measurement_turn import open_shared_file, turns_path

# How many zeros there are at least and at most: libraries differ tenfold in speed, and clocks tick
# in 10 ns.
_FEWEST_ZEROS, _MOST_ZEROS = 1 << 13, 1 << 16
_LEAST_NANOSECONDS = 1000

# What the probe may take beyond its best time; a disturbed one takes a fifth more.
_TOLERANCE = 1.08

# An interrupt disturbs one probe: only a second one in a row says that the core is shared.
_ATTEMPTS = 2

# The best time of some minutes ago tells little about a processor that has become hot since.
_MEMORY_SECONDS = 60.0

_SUFFIX = "-probe"

# So many probes take a fraction of what starting a process does.
_REFRESHING_PROBES = 20

# A longer run meets the end of a spell and the beginning of the next one: the ends tell nothing.
LONGEST_PROBED_SECONDS = 0.001

# What a job spends on waiting and on runs that do not count, before it takes the core as it is.
_PATIENCE_SECONDS = 0.2

PROBE_VARIABLE = "POLYGYM_CORE_PROBE"
"""The environment variable that has all runs count if it is ``off``."""

# Who has waited so long looks whether another core is better off.
_SECONDS_ON_A_CORE = 0.001


class CoreProbe:
    """The probe with its best time of the last minute, which a forked process takes over.

    Processes tell each other of it through a file beside that of the turns: one that begins within
    a spell would not know better.
    """

    def __init__(self) -> None:
        """Begin without a time."""
        self._zeros = _zeros()
        self._recent = self._older = inf
        self._since = time.monotonic()
        self._shared = inf

    def refresh(self) -> None:
        """Probe some times; forget the best time once it is old."""
        now = time.monotonic()
        if now - self._since > _MEMORY_SECONDS:
            self._older, self._recent, self._since = self._recent, inf, now
        for _ in range(_REFRESHING_PROBES):
            self._takes_best_time()
        self._shared = _read_shared()
        if self._recent < self._shared:
            _write_shared(self._recent)

    def is_undisturbed(self) -> bool:
        """Say whether the core is at this moment as fast as it has been."""
        return any(self._takes_best_time() for _ in range(_ATTEMPTS))

    def _takes_best_time(self) -> bool:
        elapsed = _checksum_time(self._zeros)
        self._recent = min(self._recent, elapsed)
        return elapsed <= _TOLERANCE * min(self._recent, self._older, self._shared)


class QuietRuns:
    """Which runs of a job count: undisturbed ones, and all once the patience is at an end."""

    def __init__(self, probe: CoreProbe, patience: float = _PATIENCE_SECONDS) -> None:
        """Begin a job."""
        self._probe = probe
        self._patience = 0.0 if os.environ.get(PROBE_VARIABLE) == "off" else patience
        self._was_undisturbed = False

    def begin(self, expected: float) -> None:
        """Wait until the core is undisturbed, if a run of ``expected`` seconds can be."""
        self._was_undisturbed = False
        if self._patience > 0 and expected <= LONGEST_PROBED_SECONDS:
            begun = time.monotonic()
            self._was_undisturbed = self._wait(begun)
            self._patience -= time.monotonic() - begun

    def _wait(self, begun: float) -> bool:
        """Wait while there is patience, here and on other cores; say whether it was worth it."""
        arrived = begun
        while not self._probe.is_undisturbed():
            now = time.monotonic()
            if now - begun > self._patience:
                return False
            if now - arrived > _SECONDS_ON_A_CORE:
                _move_to_another_core()
                arrived = now
        return True

    def counts(self, seconds: float) -> bool:
        """Say whether the run that has just taken so many seconds counts."""
        if self._patience <= 0 or seconds > LONGEST_PROBED_SECONDS:
            return True
        if self._was_undisturbed and self._probe.is_undisturbed():
            return True
        self._patience -= seconds
        return False


def _checksum_time(data: bytes) -> int:
    """Return the nanoseconds of a checksum."""
    start = time.perf_counter_ns()
    zlib.crc32(data)
    return time.perf_counter_ns() - start


def _zeros() -> bytes:
    """Return as many zeros as make the probe long enough to be timed."""
    size = _FEWEST_ZEROS
    while size < _MOST_ZEROS:
        if min(_checksum_time(bytes(size)) for _ in range(3)) >= _LEAST_NANOSECONDS:
            break
        size *= 2
    return bytes(size)


def _read_shared() -> float:
    """Return the best time of another process in the last minute; infinite where there is none."""
    file = _shared_file()
    with suppress(OSError, ValueError):
        if file is not None:
            if abs(time.time() - file.stat().st_mtime) <= _MEMORY_SECONDS:
                nanoseconds = float(file.read_text(encoding="ascii"))
                return nanoseconds if nanoseconds > 0 else inf
    return inf


def _write_shared(nanoseconds: float) -> None:
    file = _shared_file()
    with suppress(OSError):  # then the others do not know
        if file is not None:
            with os.fdopen(open_shared_file(str(file)), "r+b") as shared:
                shared.write(b"%12d" % nanoseconds)


def _shared_file() -> Path | None:
    """Return the file beside that of the turns; None where turns are off."""
    path = turns_path()
    return None if path is None else Path(path + _SUFFIX)


def _move_to_another_core() -> None:
    """Go on at the next core that this process may use, unless it has threads there."""
    with suppress(OSError):  # the machine shows no threads, or forbids to move them
        if len(os.listdir("/proc/self/task")) > 1:
            return
        cores = sorted(os.sched_getaffinity(0))
        here = current_core()
        following = [core for core in cores if core > here] or cores
        os.sched_setaffinity(0, following[:1])
        os.sched_setaffinity(0, cores)


_PROCESSOR = 36  # of the fields of /proc/self/stat after the process's name


def current_core() -> int:
    """Return the core on which the first thread is, or was last."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
    return int(fields.rpartition(")")[2].split()[_PROCESSOR])
