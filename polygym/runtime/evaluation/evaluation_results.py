"""Evaluations from the ends of compilations and runs, and counts of defects.

Defects of a legal schedule are wrong outputs and crashes of its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

from polygym.errors import InternalError
from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation.compiler import CompileFailure
from polygym.runtime.evaluation.evaluation import Evaluation
from polygym.runtime.evaluation.measurement_rule import speedup_ratio
from polygym.runtime.worker.outcome import Ok, Outcome, OutcomeStatus, ProblemError, WorkerError
from polygym.runtime.worker.problem import CompiledProgram

MappedSchedule: TypeAlias = tuple[Schedule, Mapping]
"""A schedule and what is done to it for the machine's sake."""

MACHINE_FAILURES = (WorkerError, ProblemError, InternalError, OSError)
"""What ends a measurement of a program that has been open, without the schedule's doing.

Processes cannot be started any more, or there is no memory to open the program again after a worker
was lost.
"""


_CANDIDATE_ERRORS = {kind.__name__ for kind in get_args(Outcome)}


def expect_candidate_result(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation if it is the candidate's doing, which may be remembered forever.

    Raises:
        WorkerError: it is the machine's.
    """
    if not is_candidate_result(evaluation):
        kind = evaluation.error_type
        raise WorkerError(f"measuring failed: {kind}: {evaluation.error_details}")
    return evaluation


def is_candidate_result(evaluation: Evaluation) -> bool:
    """Whether what became of a candidate is its own doing, not the machine's."""
    is_known = evaluation.status in (OutcomeStatus.OK, OutcomeStatus.DOES_NOT_COMPILE)
    return is_known or evaluation.error_type in _CANDIDATE_ERRORS


class NotMeasuredError(Exception):
    """The machine failed: an answer to give, but none to remember."""

    def __init__(self, cause: Exception) -> None:
        """Keep why."""
        self.cause = cause
        super().__init__(str(cause))


def machine_failure(choice: MappedSchedule, cause: Exception) -> Evaluation:
    """Return the answer where the machine failed."""
    status = cause.outcome.status if isinstance(cause, ProblemError) else OutcomeStatus.CRASH
    return _failure(choice, status, type(cause).__name__, str(cause))


def compile_failure(choice: MappedSchedule, why: CompileFailure) -> Evaluation:
    """Return the answer where there is no code."""
    return _failure(choice, OutcomeStatus.DOES_NOT_COMPILE, why.error_type, why.reason)


def _failure(
    choice: MappedSchedule, status: OutcomeStatus, error_type: str, details: str
) -> Evaluation:
    schedule, mapping = choice
    return Evaluation(
        schedule, status, error_type=error_type, error_details=details, mapping=mapping
    )


def evaluation_of_run(
    choice: MappedSchedule, compiled: CompiledProgram, outcome: Outcome, baseline: Ok
) -> Evaluation:
    """Return the answer where the code ran, to whatever end."""
    schedule, mapping = choice
    result = Evaluation(
        schedule,
        outcome.status,
        baseline_seconds=baseline.best,
        baseline_samples=tuple(baseline.samples),
        mapping=mapping,
        applied_mapping=compiled.applied_mapping,
        canonical_key=compiled.canonical_key,
    )
    if not isinstance(outcome, Ok):
        return replace(result, error_type=type(outcome).__name__, error_details=str(outcome))
    speedup, samples = speedup_ratio(baseline.best, outcome.best), tuple(outcome.samples)
    return replace(result, speedup=speedup, seconds=outcome.best, samples=samples)


def median_evaluation(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Return the answer with the median speedup among several for one schedule.

    An answer that is not right stands for all: code that fails once fails.
    """
    failed = [evaluation for evaluation in evaluations if not evaluation.is_ok]
    if failed:
        return failed[0]
    ordered = sorted(evaluations, key=lambda evaluation: evaluation.speedup)
    return ordered[(len(ordered) - 1) // 2]


@dataclass(frozen=True, slots=True)
class Defects:
    """How many legal schedules computed something else, and how many crashed."""

    wrong: int = 0
    crashed: int = 0

    @staticmethod
    def count(evaluations: Iterable[Evaluation]) -> Defects:
        """Count them; a schedule that was measured twice under one mapping counts once.

        A worker that could not be started is no schedule's crash.
        """
        own = (evaluation for evaluation in evaluations if is_candidate_result(evaluation))
        distinct = {
            (evaluation.status, evaluation.schedule, evaluation.mapping) for evaluation in own
        }
        kinds = [status for status, _, _ in distinct]
        return Defects(kinds.count(OutcomeStatus.WRONG_OUTPUT), kinds.count(OutcomeStatus.CRASH))

    def __add__(self, other: Defects) -> Defects:
        """Return those of both."""
        return Defects(self.wrong + other.wrong, self.crashed + other.crashed)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self != Defects()
