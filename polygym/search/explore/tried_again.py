"""A timeout of what everything else is compared with is tried again before it counts.

A run is cut off after a multiple of the original order's time. Where that is short, another process
that takes a core for a moment is enough: threads that wait for each other then take as long as it
holds them up. Among a thousand schedules of a search one more timeout changes nothing. The schedule
with which a search begins, isl's, and the best ones that are measured together in the end are
another matter: what became of them stands in every table, and others are judged by it. So they are
measured up to three times, with a moment in between; what is too slow indeed is so every time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.measure.evaluation import Evaluation, Evaluator
from polygym.measure.evaluation.evaluator import Choice
from polygym.measure.worker.outcome import Status

T = TypeVar("T")
R = TypeVar("R", bound="Result")

TRIES = 3
_PAUSE_SECONDS = 0.5


class Result(Protocol):
    """What became of a measurement."""

    @property
    def status(self) -> Status:
        """How it ended."""


def evaluate(
    evaluator: Evaluator,
    schedule: Schedule,
    mapping: Mapping | None = None,
    *,
    best_so_far: float | None = None,
) -> Evaluation:
    """Measure a schedule as :meth:`Evaluator.evaluate` does, again if it was cut off."""
    found = evaluator.evaluate(schedule, mapping, best_so_far=best_so_far)
    for _ in range(TRIES - 1):
        if not _was_cut_off(found):
            break
        time.sleep(_PAUSE_SECONDS)
        found = evaluator.evaluate(schedule, mapping, fresh=True, best_so_far=best_so_far)
    return found


def evaluate_together(
    evaluator: Evaluator, schedules: Sequence[Schedule | Choice], rounds: int
) -> tuple[Evaluation, ...]:
    """Measure schedules as :meth:`Evaluator.evaluate_together` does, again those that were cut off.

    These run in turn with the original order then, and with each other.
    """
    return again(schedules, lambda some: evaluator.evaluate_together(some, rounds))


def again(items: Sequence[T], measure: Callable[[Sequence[T]], Sequence[R]]) -> tuple[R, ...]:
    """Measure several, and those again that were cut off."""
    found = list(measure(items))
    for _ in range(TRIES - 1):
        places = [place for place, one in enumerate(found) if _was_cut_off(one)]
        if not places:
            break
        time.sleep(_PAUSE_SECONDS)
        for place, one in zip(places, measure([items[place] for place in places]), strict=True):
            found[place] = one
    return tuple(found)


def _was_cut_off(result: Result) -> bool:
    return result.status is Status.TIMEOUT
