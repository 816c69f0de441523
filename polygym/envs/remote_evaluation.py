"""Ends of episodes that are measured elsewhere: by the nodes of a cluster, say.

An environment that is given an :class:`RemoteEvaluator` does not run schedules itself. It waits for
the answer, or goes on at once: then the reward of the last step is 0 for now, the status is
:data:`PENDING_STATUS`, and ``info["pending"]`` has a :class:`PendingReward`, whose reward comes
later.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from polygym.mapping.mapping import Mapping
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.schedule import Schedule
from polygym.runtime.evaluation import Evaluation, EvaluationOptions

PENDING_STATUS = "pending"


class RemoteEvaluator(Protocol):
    """Who measures."""

    @property
    def is_blocking(self) -> bool:
        """Whether environments wait for the answers."""
        ...

    def submit(
        self,
        source: ProgramSource,
        options: EvaluationOptions,
        schedule: Schedule,
        mapping: Mapping,
    ) -> Future[Evaluation]:
        """Have a schedule measured."""
        ...


@dataclass(frozen=True, slots=True)
class PendingReward:
    """The end of an episode of which the measurement is to come."""

    future: Future[Evaluation]
    reward_of: Callable[[Evaluation], float]

    def __deepcopy__(self, _: dict[int, object]) -> PendingReward:
        """Return itself: vectors of environments copy what an info has, and there is one answer."""
        return self

    def wait(self) -> tuple[float, Evaluation]:
        """Wait for the measurement; return the reward, and what was measured.

        Raises:
            PolygymError: it could not be measured.
        """
        evaluation = self.future.result()
        return self.reward_of(evaluation), evaluation
