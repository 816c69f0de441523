"""A compiler that works ahead: code is generated while other code is measured.

The usual order of things is play, compile, measure, play, … An :class:`AheadCompiler` has a thread
for the first two, and with it a core: while one schedule is measured the next ones are compiled
there, and an evaluator that asks for their code finds it ready. Everything that touches the integer
set library happens in that thread, which runs one call at a time; it is not a library for several.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from polygym.codegen.mapping import SEQUENTIAL, Mapping
from polygym.evaluation.compiler import Compiler, NotCompiled
from polygym.measure.problem import Problem
from polygym.measure.problem import Program as Compiled
from polygym.poly.schedule import Schedule
from polygym.programs import Program

Given = TypeVar("Given")
Made = TypeVar("Made")

_DEPTH = 4


class AheadCompiler(Compiler):
    """A compiler in a thread on cores of its own; ``ahead`` says whether it may run ahead."""

    def __init__(self, seconds: float, cores: tuple[int, ...] = (), ahead: bool = True) -> None:
        """Keep the time limit and the cores; without any it runs where its process does."""
        super().__init__(seconds)
        self._depth = _DEPTH if ahead else 0
        self._ready: dict[tuple[Schedule, Mapping], Compiled | NotCompiled] = {}
        self._thread = ThreadPoolExecutor(1, "ahead", initializer=pin, initargs=(cores,))

    def call(self, work: Callable[[], Made]) -> Made:
        """Do some work in the thread, and wait for it."""
        return self._thread.submit(work).result()

    def each(self, items: Iterable[Given], work: Callable[[Given], Made]) -> Iterator[Made]:
        """Yield what ``work`` makes of every item, in order.

        The thread has begun with the next ones when one is yielded, if it may run ahead. The items
        are taken as they are needed.
        """
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(self._thread.submit(work, item))
                if len(waiting) > self._depth:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def prepare(self, program: Program, schedule: Schedule, mapping: Mapping) -> None:
        """Generate code that will be asked for; to be called in the thread."""
        self._ready[schedule, mapping] = super().compile_schedule(program, schedule, mapping)

    def compile_schedule(
        self,
        program: Program,
        schedule: Schedule,
        mapping: Mapping = SEQUENTIAL,
        *,
        seconds: float | None = None,
    ) -> Compiled | NotCompiled:
        """Return code that is ready, or have it generated now."""
        ready = self._ready.pop((schedule, mapping), None)
        if ready is not None:
            return ready
        ask = super().compile_schedule
        return self.call(lambda: ask(program, schedule, mapping, seconds=seconds))

    def compile_problem(self, program: Program) -> Problem:
        """Return the program with its data and its original order, compiled."""
        ask = super().compile_problem
        return self.call(lambda: ask(program))

    def close(self) -> None:
        """End the thread, after what it is doing, and the process."""
        self._thread.shutdown(cancel_futures=True)
        super().close()


def pin(cores: tuple[int, ...]) -> None:
    """Keep this thread, and the processes that it starts, on some cores, where that is allowed."""
    if cores:
        with suppress(OSError):
            os.sched_setaffinity(0, cores)
