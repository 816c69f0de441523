"""Whose doing an outcome is: the schedule's, which is recorded, or the machine's, which is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from polygym.compiler.poly.schedule import Schedule
from polygym.errors import IllegalScheduleError
from polygym.measure.evaluation import Evaluation, Evaluator, trusted
from polygym.measure.worker.outcome import Status
from polygym.search.explore import tried_again
from polygym.search.sweep.rows import Timing


@dataclass(slots=True)
class Judge:
    """Measures schedules of a program; one that is refused as illegal has not compiled.

    Raises:
        WorkerError: the machine failed, which says nothing about the schedule.
    """

    evaluator: Evaluator
    _answers: dict[Schedule, Timing] = field(default_factory=dict)

    def at_once(self, schedule: Schedule) -> Timing:
        """Measure a schedule, unless it was measured patiently."""
        known = self._answers.get(schedule)
        return known or _timing(lambda: self.evaluator.evaluate(schedule))

    def patiently(self, schedule: Schedule) -> Timing:
        """Measure what others are compared with: again, if it was cut off."""
        if schedule not in self._answers:
            self._answers[schedule] = _timing(
                lambda: tried_again.evaluate(self.evaluator, schedule)
            )
        return self._answers[schedule]


def _timing(evaluate: Callable[[], Evaluation]) -> Timing:
    try:
        return Timing.of(trusted(evaluate()))
    except IllegalScheduleError as error:
        detail = f"{type(error).__name__}: {error}"
        return Timing(Status.DOES_NOT_COMPILE, detail=detail)
