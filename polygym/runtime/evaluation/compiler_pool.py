"""Compilers on several cores, for a batch of schedules before any is measured.

Generating code takes ten times as long as measuring it, and does not mind company; a clock does. So
a batch is compiled on all cores that a job has, each with a process of its own, and then measured
with nothing beside it. An evaluator that is given a :class:`CompilerPool` finds the code ready.

Some cores may be ``background_cores`` those that measure. Code of the next batch may be begun on
these, and on no others, while this one is measured; what is left of it then is done on all of them.

Example, cores 0 to 3, of which 0 measures and the others are beside it, batches A and B ::

    core 0      compile A   measure A    compile B   measure B
    cores 1-3   compile A   compile B    compile B
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from queue import SimpleQueue

from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation.compiler import CompileFailure, Compiler
from polygym.runtime.worker.problem import CompiledProgram, Problem

_POLL_SECONDS = 0.1


class _PendingCode:
    """Choices of a program that are waiting for their code, and who is at work on them."""

    def __init__(self) -> None:
        """Nothing is waiting."""
        self.waiting: deque[tuple[Schedule, Mapping]] = deque()
        self.taken: set[tuple[Schedule, Mapping]] = set()
        self.workers: set[Future[None]] = set()


class CompilerPool(Compiler):
    """As many compilers as cores, which look like one."""

    def __init__(
        self,
        seconds: float,
        cores: Sequence[int],
        memory: int | None = None,
        background_cores: Sequence[int] = (),
    ) -> None:
        """Keep the limits of a schedule; the processes start when they are needed.

        ``background_cores`` are those of the cores that may be at work while others measure.
        """
        super().__init__(seconds, memory)
        self._ready: dict[tuple[Schedule, Mapping], CompiledProgram | CompileFailure] = {}
        self._own = threading.local()
        self._all: list[Compiler] = []
        self._begun: _PendingCode | None = None
        among = [core for core in cores if core not in background_cores]
        self._beside = [self._pool(background_cores)] if background_cores else []
        self._pools = [
            *([self._pool(among)] if among or not background_cores else []),
            *self._beside,
        ]

    def _pool(self, cores: Sequence[int]) -> tuple[ThreadPoolExecutor, int]:
        """Return threads that have a core each, and how many they are."""
        free: SimpleQueue[int] = SimpleQueue()
        for core in cores:
            free.put(core)
        count = max(1, len(cores))
        return ThreadPoolExecutor(count, "compile", self._begin_thread, (free,)), count

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that have been started and are alive."""
        result = (compiler.process_id for compiler in self._all)
        return tuple(process for process in result if process is not None)

    def prefetch(self, program: Program, choices: Sequence[tuple[Schedule, Mapping]]) -> None:
        """Begin with the code of schedules that will be asked for, beside what is measured.

        The next call of :meth:`compile_all` waits for it, or ends it.
        """
        assert self._begun is None, "expected one batch to be begun at a time"
        self._begun = self._work_on(_PendingCode(), program, choices, self._beside)

    def compile_all(
        self,
        program: Program,
        choices: Sequence[tuple[Schedule, Mapping]],
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Generate the code of schedules under mappings, which will be asked for.

        Return whether all was done. It is not if ``is_stopped`` says so first.
        """
        work, self._begun = self._begun or _PendingCode(), None
        self._work_on(work, program, choices, self._pools)
        waiting = work.workers
        try:
            while waiting:
                done, waiting = wait(waiting, _POLL_SECONDS)
                for future in done:
                    future.result()
                if waiting and is_stopped():
                    return False
            return True
        finally:
            work.waiting.clear()  # whatever ends this, no other one begins

    def _work_on(
        self,
        work: _PendingCode,
        program: Program,
        choices: Sequence[tuple[Schedule, Mapping]],
        pools: Sequence[tuple[ThreadPoolExecutor, int]],
    ) -> _PendingCode:
        """Have threads take choices one after the other, until none is waiting."""
        for one in choices:
            if one not in work.taken and one not in self._ready:
                work.taken.add(one)
                work.waiting.append(one)

        def take() -> None:
            compiler: Compiler = self._own.compiler
            with suppress(IndexError):
                while True:
                    choice = work.waiting.popleft()
                    self._ready[choice] = compiler.compile_schedule(program, *choice)

        left = len(work.waiting)
        for pool, count in pools:
            work.workers |= {pool.submit(take) for _ in range(min(count, left))}
        return work

    def is_ready(self, choice: tuple[Schedule, Mapping]) -> bool:
        """Whether the code of a schedule under a mapping has been generated, and not asked for."""
        return choice in self._ready

    def compile_schedule(
        self,
        program: Program,
        schedule: Schedule,
        mapping: Mapping = SEQUENTIAL_MAPPING,
        *,
        seconds: float | None = None,
        memory: int | None = None,
    ) -> CompiledProgram | CompileFailure:
        """Return code that is ready, or have it generated now."""
        if (schedule, mapping) not in self._ready:
            self.compile_all(program, [(schedule, mapping)])
        return self._ready.pop((schedule, mapping))

    def compile_problem(self, program: Program) -> Problem:
        """Return the program with its data and its original order, compiled."""

        def ask() -> Problem:
            compiler: Compiler = self._own.compiler
            return compiler.compile_problem(program)

        return self._pools[0][0].submit(ask).result()

    def close(self) -> None:
        """End the threads, after what they are doing, and the processes."""
        if self._begun is not None:
            self._begun.waiting.clear()
        for pool, _ in self._pools:
            pool.shutdown(cancel_futures=True)
        for compiler in self._all:
            compiler.close()

    def _begin_thread(self, cores: SimpleQueue[int]) -> None:
        """Give a thread a compiler and a core; its process will be on the same core."""
        if not cores.empty():
            pin_to_cores((cores.get(),))
        self._own.compiler = Compiler(self.seconds, self.memory)
        self._all.append(self._own.compiler)


def pin_to_cores(cores: Sequence[int]) -> None:
    """Keep this thread, and the processes that it starts, on some cores, where that is allowed."""
    with suppress(OSError):
        os.sched_setaffinity(0, cores)
