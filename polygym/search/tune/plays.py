"""Schedules that policies of the gym construct, for a search that has a model choose among them.

isl has a dozen schedules of a program, and edits stay near the best of them; what policies play may
be anywhere. Few of their schedules are good, so some are played for each that is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.episode import Task
from polygym.episodes.policies import policy
from polygym.episodes.task_options import TaskOptions
from polygym.errors import LimitError
from polygym.search.explore.players import TRIES, TURNS, episode_of, schedule_of
from polygym.search.tune.candidates import Played

_FRUITLESS = 3 * TRIES  # so many episodes one after the other without a new schedule: that is all


class Plays:
    """Episodes of a program, which all follow from the dice at the beginning."""

    def __init__(self, scop: Scop, dice: np.random.Generator) -> None:
        """Play nothing yet."""
        self._scop = scop
        self._seed = int(dice.integers(2**63))
        self._count = 0
        self._fruitless = 0

    @cached_property
    def _task(self) -> Task:
        return Task(self._scop, TaskOptions())

    def some(
        self, is_new: Callable[[Schedule], bool], is_over: Callable[[], bool]
    ) -> dict[Schedule, Played]:
        """Return the new schedules of the next few episodes, by name.

        ``is_over`` is asked before each. There are none where the spaces of the program are too
        large, and no more after many episodes in a row without one.
        """
        found: dict[Schedule, Played] = {}
        for _ in range(TRIES):
            if self._fruitless >= _FRUITLESS or is_over():
                break
            index, self._count = self._count, self._count + 1
            name = TURNS[index % len(TURNS)]
            try:
                schedule = schedule_of(episode_of(self._task, policy(name), self._seed, index))
            except LimitError:
                self._fruitless = _FRUITLESS
                break
            if isinstance(schedule, str) or not is_new(schedule):
                self._fruitless += 1
                continue
            self._fruitless = 0
            found.setdefault(schedule, Played(name, index))
        return found
