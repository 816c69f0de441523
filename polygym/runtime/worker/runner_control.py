"""The supervisor's side of a runner: fork it, give it a job, watch its limits, name its end.

Every job gets a new runner. The next one is forked as soon as a job's answer has been sent (that is
while the parent is busy compiling), so that usually a *spare* waits when a job comes. A runner that
crashes is therefore no different from one that ends well.

What a runner is doing right now, in a page of memory that it shares with the supervisor.

The runner writes, the supervisor looks when it wakes up to see whether a limit has passed. No
message is sent before or after a run: a message would wake the supervisor up, and on a machine
with few cores that disturbs what is being timed.

A run is over its limit L when L has passed by the wall clock *and* the runner has used L of
processor time, or a second later in any case. A program that the kernel keeps waiting because
other processes are busy is therefore not cut off for that, one that computes is cut off at L, and
one that sleeps at L + 1 s.
"""

from __future__ import annotations

import math
import mmap
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import assert_never

from polygym.foreign.calls import memory_view
from polygym.foreign.libc import exit_with_parent, map_memory, processor_clock
from polygym.runtime.worker.address_space import mapped_bytes
from polygym.runtime.worker.buffer_memory import (
    ReadOnlyBuffers,
    SharedBuffers,
    address_space_needed,
)
from polygym.runtime.worker.job_messages import (
    Channel,
    ChannelClosedError,
    JobFailed,
    JobResult,
    RunnerJob,
    job_result_from_json,
    job_to_message,
)
from polygym.runtime.worker.outcome import (
    DoesNotCompile,
    Outcome,
    OutOfMemory,
    Timeout,
    crash_from_exit,
)
from polygym.runtime.worker.problem import Problem
from polygym.runtime.worker.runner import ProblemMemory, runner_main

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


_LINKER_RESERVE = 64 * 1024 * 1024
_MAX_WAIT_SECONDS = 3600.0
_UNFINISHED = 70  # the exit status of a runner that did not wait to be killed


@dataclass(frozen=True, slots=True)
class OpenProblem:
    """A problem, its shared memory, and the bytes that it may take altogether."""

    problem: Problem
    memory: ProblemMemory
    memory_limit: int

    def close(self) -> None:
        """Give the shared memory back."""
        memory = self.memory
        for one in (memory.initial, memory.expected, memory.results, memory.read_only):
            one.close()


def open_memory(problem: Problem, memory_limit: int) -> OpenProblem:
    """Map the shared memory of a problem.

    Raises:
        MemoryError: what it takes to run it does not fit the limit, or the kernel refuses.
    """
    if problem.memory > memory_limit:
        raise MemoryError(
            f"the memory of a run: expected at most {memory_limit} bytes, found {problem.memory}"
        )
    sizes = [buffer.size for buffer in problem.buffers]
    constant = [index for index, buffer in enumerate(problem.buffers) if buffer.constant]
    with ExitStack() as undo:
        held = ReadOnlyBuffers(sizes, constant)
        undo.callback(held.close)
        sets = []
        for _ in range(3):
            sets.append(SharedBuffers(sizes))
            undo.callback(sets[-1].close)
        undo.pop_all()
    return OpenProblem(problem, ProblemMemory(problem.buffers, held, *sets), memory_limit)


@dataclass(frozen=True, slots=True)
class _RunnerProcess:
    """A forked runner that waits for its job."""

    process_id: int
    channel: Channel
    clock: int
    target: OpenProblem


class RunnerControl:
    """Keeps at most one runner alive.

    ``check_parent`` raises where the parent is gone; it is called whenever ``wake`` (descriptors
    that become readable when the parent ends or speaks) or a timer ends a wait.
    """

    def __init__(self, wake: tuple[int, ...], check_parent: Callable[[], None]) -> None:
        """Start without a runner."""
        self._wake = wake
        self._check_parent = check_parent
        self._progress = RunnerProgress()
        self._runner: _RunnerProcess | None = None

    def fork_spare(self, target: OpenProblem) -> None:
        """Have a runner ready for the next job on this problem."""
        if self._runner is None:
            with suppress(OSError):  # no memory for it now: tried again when a job comes
                self._runner = self._fork(target, target.problem.original.object_code)

    def stop(self) -> int:
        """Kill the runner, if there is one, and return its exit code.

        The code is that of its own end if it was ending already: to be killed then changes nothing.
        """
        if self._runner is None:
            return 0
        runner, self._runner = self._runner, None
        os.kill(runner.process_id, signal.SIGKILL)  # not reaped yet, so nobody else has its id
        runner.channel.close()
        return os.waitstatus_to_exitcode(os.waitpid(runner.process_id, 0)[1])

    def run(self, target: OpenProblem, job: RunnerJob) -> JobResult:
        """Do a job in a fresh runner, which stays until :meth:`stop`."""
        try:
            # A spare may have been killed while it waited; then a new runner takes its place.
            verdict = self._attempt(target, job) or self._attempt(target, job)
        except OSError as error:
            return JobFailed(0, OutOfMemory(f"no runner can be started: {error}"))
        return verdict or JobFailed(0, OutOfMemory("killed by the system before the work began"))

    def _attempt(self, target: OpenProblem, job: RunnerJob) -> JobResult | None:
        """Give the job to the spare or to a new runner; None: it was killed before it began."""
        if self._runner is None or self._runner.target is not target:
            self.stop()
            self._runner = self._fork(target, None)
        runner = self._runner
        self._progress.enter(RunnerPhase.WAITING, 0)
        with suppress(ChannelClosedError):
            runner.channel.send(*job_to_message(job))
        if not self._wait(runner, job):
            verdict = JobFailed(self._position(job), self._expired(job))
            self.stop()
            return verdict
        try:
            return job_result_from_json(runner.channel.receive()[0])
        except (ChannelClosedError, LookupError, TypeError, ValueError):
            exit_code = self.stop()
        phase = self._progress.phase
        if phase is RunnerPhase.WAITING:
            return None
        return JobFailed(self._position(job), _outcome_of_exit(exit_code, phase))

    def _fork(self, target: OpenProblem, rehearsal: bytes | None) -> _RunnerProcess:
        supervisor = os.getpid()
        ours, theirs = socket.socketpair()
        process_id = os.fork()
        if process_id == 0:
            try:
                exit_with_parent(supervisor)
                # The programs may take what the problem's own memory leaves of the limit.
                limit = mapped_bytes() + address_space_needed(
                    [buffer.size for buffer in target.problem.buffers]
                )
                limit += target.memory_limit - target.problem.memory + _LINKER_RESERVE
                runner_main(theirs, target.memory, self._progress, limit, rehearsal)
            finally:
                os._exit(_UNFINISHED)  # never back into the supervisor's code
        theirs.close()
        return _RunnerProcess(process_id, Channel(ours), processor_clock(process_id), target)

    def _wait(self, runner: _RunnerProcess, job: RunnerJob) -> bool:
        """Wait for the runner's answer or end; False means that a limit has passed."""
        poller = select.poll()
        for descriptor in (runner.channel.fileno(), *self._wake):
            poller.register(descriptor, select.POLLIN)
        while True:
            remaining = self._progress.remaining(
                job.run_seconds, job.preparation_seconds, runner.clock
            )
            if remaining <= 0:
                return False
            milliseconds = math.ceil(1000 * min(remaining, _MAX_WAIT_SECONDS))
            ready = {descriptor for descriptor, _ in poller.poll(milliseconds)}
            if runner.channel.fileno() in ready:
                return True
            self._check_parent()

    def _position(self, job: RunnerJob) -> int:
        """Return which program the runner was at (generated code may have overwritten it)."""
        return min(max(self._progress.program, 0), len(job.programs) - 1)

    def _expired(self, job: RunnerJob) -> Outcome:
        match self._progress.phase:
            case RunnerPhase.RUNNING:
                return Timeout(job.run_seconds)
            case RunnerPhase.LOADING:
                return DoesNotCompile(f"linking: expected at most {job.preparation_seconds} s")
            case RunnerPhase.PREPARING | RunnerPhase.WAITING:
                return Timeout(job.preparation_seconds)
            case unreachable:
                assert_never(unreachable)


def _outcome_of_exit(exit_code: int, phase: RunnerPhase) -> Outcome:
    """Name the end of a runner that nobody here has killed."""
    if exit_code == -signal.SIGKILL:
        return OutOfMemory("killed by the system, as it does when memory runs out")
    crash = crash_from_exit(exit_code)
    if phase is RunnerPhase.LOADING:
        return DoesNotCompile(f"linking: the linker ended with {crash.name}")
    return crash
