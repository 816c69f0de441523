"""The supervisor's side of a runner: fork, job, limits, end.

Every job gets a new runner. The next one is forked as soon as a job's answer has been sent (that is
while the parent is busy compiling), so that usually a *spare* waits when a job comes. A runner that
crashes is therefore no different from one that ends well.
"""

import math
import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import assert_never

from polygym.foreign.libc import exit_with_parent, processor_clock
from polygym.runtime.worker import buffer_memory, job_messages, outcome
from polygym.runtime.worker.core_probe import CoreProbe
from polygym.runtime.worker.problem import Problem
from polygym.runtime.worker.runner import ProblemMemory, runner_main
from polygym.runtime.worker.runner_progress import RunnerPhase, RunnerProgress
from polygym.runtime.worker.server_process import mapped_bytes

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
        for buffers in (memory.initial, memory.expected, memory.results, memory.read_only):
            buffers.close()


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
        held = buffer_memory.ReadOnlyBuffers(sizes, constant)
        undo.callback(held.close)
        sets = []
        for _ in range(3):
            sets.append(buffer_memory.SharedBuffers(sizes))
            undo.callback(sets[-1].close)
        undo.pop_all()
    return OpenProblem(problem, ProblemMemory(problem.buffers, held, *sets), memory_limit)


@dataclass(frozen=True, slots=True)
class _RunnerProcess:
    """A forked runner that waits for its job."""

    process_id: int
    channel: job_messages.Channel
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
        self._probe = CoreProbe()
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
        os.kill(runner.process_id, signal.SIGKILL)  # not reaped yet, so no other process has its id
        runner.channel.close()
        return os.waitstatus_to_exitcode(os.waitpid(runner.process_id, 0)[1])

    def run(self, target: OpenProblem, job: job_messages.RunnerJob) -> job_messages.JobResult:
        """Do a job in a fresh runner, which stays until :meth:`stop`."""
        try:
            # A spare may have been killed while it waited; then a new runner takes its place.
            verdict = self._attempt(target, job) or self._attempt(target, job)
        except OSError as error:
            return job_messages.JobFailed(
                0, outcome.OutOfMemory(f"no runner can be started: {error}")
            )
        return verdict or job_messages.JobFailed(
            0, outcome.OutOfMemory("killed by the system before the work began")
        )

    def _attempt(
        self, target: OpenProblem, job: job_messages.RunnerJob
    ) -> job_messages.JobResult | None:
        """Give the job to the spare or to a new runner; None: it was killed before it began."""
        if self._runner is None or self._runner.target is not target:
            self.stop()
            self._runner = self._fork(target, None)
        runner = self._runner
        self._progress.enter(RunnerPhase.WAITING, 0)
        with suppress(job_messages.ChannelClosedError):
            runner.channel.send(*job_messages.job_to_message(job))
        if not self._wait(runner, job):
            verdict = job_messages.JobFailed(self._position(job), self._expired(job))
            self.stop()
            return verdict
        try:
            return job_messages.job_result_from_json(runner.channel.receive()[0])
        except (job_messages.ChannelClosedError, LookupError, TypeError, ValueError):
            exit_code = self.stop()
        phase = self._progress.phase
        if phase is RunnerPhase.WAITING:
            return None
        return job_messages.JobFailed(self._position(job), _outcome_of_exit(exit_code, phase))

    def _fork(self, target: OpenProblem, rehearsal: bytes | None) -> _RunnerProcess:
        supervisor = os.getpid()
        self._probe.refresh()
        ours, theirs = socket.socketpair()
        process_id = os.fork()
        if process_id == 0:
            try:
                exit_with_parent(supervisor)
                # The programs may take what the problem's own memory leaves of the limit.
                limit = mapped_bytes() + buffer_memory.address_space_needed(
                    [buffer.size for buffer in target.problem.buffers]
                )
                limit += target.memory_limit - target.problem.memory + _LINKER_RESERVE
                runner_main(theirs, target.memory, self._progress, self._probe, limit, rehearsal)
            finally:
                os._exit(_UNFINISHED)  # never back into the supervisor's code
        theirs.close()
        return _RunnerProcess(
            process_id, job_messages.Channel(ours), processor_clock(process_id), target
        )

    def _wait(self, runner: _RunnerProcess, job: job_messages.RunnerJob) -> bool:
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

    def _position(self, job: job_messages.RunnerJob) -> int:
        """Return which program the runner was at (generated code may have overwritten it)."""
        return min(max(self._progress.program, 0), len(job.programs) - 1)

    def _expired(self, job: job_messages.RunnerJob) -> outcome.Outcome:
        match self._progress.phase:
            case RunnerPhase.RUNNING:
                return outcome.Timeout(job.run_seconds)
            case RunnerPhase.LOADING:
                return outcome.DoesNotCompile(
                    f"linking: expected at most {job.preparation_seconds} s"
                )
            case RunnerPhase.PREPARING | RunnerPhase.WAITING:
                return outcome.Timeout(job.preparation_seconds)
            case unreachable:
                assert_never(unreachable)


def _outcome_of_exit(exit_code: int, phase: RunnerPhase) -> outcome.Outcome:
    """Name the end of a runner that was not killed from here."""
    if exit_code == -signal.SIGKILL:
        return outcome.OutOfMemory("killed by the system, as it does when memory runs out")
    crash = outcome.crash_from_exit(exit_code)
    if phase is RunnerPhase.LOADING:
        return outcome.DoesNotCompile(f"linking: the linker ended with {crash.name}")
    return crash
