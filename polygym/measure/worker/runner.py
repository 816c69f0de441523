"""The runner: the process in which generated code runs. It does one job and is thrown away.

The supervisor forks it (``fork`` in :mod:`polygym.measure.worker.keeper`), so it finds the linker
ready and the problem's shared memory mapped. One job is all that it is trusted with: generated code
may have left anything behind in its memory, and a new process costs a millisecond or two.

A run is: restore the buffers from the initial data, but for those that cannot have been written
since (and for all where the initial data themselves are being made, from zeros), start the clock
inside the generated code, run, stop the clock. After a program's first and last run its outputs are
compared, outside the clock. A program that keeps something from one run to the next is found out by
the second comparison.
"""

from __future__ import annotations

import os
import resource
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import assert_never

from polygym.compiler.codegen.llvm import loader
from polygym.compiler.codegen.llvm.contract import (
    BROKEN,
    ENTRY_POINT,
    FIRST_OUT_OF_RANGE,
    NO_MEMORY,
)
from polygym.measure.worker.address_space import limit_to
from polygym.measure.worker.channel import Channel, ChannelClosedError
from polygym.measure.worker.compare import first_difference
from polygym.measure.worker.job import (
    Failed,
    Finished,
    Job,
    Purpose,
    Verdict,
    job_from_message,
    verdict_to_json,
)
from polygym.measure.worker.memory import HeldSet, SharedSet, WorkingSet
from polygym.measure.worker.outcome import (
    DoesNotCompile,
    Outcome,
    OutOfMemory,
    OutOfRange,
    WrongOutput,
)
from polygym.measure.worker.problem import Buffer, CompiledProgram
from polygym.measure.worker.progress import Phase, Progress
from polygym.measure.worker.spreading import Spreading
from polygym.native.calls import block, clock
from polygym.native.memory import address_of, words

_NANOSECONDS = 1e-9
# The kernel leaves so much room below the stack of a process, whatever its limit was.
_STACK = 96 << 20
_MANY_FILES = 65536


@dataclass(frozen=True, slots=True)
class ProblemMemory:
    """The shared memory of an open problem.

    ``expected`` holds only the buffers that are compared and may be written; ``results`` is filled
    on request. ``held`` has what no program may write, once the initial data are made.
    """

    buffers: tuple[Buffer, ...]
    held: HeldSet
    initial: SharedSet
    expected: SharedSet
    results: SharedSet

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
            return self.held.view(index)
        sets = {"initial": self.initial, "expected": self.expected, "results": self.results}
        return sets[name].view(index)


def runner_main(
    connection: socket.socket,
    memory: ProblemMemory,
    progress: Progress,
    address_space: int,
    rehearsal: bytes | None,
) -> None:
    """Be a runner: wait for one job, do it, answer, and wait to be killed.

    ``rehearsal`` is object code that is known to load. Linking it before the job comes makes this
    process's own copies of the linker's pages, which takes most of the time of its first link.
    """
    _confine(connection.fileno(), address_space)
    channel = Channel(connection)
    with suppress(ChannelClosedError):
        if rehearsal is not None:
            loader.load(rehearsal).close()
        job = job_from_message(*channel.receive())
        progress.enter(Phase.PREPARING, 0)
        try:
            verdict = execute(job, memory, progress)
        except MemoryError as error:
            verdict = Failed(max(progress.program, 0), OutOfMemory(str(error)))
        channel.send(verdict_to_json(verdict))
        channel.receive()


def execute(job: Job, memory: ProblemMemory, progress: Progress) -> Verdict:
    """Do a job in this process.

    Raises:
        MemoryError: the kernel refuses memory for the buffers.
    """
    held = None if job.purpose is Purpose.INITIALISE else memory.held
    working = WorkingSet([buffer.size for buffer in memory.buffers], held)
    executions: list[_Execution] = []
    spreading = Spreading()
    for position, program in enumerate(job.programs):
        progress.enter(Phase.LOADING, position)
        try:
            loaded = loader.load(program.object_code)
        except loader.LoadError as error:
            return Failed(position, DoesNotCompile(str(error)))
        executions.append(_Execution(position, loaded, program, working))
    pending = executions
    while pending:
        for execution in pending:
            if outcome := execution.take_turn(job, memory, progress):
                return Failed(execution.position, outcome)
            spreading.renew()  # the first run has started the threads
        pending = [item for item in pending if not job.repetition.is_enough(item.samples)]
    return Finished(tuple(tuple(execution.samples) for execution in executions))


class _Execution:
    """A loaded program, its argument block, and its samples so far."""

    def __init__(
        self,
        position: int,
        loaded: loader.LoadedProgram,
        program: CompiledProgram,
        working: WorkingSet,
    ) -> None:
        self.position = position
        self.samples: list[float] = []
        self._loaded = loaded
        self._working = working
        self._tolerance = program.tolerance
        self._complaints = program.complaints
        self._parameters = words(program.parameters)  # the block below points into it
        first = address_of(self._parameters)
        addresses = [working.addresses[index] for index in program.buffers]
        addresses += [first + 8 * number for number in range(len(program.parameters))]
        self._block = block(addresses)
        self._clock = clock()

    def take_turn(self, job: Job, memory: ProblemMemory, progress: Progress) -> Outcome | None:
        """Run and take the sample; None means that the first and the last run are right."""
        rule, before, times = job.repetition, tuple(self.samples), list[float]()
        while True:
            if outcome := self._run(job, memory, progress):
                return outcome
            times.append(self._clock[0] * _NANOSECONDS)
            self.samples = [*before, min(times)]
            is_first, is_over = len(before) + len(times) == 1, rule.ends_turn(times)
            is_last = is_over and rule.is_enough(self.samples)
            outcome = self._inspect(job, memory, is_first) if is_first or is_last else None
            if job.keep_contents and (is_last or outcome):
                memory.results.publish(self._working, memory.written)
            if outcome or is_over:
                return outcome

    def _run(self, job: Job, memory: ProblemMemory, progress: Progress) -> Outcome | None:
        """Restore and run; the clock has the time where None says that it went well."""
        if job.purpose is not Purpose.INITIALISE:  # then all is zero, and takes no memory yet
            self._working.restore(memory.initial)
        self._clock[0] = -1
        progress.enter(Phase.RUNNING, self.position)
        before = time.monotonic_ns()
        code = self._loaded.call(self._block, self._clock)
        elapsed = time.monotonic_ns() - before
        progress.enter(Phase.PREPARING, self.position)
        if code == NO_MEMORY:
            return OutOfMemory("the program could not allocate memory")
        site = code - FIRST_OUT_OF_RANGE
        if 0 <= site < len(self._complaints):
            return OutOfRange(self._complaints[site])
        if code in BROKEN:
            return DoesNotCompile(f"the code stopped itself: {BROKEN[code]}")
        if code != 0 or not 0 <= self._clock[0] <= elapsed:
            return DoesNotCompile(
                f"{ENTRY_POINT}: expected 0 and a time between 0 and {elapsed} ns, "
                f"found {code} and {self._clock[0]} ns"
            )
        return None

    def _inspect(self, job: Job, memory: ProblemMemory, is_first: bool) -> WrongOutput | None:
        """Check what the run left behind, or publish it, as the job's purpose says."""
        samples = tuple(self.samples)
        for index, buffer in enumerate(memory.buffers):
            if (offset := self._working.overrun(index)) is not None:
                element = offset // buffer.type.size
                return WrongOutput(
                    buffer.name, element, "no write outside the array", "a write", samples
                )
        match job.purpose:
            case Purpose.INITIALISE:
                memory.initial.take(self._working)
            case Purpose.EXPECT if is_first:
                memory.expected.publish(self._working, memory.compared)
            case Purpose.EXPECT | Purpose.COMPARE:
                return self._compare(memory)
            case _:
                assert_never(job.purpose)
        return None

    def _compare(self, memory: ProblemMemory) -> WrongOutput | None:
        for index in memory.compared:
            buffer = memory.buffers[index]
            expected, found = memory.expected.address(index), self._working.addresses[index]
            if difference := first_difference(buffer, expected, found, self._tolerance):
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
    limit_to(resource.RLIMIT_STACK, _STACK)
    limit_to(resource.RLIMIT_AS, address_space)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")  # when the machine runs out of memory, this process goes first
