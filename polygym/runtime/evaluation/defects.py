"""What no legal schedule's code may do: compute something else, or crash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polygym.runtime.evaluation.evaluation import Evaluation
from polygym.runtime.evaluation.evaluation_results import is_candidate_result
from polygym.runtime.worker.outcome import OutcomeStatus


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
        found = {(one.status, one.schedule, one.mapping) for one in own}
        kinds = [status for status, _, _ in found]
        return Defects(kinds.count(OutcomeStatus.WRONG_OUTPUT), kinds.count(OutcomeStatus.CRASH))

    def __add__(self, other: Defects) -> Defects:
        """Return those of both."""
        return Defects(self.wrong + other.wrong, self.crashed + other.crashed)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self != Defects()
