"""A timeout of what everything else is compared with is tried again before it counts.

A run is cut off after a multiple of the original order's time. Where that is short, another process
that takes a core for a moment is enough: threads that wait for each other then take as long as it
holds them up. Among a thousand schedules of a search one more timeout changes nothing. The schedule
with which a search begins, isl's, and the best ones that are measured together in the end are
another matter: what became of them stands in every table, and others are judged by it. So they are
measured up to three times, with a moment in between; what is too slow indeed is so every time.
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from polygym.mapping.mapping import Mapping
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import OutcomeStatus

T = TypeVar("T")
R = TypeVar("R", bound="MeasurementResult")

MAX_TRIES = 3
_PAUSE_SECONDS = 0.5


class MeasurementResult(Protocol):
    """What became of a measurement."""

    @property
    def status(self) -> OutcomeStatus:
        """How it ended."""


def evaluate_with_retries(
    evaluator: Evaluator,
    schedule: Schedule,
    mapping: Mapping | None = None,
    *,
    best_so_far: float | None = None,
) -> Evaluation:
    """Measure as :meth:`Evaluator.evaluate_with_retries` does; repeat runs cut off."""
    evaluation = evaluator.evaluate(schedule, mapping, best_so_far=best_so_far)
    for _ in range(MAX_TRIES - 1):
        if not _is_timeout(evaluation):
            break
        time.sleep(_PAUSE_SECONDS)
        evaluation = evaluator.evaluate(schedule, mapping, fresh=True, best_so_far=best_so_far)
    return evaluation


def evaluate_together_with_retries(
    evaluator: Evaluator, schedules: Sequence[Schedule | MappedSchedule], rounds: int
) -> tuple[Evaluation, ...]:
    """Measure schedules as the method of the same name does; those cut off are measured again.

    These run in turn with the original order then, and with each other.
    """
    return measure_with_retries(
        schedules, lambda some: evaluator.evaluate_interleaved(some, rounds)
    )


def measure_with_retries(
    items: Sequence[T], measure: Callable[[Sequence[T]], Sequence[R]]
) -> tuple[R, ...]:
    """Measure several, and those again that were cut off."""
    result = list(measure(items))
    for _ in range(MAX_TRIES - 1):
        places = [place for place, outcome in enumerate(result) if _is_timeout(outcome)]
        if not places:
            break
        time.sleep(_PAUSE_SECONDS)
        for place, retry in zip(places, measure([items[place] for place in places]), strict=True):
            result[place] = retry
    return tuple(result)


def _is_timeout(result: MeasurementResult) -> bool:
    return result.status is OutcomeStatus.TIMEOUT
