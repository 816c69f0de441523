"""The runner: the process of one job of generated code, with its thread placement.

The supervisor forks it (``fork`` in :mod:`polygym.runtime.worker.runner_control`), so it finds the
linker ready and the problem's shared memory mapped. One job is all that it is trusted with:
generated code may have left anything behind in its memory, and a new process costs a millisecond or
two.

A run is: restore the buffers from the initial data, but for those that cannot have been written
since (and for all where the initial data themselves are being made, from zeros), start the clock
inside the generated code, run, stop the clock. After a program's first and last run its outputs are
compared, outside the clock. A program that keeps something from one run to the next is found out by
the second comparison.

Every thread on cores of its own, so that none waits for a core that another one has.

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

import os
import resource
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

from polygym.codegen.llvm.core import binary_interface
from polygym.foreign.calls import address_of, argument_block, int64_array, time_cell
from polygym.runtime import loader
from polygym.runtime.worker import job_messages
from polygym.runtime.worker.buffer_memory import ReadOnlyBuffers, SharedBuffers, WorkingBuffers
from polygym.runtime.worker.core_probe import CoreProbe, QuietRuns, current_core
from polygym.runtime.worker.outcome import (
    DoesNotCompile,
    Outcome,
    OutOfMemory,
    OutOfRange,
    WrongOutput,
)
from polygym.runtime.worker.output_comparison import first_difference
from polygym.runtime.worker.problem import Buffer, CompiledProgram
from polygym.runtime.worker.runner_progress import RunnerPhase, RunnerProgress
from polygym.runtime.worker.server_process import set_soft_limit
from polygym.runtime.worker.timing import ONCE, turn_sample

# Who sets one of these has said where threads are to be.
_USER_AFFINITY_VARIABLES = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")


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
            parts = assign_cores(self._cores, len(threads), current_core())
            for thread, cores in zip(threads, parts, strict=True):
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.sched_setaffinity(thread, cores)


def assign_cores(cores: Sequence[int], threads: int, first: int) -> list[list[int]]:
    """Return the cores of each thread, beginning with the core ``first`` if it is one of them.

    >>> assign_cores(range(8), 3, 4), assign_cores(range(2), 3, 0)
    ([[4, 5, 6], [7, 0, 1], [2, 3]], [[0], [1], [0]])
    """
    at = cores.index(first) if first in cores else 0
    turned = [*cores[at:], *cores[:at]]
    if threads >= len(turned):
        return [[turned[thread % len(turned)]] for thread in range(threads)]
    least, more = divmod(len(turned), threads)
    ends = [thread * least + min(thread, more) for thread in range(threads + 1)]
    return [turned[begin:end] for begin, end in pairwise(ends)]


_NANOSECONDS = 1e-9
# The kernel leaves a gap of this size below the stack of a process, whatever its limit was.
_STACK = 96 << 20
_MANY_FILES = 65536


@dataclass(frozen=True, slots=True)
class ProblemMemory:
    """The shared memory of an open problem.

    ``expected`` holds only the buffers that are compared and may be written; ``results`` is filled
    on request. ``read_only`` has what no program may write, once the initial data are made.
    """

    buffers: tuple[Buffer, ...]
    read_only: ReadOnlyBuffers
    initial: SharedBuffers
    expected: SharedBuffers
    results: SharedBuffers

    @property
    def written(self) -> tuple[int, ...]:
        """The indices of the buffers that programs may write."""
        return tuple(index for index, buffer in enumerate(self.buffers) if not buffer.constant)

    @property
    def compared(self) -> tuple[int, ...]:
        """The indices of those among them that are compared."""
        return tuple(index for index in self.written if self.buffers[index].compared)

    def contents(self, name: str, index: int) -> memoryview:
        """Return a buffer's contents in one of the sets, by the set's name."""
        if self.buffers[index].constant:
            return self.read_only.view(index)
        sets = {"initial": self.initial, "expected": self.expected, "results": self.results}
        return sets[name].view(index)


def runner_main(
    connection: socket.socket,
    memory: ProblemMemory,
    progress: RunnerProgress,
    probe: CoreProbe,
    address_space: int,
    rehearsal: bytes | None,
) -> None:
    """Be a runner: wait for one job, do it, answer, and wait to be killed.

    ``rehearsal`` is object code that is known to load. Linking it before the job comes makes this
    process's own copies of the linker's pages, which takes most of the time of its first link.
    """
    _confine(connection.fileno(), address_space)
    channel = job_messages.Channel(connection)
    with suppress(job_messages.ChannelClosedError):
        if rehearsal is not None:
            loader.load_object(rehearsal).close()
        job = job_messages.job_from_message(*channel.receive())
        progress.enter(RunnerPhase.PREPARING, 0)
        try:
            verdict = execute(job, memory, progress, probe)
        except MemoryError as error:
            verdict = job_messages.JobFailed(max(progress.program, 0), OutOfMemory(str(error)))
        channel.send(job_messages.job_result_to_json(verdict))
        channel.receive()


def execute(
    job: job_messages.RunnerJob, memory: ProblemMemory, progress: RunnerProgress, probe: CoreProbe
) -> job_messages.JobResult:
    """Do a job in this process.

    Raises:
        MemoryError: the kernel refuses memory for the buffers.
    """
    if job.cores:
        with suppress(OSError):  # a core that the machine has lost meanwhile
            os.sched_setaffinity(0, job.cores)
    held = None if job.purpose is job_messages.JobPurpose.INITIALIZE else memory.read_only
    working = WorkingBuffers([buffer.size for buffer in memory.buffers], held)
    executions: list[_Execution] = []
    spreading = ThreadPlacement()
    quiet = QuietRuns(probe, 0.0) if job.repetition == ONCE else QuietRuns(probe)
    for position, program in enumerate(job.programs):
        progress.enter(RunnerPhase.LOADING, position)
        try:
            loaded = loader.load_object(program.object_code)
        except loader.LoadError as error:
            return job_messages.JobFailed(position, DoesNotCompile(str(error)))
        executions.append(_Execution(position, loaded, program, working))
    pending = executions
    while pending:
        for execution in pending:
            if outcome := execution.run_turn(job, memory, progress, quiet):
                return job_messages.JobFailed(execution.position, outcome)
            spreading.update()  # the first run has started the threads
        pending = [item for item in pending if not job.repetition.is_enough(item.samples)]
    return job_messages.JobFinished(tuple(tuple(execution.samples) for execution in executions))


class _Execution:
    """A loaded program, its argument block, and its samples so far."""

    def __init__(
        self,
        position: int,
        loaded: loader.LoadedProgram,
        program: CompiledProgram,
        working: WorkingBuffers,
    ) -> None:
        self.position = position
        self.samples: list[float] = []
        self._has_run = False
        self._last_seconds = 0.0
        self._loaded = loaded
        self._working = working
        self._tolerance = program.tolerance
        self._complaints = program.range_errors
        self._parameters = int64_array(program.parameters)  # the block below points into it
        first = address_of(self._parameters)
        addresses = [working.addresses[index] for index in program.buffers]
        addresses += [first + 8 * number for number in range(len(program.parameters))]
        self._block = argument_block(addresses)
        self._clock = time_cell()

    def run_turn(
        self,
        job: job_messages.RunnerJob,
        memory: ProblemMemory,
        progress: RunnerProgress,
        quiet: QuietRuns,
    ) -> Outcome | None:
        """Run and take the sample; None means that the first and the last run are right."""
        rule, before, times = job.repetition, tuple(self.samples), list[float]()
        while True:
            quiet.begin(self._last_seconds)
            if outcome := self._run(job, memory, progress):
                return outcome
            is_first, self._has_run = not self._has_run, True
            self._last_seconds = self._clock[0] * _NANOSECONDS
            if quiet.counts(self._last_seconds):
                times.append(self._last_seconds)
            self.samples = [*before, turn_sample(times or [self._last_seconds])]
            is_over = bool(times) and rule.ends_turn(times)
            is_last = is_over and rule.is_enough(self.samples)
            outcome = self._inspect(job, memory, is_first) if is_first or is_last else None
            if job.keep_contents and (is_last or outcome):
                memory.results.publish(self._working, memory.written)
            if outcome or is_over:
                return outcome

    def _run(
        self, job: job_messages.RunnerJob, memory: ProblemMemory, progress: RunnerProgress
    ) -> Outcome | None:
        """Restore and run; the clock has the time where None says that it went well."""
        if (
            job.purpose is not job_messages.JobPurpose.INITIALIZE
        ):  # then all is zero, and takes no memory yet
            self._working.restore(memory.initial)
        self._clock[0] = -1
        progress.enter(RunnerPhase.RUNNING, self.position)
        before = time.monotonic_ns()
        code = self._loaded.call(self._block, self._clock)
        elapsed = time.monotonic_ns() - before
        progress.enter(RunnerPhase.PREPARING, self.position)
        if code == binary_interface.OUT_OF_MEMORY:
            return OutOfMemory("the program could not allocate memory")
        site = code - binary_interface.FIRST_OUT_OF_RANGE
        if 0 <= site < len(self._complaints):
            return OutOfRange(self._complaints[site])
        if code in binary_interface.BROKEN_ASSUMPTION_TEXTS:
            return DoesNotCompile(
                f"the code stopped itself: {binary_interface.BROKEN_ASSUMPTION_TEXTS[code]}"
            )
        if code != 0 or not 0 <= self._clock[0] <= elapsed:
            return DoesNotCompile(
                f"{binary_interface.ENTRY_POINT}: expected 0 and a time between 0 and {elapsed} "
                f"ns, found {code} and {self._clock[0]} ns"
            )
        return None

    def _inspect(
        self, job: job_messages.RunnerJob, memory: ProblemMemory, is_first: bool
    ) -> WrongOutput | None:
        """Check what the run left behind, or publish it, as the job's purpose says."""
        samples = tuple(self.samples)
        for index, buffer in enumerate(memory.buffers):
            if (offset := self._working.overrun(index)) is not None:
                element = offset // buffer.type.size
                return WrongOutput(
                    buffer.name, element, "no write outside the array", "a write", samples
                )
        match job.purpose:
            case job_messages.JobPurpose.INITIALIZE:
                memory.initial.move_from(self._working)
            case job_messages.JobPurpose.EXPECT if is_first:
                memory.expected.publish(self._working, memory.compared)
            case job_messages.JobPurpose.EXPECT | job_messages.JobPurpose.COMPARE:
                return self._compare(memory)
            case _:
                assert_never(job.purpose)
        return None

    def _compare(self, memory: ProblemMemory) -> WrongOutput | None:
        for index in memory.compared:
            buffer = memory.buffers[index]
            expected, actual = memory.expected.address(index), self._working.addresses[index]
            if difference := first_difference(buffer, expected, actual, self._tolerance):
                return WrongOutput(
                    buffer.name,
                    difference.index,
                    difference.expected,
                    difference.found,
                    tuple(self.samples),
                )
        return None


def _confine(descriptor: int, address_space: int) -> None:
    """Keep nothing of the supervisor's but the one socket, and set the limits."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(3, descriptor)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.closerange(descriptor + 1, _MANY_FILES if soft == resource.RLIM_INFINITY else soft)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Other compilers keep copies of tiles on the stack: more than the usual 8 MB.
    set_soft_limit(resource.RLIMIT_STACK, _STACK)
    set_soft_limit(resource.RLIMIT_AS, address_space)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # when the machine runs out of memory, this process goes first
