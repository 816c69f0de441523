"""Where candidates are compiled and measured: what a tuner needs of it, and how it is done here.

:class:`Bench` is narrow, so that a cluster can be one (:mod:`polygym.search.cluster.benches`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypeAlias

from polygym.measure.evaluation import Evaluation, EvaluationOptions, Evaluator, trusted
from polygym.measure.evaluation.compilers import Compilers
from polygym.measure.evaluation.evaluator import Choice
from polygym.programs import Program
from polygym.search.explore.tried_again import evaluate, evaluate_together


class Bench(Protocol):
    """Measures choices of one program, beside its original order."""

    @property
    def baseline_seconds(self) -> float:
        """The original order's time."""
        ...

    def prepare(
        self, choices: Sequence[Choice], best_so_far: float, is_over: Callable[[], bool]
    ) -> None:
        """Do beforehand what can be done for several that will be asked for, until it is over."""
        ...

    def is_ready(self, choice: Choice) -> bool:
        """Whether all that can be done beforehand for one has been done."""
        ...

    def first(self, choice: Choice) -> Evaluation:
        """Measure what everything else is compared with: again, if it was cut off."""
        ...

    def measure(self, choice: Choice, best_so_far: float) -> Evaluation:
        """Measure a choice in a search in which only the best counts."""
        ...

    def together(self, choices: Sequence[Choice], rounds: int) -> tuple[Evaluation, ...]:
        """Measure several in turn with the original order."""
        ...


Opener: TypeAlias = Callable[
    [Program, EvaluationOptions, int | None], AbstractContextManager[Bench]
]
"""Opens a bench for a program; the number is how many are compiled at a time, None that each core
has one."""


@dataclass(slots=True)
class LocalBench:
    """This machine: code on several cores, then clocks with nothing beside them."""

    evaluator: Evaluator
    compilers: Compilers

    @property
    def baseline_seconds(self) -> float:
        """The original order's time."""
        return self.evaluator.baseline_seconds

    def prepare(
        self, choices: Sequence[Choice], best_so_far: float, is_over: Callable[[], bool]
    ) -> None:
        """Generate code."""
        self.compilers.compile_all(self.evaluator.program, choices, is_over)

    def is_ready(self, choice: Choice) -> bool:
        """Whether there is code."""
        return self.compilers.is_ready(choice)

    def first(self, choice: Choice) -> Evaluation:
        """Measure patiently."""
        return trusted(evaluate(self.evaluator, *choice, best_so_far=inf))

    def measure(self, choice: Choice, best_so_far: float) -> Evaluation:
        """Measure once."""
        return trusted(self.evaluator.evaluate(*choice, best_so_far=best_so_far))

    def together(self, choices: Sequence[Choice], rounds: int) -> tuple[Evaluation, ...]:
        """Measure in turn."""
        return evaluate_together(self.evaluator, choices, rounds)


@contextmanager
def open_here(
    program: Program, options: EvaluationOptions, jobs: int | None
) -> Iterator[LocalBench]:
    """Open a bench on this machine."""
    cores = sorted(os.sched_getaffinity(0))[:jobs]
    with (
        closing(Compilers(options.compile_seconds, cores)) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
    ):
        yield LocalBench(evaluator, compilers)
