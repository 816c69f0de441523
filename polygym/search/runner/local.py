"""Runner of candidates on this machine: compilation and measurement.

:class:`CandidateRunner` is narrow, so that a cluster can be one
(:mod:`polygym.search.runner.ray.ray_runner`).
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from polygym.programs import Program
from polygym.runtime.evaluation import (
    Evaluation,
    EvaluationOptions,
    Evaluator,
    expect_candidate_result,
)
from polygym.runtime.evaluation.compiler import CompilerPool
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.search.runner.retries import evaluate_together_with_retries, evaluate_with_retries


class CandidateRunner(Protocol):
    """Measures choices of one program, beside its original order."""

    @property
    def baseline_seconds(self) -> float:
        """The original order's time."""

    def prepare(
        self, choices: Sequence[MappedSchedule], best_so_far: float, is_over: Callable[[], bool]
    ) -> None:
        """Do beforehand what can be done for several that will be asked for, until it is over."""

    def is_ready(self, choice: MappedSchedule) -> bool:
        """Whether all that can be done beforehand for one has been done."""

    def measure(
        self, choice: MappedSchedule, best_so_far: float | None, *, retries: bool = False
    ) -> Evaluation:
        """Measure a choice: again with ``retries``, if it was cut off.

        ``best_so_far`` is the time of the best in a search in which only the best counts.
        """

    def measure_together(
        self, choices: Sequence[MappedSchedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        """Measure several in turn with the original order."""


RunnerFactory: TypeAlias = Callable[
    [Program, EvaluationOptions, int | None], AbstractContextManager[CandidateRunner]
]
"""Opens a bench for a program; the number is how many are compiled at a time, None that each core
has one."""


@dataclass(slots=True)
class LocalRunner:
    """This machine: code on several cores, then clocks with nothing beside them."""

    evaluator: Evaluator
    compilers: CompilerPool

    @property
    def baseline_seconds(self) -> float:
        """The original order's time."""
        return self.evaluator.baseline_seconds

    def prepare(
        self, choices: Sequence[MappedSchedule], best_so_far: float, is_over: Callable[[], bool]
    ) -> None:
        """Generate code."""
        self.compilers.compile_all(self.evaluator.program, choices, is_over)

    def is_ready(self, choice: MappedSchedule) -> bool:
        """Whether there is code."""
        return self.compilers.is_ready(choice)

    def measure(
        self, choice: MappedSchedule, best_so_far: float | None, *, retries: bool = False
    ) -> Evaluation:
        """Measure a choice."""
        if retries:
            evaluation = evaluate_with_retries(self.evaluator, *choice, best_so_far=best_so_far)
        else:
            evaluation = self.evaluator.evaluate(*choice, best_so_far=best_so_far)
        return expect_candidate_result(evaluation)

    def measure_together(
        self, choices: Sequence[MappedSchedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        """Measure in turn."""
        return evaluate_together_with_retries(self.evaluator, choices, rounds)


@contextmanager
def open_local_runner(
    program: Program, options: EvaluationOptions, jobs: int | None
) -> Iterator[LocalRunner]:
    """Open a bench on this machine."""
    cores = sorted(os.sched_getaffinity(0))[:jobs]
    with (
        closing(CompilerPool(options.compile_seconds, cores)) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
    ):
        yield LocalRunner(evaluator, compilers)
