"""Progress of a runner, in a page of memory shared with the supervisor.

The runner writes, the supervisor looks when it wakes up to see whether a limit has passed. No
message is sent before or after a run: a message would wake the supervisor up, and on a machine
with few cores that disturbs what is being timed.

A run is over its limit L when L has passed by the wall clock *and* the runner has used L of
processor time, or a second later in any case. A program that the kernel keeps waiting because
other processes are busy is therefore not cut off for that, one that computes is cut off at L, and
one that sleeps at L + 1 s.
"""

import mmap
import time
from enum import IntEnum

from polygym.foreign.calls import memory_view
from polygym.foreign.libc import map_memory

_GRACE_SECONDS = 1.0
_NANOSECONDS = 1e-9


class RunnerPhase(IntEnum):
    """The phases of a runner's work; only RUNNING executes generated code."""

    WAITING = 0  # for its job: the supervisor sets this one
    PREPARING = 1
    LOADING = 2
    RUNNING = 3


# The places of the page's words.
_PHASE, _PROGRAM, _SINCE, _PROCESSOR = range(4)


class RunnerProgress:
    """The shared page; map it before forking."""

    def __init__(self) -> None:
        """Map the page."""
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        address = map_memory(mmap.PAGESIZE, protection, mmap.MAP_SHARED)
        self._page = memory_view(address, mmap.PAGESIZE).cast("q")

    def enter(self, phase: RunnerPhase, program: int) -> None:
        """Record that a phase begins now, for the program of that position in the job."""
        page = self._page
        # While the other fields change, no run can be over its limit.
        page[_PHASE] = RunnerPhase.PREPARING
        page[_PROGRAM] = program
        page[_PROCESSOR] = time.process_time_ns()
        page[_SINCE] = time.monotonic_ns()
        page[_PHASE] = phase

    @property
    def phase(self) -> RunnerPhase:
        """The current phase (a value that is none was written by generated code gone wild)."""
        try:
            return RunnerPhase(self._page[_PHASE])
        except ValueError:
            return RunnerPhase.RUNNING

    @property
    def program(self) -> int:
        """The position of the current program in the job."""
        return int(self._page[_PROGRAM])

    def remaining(self, run_limit: float, preparation_limit: float, clock: int) -> float:
        """Return the seconds after which to look again; 0 or less: the limit has passed.

        ``clock`` counts the runner's processor time (:func:`polygym.foreign.libc.processor_clock`).
        """
        since = int(self._page[_SINCE])
        wall = (time.monotonic_ns() - since) * _NANOSECONDS
        if wall < 0:  # generated code gone wild has written here: nothing can be known any more
            return wall
        if self.phase is not RunnerPhase.RUNNING:
            # A run may begin at any moment from now: look again before it can be over its limit.
            left = preparation_limit - wall
            return min(left, run_limit) if left > 0 else left
        left = run_limit - wall
        if left > 0 or self._page[_SINCE] != since:
            return max(left, _GRACE_SECONDS / 1000)
        try:
            used = time.clock_gettime_ns(clock) - int(self._page[_PROCESSOR])
        except OSError:  # the runner has just died, which its socket is about to say
            return _GRACE_SECONDS / 1000
        return min(run_limit - used * _NANOSECONDS, run_limit + _GRACE_SECONDS - wall)
