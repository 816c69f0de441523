"""Candidates of a program, compiled together and timed one by one, each beside the original order.

What takes several times as long as the best so far is cut off. A wrong output or a crash is no slow
candidate but a defect, and ends the program's search.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from polygym.errors import PolygymError
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, Evaluator
from polygym.runtime.evaluation.compiler import CompilerPool
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search import SearchResult

COMPILE_SECONDS = 5.0


@dataclass(slots=True)
class CandidateClock:
    """Times candidates of one program; ``best`` are the seconds of the best so far."""

    name: str
    compilers: CompilerPool
    evaluator: Evaluator
    best: float = float("inf")

    def times(
        self, choices: Sequence[MappedSchedule], *, no_cutoff: bool = False
    ) -> Iterator[Evaluation]:
        """Yield what becomes of candidates; with ``no_cutoff`` none is cut off for the best's sake.

        Raises:
            PolygymError: an output was wrong, or code crashed.
        """
        self.compilers.compile_all(self.evaluator.program, choices)
        for choice in choices:
            beside = float("inf") if no_cutoff else self.best
            evaluation = self.evaluator.evaluate(*choice, best_so_far=beside)
            check_evaluation(evaluation, self.name, *choice)
            if evaluation.is_ok:
                self.best = min(self.best, evaluation.seconds)
            yield evaluation

    def times_in_turn(self, choices: Sequence[MappedSchedule], rounds: int) -> Sequence[Evaluation]:
        """Return the times of candidates that ran before, which run in turn with the original.

        Raises:
            PolygymError: one of them does not run, or its output was wrong.
        """
        self.compilers.compile_all(self.evaluator.program, choices)
        evaluations = self.evaluator.evaluate_interleaved(choices, rounds)
        for choice, evaluation in zip(choices, evaluations, strict=True):
            check_evaluation(evaluation, self.name, *choice)
            if not evaluation.is_ok:
                raise PolygymError(
                    f"{self.name}: expected what ran before to run again, found: "
                    f"{evaluation.status.value}, {evaluation.error_details} under {choice[1]}"
                )
        return evaluations


@contextmanager
def candidate_clock(
    name: str, program: Program, threads: int, compile_seconds: float = COMPILE_SECONDS
) -> Iterator[CandidateClock]:
    """Inside, candidates of a program are timed.

    Raises:
        PolygymError: its original order cannot be run.
    """
    mapping = replace(DEFAULT_MAPPING, threads=threads)
    options = EvaluationOptions(threads=threads, compile_seconds=compile_seconds, mapping=mapping)
    with (
        closing(CompilerPool(compile_seconds, sorted(os.sched_getaffinity(0)))) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
    ):
        yield CandidateClock(name, compilers, evaluator)


def check_tuned(name: str, result: SearchResult) -> None:
    """Refuse what a search has found beside wrong outputs or crashes.

    Raises:
        PolygymError: there were some.
    """
    if result.wrong or result.crashed:
        raise PolygymError(
            f"{name}: {result.wrong} outputs were wrong and {result.crashed} candidates crashed, "
            "defects of polygym"
        )


def check_evaluation(
    evaluation: Evaluation, program: str, schedule: Schedule, mapping: Mapping
) -> None:
    """Refuse to go on after a wrong output or a crash.

    Raises:
        PolygymError: there was one.
    """
    if evaluation.status in (OutcomeStatus.WRONG_OUTPUT, OutcomeStatus.CRASH):
        raise PolygymError(
            f"{program}: {evaluation.status.value} under {mapping}, {mapping.mismatch_reason}: "
            f"{schedule}"
        )
