"""The supervisor's side of a runner: fork it, give it a job, watch its limits, name its end.

Every job gets a new runner. The next one is forked as soon as a job's answer has been sent (that is
while the parent is busy compiling), so that usually a *spare* waits when a job comes. A runner that
crashes is therefore no different from one that ends well.
"""

from __future__ import annotations

import math
import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import assert_never

from polygym.measure.worker.address_space import mapped_bytes
from polygym.measure.worker.channel import Channel, ChannelClosedError
from polygym.measure.worker.job import Failed, Job, Verdict, job_to_message, verdict_from_json
from polygym.measure.worker.memory import HeldSet, SharedSet, room
from polygym.measure.worker.outcome import (
    DoesNotCompile,
    Outcome,
    OutOfMemory,
    Timeout,
    crash_from_exit,
)
from polygym.measure.worker.problem import Problem
from polygym.measure.worker.progress import Phase, Progress
from polygym.measure.worker.runner import ProblemMemory, runner_main
from polygym.native.libc import die_with, processor_clock

_LINKER_RESERVE = 64 * 1024 * 1024
_LONGEST_WAIT_SECONDS = 3600.0
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
        for one in (memory.initial, memory.expected, memory.results, memory.held):
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
        held = HeldSet(sizes, constant)
        undo.callback(held.close)
        sets = []
        for _ in range(3):
            sets.append(SharedSet(sizes))
            undo.callback(sets[-1].close)
        undo.pop_all()
    return OpenProblem(problem, ProblemMemory(problem.buffers, held, *sets), memory_limit)


@dataclass(frozen=True, slots=True)
class _Runner:
    """A forked runner that waits for its job."""

    process_id: int
    channel: Channel
    clock: int
    target: OpenProblem


class Keeper:
    """Keeps at most one runner alive.

    ``check_parent`` raises where the parent is gone; it is called whenever ``wake`` (descriptors
    that become readable when the parent ends or speaks) or a timer ends a wait.
    """

    def __init__(self, wake: tuple[int, ...], check_parent: Callable[[], None]) -> None:
        """Start without a runner."""
        self._wake = wake
        self._check_parent = check_parent
        self._progress = Progress()
        self._runner: _Runner | None = None

    def prepare_spare(self, target: OpenProblem) -> None:
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

    def run(self, target: OpenProblem, job: Job) -> Verdict:
        """Do a job in a fresh runner, which stays until :meth:`stop`."""
        try:
            # A spare may have been killed while it waited; then a new runner takes its place.
            verdict = self._attempt(target, job) or self._attempt(target, job)
        except OSError as error:
            return Failed(0, OutOfMemory(f"no runner can be started: {error}"))
        return verdict or Failed(0, OutOfMemory("killed by the system before the work began"))

    def _attempt(self, target: OpenProblem, job: Job) -> Verdict | None:
        """Give the job to the spare or to a new runner; None: it was killed before it began."""
        if self._runner is None or self._runner.target is not target:
            self.stop()
            self._runner = self._fork(target, None)
        runner = self._runner
        self._progress.enter(Phase.WAITING, 0)
        with suppress(ChannelClosedError):
            runner.channel.send(*job_to_message(job))
        if not self._wait(runner, job):
            verdict = Failed(self._position(job), self._expired(job))
            self.stop()
            return verdict
        try:
            return verdict_from_json(runner.channel.receive()[0])
        except (ChannelClosedError, LookupError, TypeError, ValueError):
            exit_code = self.stop()
        phase = self._progress.phase
        if phase is Phase.WAITING:
            return None
        return Failed(self._position(job), _death(exit_code, phase))

    def _fork(self, target: OpenProblem, rehearsal: bytes | None) -> _Runner:
        supervisor = os.getpid()
        ours, theirs = socket.socketpair()
        process_id = os.fork()
        if process_id == 0:
            try:
                die_with(supervisor)
                # The programs may take what the problem's own memory leaves of the limit.
                limit = mapped_bytes() + room([one.size for one in target.problem.buffers])
                limit += target.memory_limit - target.problem.memory + _LINKER_RESERVE
                runner_main(theirs, target.memory, self._progress, limit, rehearsal)
            finally:
                os._exit(_UNFINISHED)  # never back into the supervisor's code
        theirs.close()
        return _Runner(process_id, Channel(ours), processor_clock(process_id), target)

    def _wait(self, runner: _Runner, job: Job) -> bool:
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
            milliseconds = math.ceil(1000 * min(remaining, _LONGEST_WAIT_SECONDS))
            ready = {descriptor for descriptor, _ in poller.poll(milliseconds)}
            if runner.channel.fileno() in ready:
                return True
            self._check_parent()

    def _position(self, job: Job) -> int:
        """Return which program the runner was at (generated code may have overwritten it)."""
        return min(max(self._progress.program, 0), len(job.programs) - 1)

    def _expired(self, job: Job) -> Outcome:
        match self._progress.phase:
            case Phase.RUNNING:
                return Timeout(job.run_seconds)
            case Phase.LOADING:
                return DoesNotCompile(f"linking: expected at most {job.preparation_seconds} s")
            case Phase.PREPARING | Phase.WAITING:
                return Timeout(job.preparation_seconds)
            case unreachable:
                assert_never(unreachable)


def _death(exit_code: int, phase: Phase) -> Outcome:
    """Name the end of a runner that nobody here has killed."""
    if exit_code == -signal.SIGKILL:
        return OutOfMemory("killed by the system, as it does when memory runs out")
    crash = crash_from_exit(exit_code)
    if phase is Phase.LOADING:
        return DoesNotCompile(f"linking: the linker ended with {crash.name}")
    return crash
