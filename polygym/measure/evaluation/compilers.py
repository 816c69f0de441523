"""Compilers on several cores: the code of a batch of schedules, generated before any is measured.

Generating code takes ten times as long as measuring it, and does not mind company; a clock does. So
a batch is compiled on all cores that a job has, each with a process of its own, and then measured
with nothing beside it. An evaluator that is given a :class:`Compilers` finds the code ready.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from queue import SimpleQueue

from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.measure.evaluation.compiler import Compiler, NotCompiled
from polygym.measure.worker.problem import CompiledProgram, Problem
from polygym.programs import Program

_LOOK_SECONDS = 0.1


class Compilers(Compiler):
    """As many compilers as cores, which look like one."""

    def __init__(self, seconds: float, cores: Sequence[int], memory: int | None = None) -> None:
        """Keep the limits of a schedule; the processes start when they are needed."""
        super().__init__(seconds, memory)
        self._ready: dict[tuple[Schedule, Mapping], CompiledProgram | NotCompiled] = {}
        self._cores: SimpleQueue[int] = SimpleQueue()
        for core in cores:
            self._cores.put(core)
        self._own = threading.local()
        self._all: list[Compiler] = []
        self._threads = ThreadPoolExecutor(max(1, len(cores)), "compile", self._begin_thread)

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that have been started and are alive."""
        found = (compiler.process_id for compiler in self._all)
        return tuple(process for process in found if process is not None)

    def compile_all(
        self,
        program: Program,
        choices: Sequence[tuple[Schedule, Mapping]],
        is_over: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Generate the code of schedules under mappings, which will be asked for.

        Return whether all was done. It is not if ``is_over`` says so first.
        """

        def prepare(choice: tuple[Schedule, Mapping]) -> None:
            compiler: Compiler = self._own.compiler
            self._ready[choice] = compiler.compile_schedule(program, *choice)

        waiting = {self._threads.submit(prepare, one) for one in dict.fromkeys(choices)}
        while waiting:
            done, waiting = wait(waiting, _LOOK_SECONDS)
            for future in done:
                future.result()
            if waiting and is_over():
                for future in waiting:
                    future.cancel()
                return False
        return True

    def is_ready(self, choice: tuple[Schedule, Mapping]) -> bool:
        """Whether the code of a schedule under a mapping has been generated, and not asked for."""
        return choice in self._ready

    def compile_schedule(
        self,
        program: Program,
        schedule: Schedule,
        mapping: Mapping = SEQUENTIAL,
        *,
        seconds: float | None = None,
        memory: int | None = None,
    ) -> CompiledProgram | NotCompiled:
        """Return code that is ready, or have it generated now."""
        if (schedule, mapping) not in self._ready:
            self.compile_all(program, [(schedule, mapping)])
        return self._ready.pop((schedule, mapping))

    def compile_problem(self, program: Program) -> Problem:
        """Return the program with its data and its original order, compiled."""

        def ask() -> Problem:
            compiler: Compiler = self._own.compiler
            return compiler.compile_problem(program)

        return self._threads.submit(ask).result()

    def close(self) -> None:
        """End the threads, after what they are doing, and the processes."""
        self._threads.shutdown(cancel_futures=True)
        for compiler in self._all:
            compiler.close()

    def _begin_thread(self) -> None:
        """Give a thread a compiler and a core; its process will be on the same core."""
        if not self._cores.empty():
            pin((self._cores.get(),))
        self._own.compiler = Compiler(self.seconds, self.memory)
        self._all.append(self._own.compiler)


def pin(cores: Sequence[int]) -> None:
    """Keep this thread, and the processes that it starts, on some cores, where that is allowed."""
    with suppress(OSError):
        os.sched_setaffinity(0, cores)
