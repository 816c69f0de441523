"""Schedules that policies of the gym construct, for a search that has a model choose among them.

isl has a dozen schedules of a program, and edits stay near the best of them; what policies play may
be anywhere. Few of their schedules are good, so some are played for each that is measured.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import policy_named
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.search.strategies.candidates import EpisodeSchedule
from polygym.search.strategies.samplers import (
    POLICY_CYCLE,
    TRIES,
    sample_episode,
    schedule_or_reason,
)

_MAX_FRUITLESS = (
    3 * TRIES
)  # so many episodes one after the other without a new schedule: that is all


class EpisodeSchedules:
    """Episodes of a program, which all follow from the random choices at the beginning."""

    def __init__(self, scop: Scop, rng: np.random.Generator) -> None:
        """Play nothing yet."""
        self._scop = scop
        self._seed = int(rng.integers(2**63))
        self._count = 0
        self._fruitless = 0

    @cached_property
    def _task(self) -> Task:
        return Task(self._scop, TaskOptions())

    def sample(
        self, is_new: Callable[[Schedule], bool], is_over: Callable[[], bool]
    ) -> dict[Schedule, EpisodeSchedule]:
        """Return the new schedules of the next few episodes, by name.

        ``is_over`` is asked before each. There are none where the spaces of the program are too
        large, and no more after many episodes in a row without one.
        """
        schedules: dict[Schedule, EpisodeSchedule] = {}
        for _ in range(TRIES):
            if self._fruitless >= _MAX_FRUITLESS or is_over():
                break
            index, self._count = self._count, self._count + 1
            name = POLICY_CYCLE[index % len(POLICY_CYCLE)]
            try:
                schedule = schedule_or_reason(
                    sample_episode(self._task, policy_named(name), self._seed, index)
                )
            except LimitError:
                self._fruitless = _MAX_FRUITLESS
                break
            if isinstance(schedule, str) or not is_new(schedule):
                self._fruitless += 1
                continue
            self._fruitless = 0
            schedules.setdefault(schedule, EpisodeSchedule(name, index))
        return schedules
