"""Whose doing an outcome is: the schedule's, which is recorded, or the machine's, which is not."""

from collections.abc import Callable
from dataclasses import dataclass, field

from polygym.errors import IllegalScheduleError
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation, Evaluator, expect_candidate_result
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.runner import retries
from polygym.search.sweep.rows import Timing


@dataclass(slots=True)
class ScheduleTimer:
    """Measures schedules of a program; one that is refused as illegal has not compiled.

    Raises:
        WorkerError: the machine failed, which says nothing about the schedule.
    """

    evaluator: Evaluator
    _retried: dict[Schedule, Timing] = field(default_factory=dict)

    def measure(self, schedule: Schedule) -> Timing:
        """Measure a schedule, unless it was measured patiently."""
        known = self._retried.get(schedule)
        return known or _timing(lambda: self.evaluator.evaluate(schedule))

    def measure_with_retries(self, schedule: Schedule) -> Timing:
        """Measure what others are compared with: again, if it was cut off."""
        if schedule not in self._retried:
            self._retried[schedule] = _timing(
                lambda: retries.evaluate_with_retries(self.evaluator, schedule)
            )
        return self._retried[schedule]


def _timing(evaluate: Callable[[], Evaluation]) -> Timing:
    try:
        return Timing.of(expect_candidate_result(evaluate()))
    except IllegalScheduleError as error:
        detail = f"{type(error).__name__}: {error}"
        return Timing(OutcomeStatus.DOES_NOT_COMPILE, detail=detail)
