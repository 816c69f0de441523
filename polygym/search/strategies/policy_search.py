"""Schedules that a policy constructs, and changes of the mappings of the best.

Each schedule is measured under the mapping to start from; about every second candidate is one of
the four best so far with its mapping changed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import DETERMINISTIC, Policy
from polygym.poly.schedule import Schedule
from polygym.search.strategies import candidates
from polygym.search.strategies.neighborhood import mutate_mapping, sample_parent
from polygym.search.strategies.random_search import RandomSearch
from polygym.search.strategies.samplers import sample_episode, schedule_or_reason

_MAPPING_MUTATION_SHARE = 0.5

# So many episodes in a row that find nothing new: then there is nothing more to find.
_MAX_FRUITLESS = 50


class PolicySearch(RandomSearch):
    """Schedules from episodes of a policy, which are added to ``known``, and other mappings."""

    size = 4  # an episode may take seconds

    def __init__(
        self,
        space: candidates.SearchSpace,
        seeds: Sequence[candidates.Candidate],
        rng: np.random.Generator,
        task: Task,
        policy: Policy,
        name: str,
        seed: int,
        known: dict[candidates.ScheduleSource, Schedule],
    ) -> None:
        """Begin with the seeds."""
        super().__init__(space, seeds, rng)
        self._task, self._policy, self._name, self._seed = task, policy, name, seed
        self._known = known
        self._played = 0
        self._patience = 1 if name in DETERMINISTIC else _MAX_FRUITLESS

    def ask(self, count: int) -> list[candidates.Candidate]:
        """Return new schedules, and the best ones so far under other mappings."""
        ranked = self.ranked()
        return self._fill(count, lambda: self._propose(ranked))

    def _propose(self, ranked: Sequence[candidates.Candidate]) -> candidates.Candidate:
        if not ranked or self.rng.random() >= _MAPPING_MUTATION_SHARE:
            source = self._next_source()
            if source is not None:
                return candidates.Candidate(source, self.space.default)
        if not ranked:
            return self.space.sample(self.rng)
        parent = ranked[sample_parent(len(ranked), self.rng)]
        return replace(parent, mapping=mutate_mapping(parent.mapping, self.rng))

    def _next_source(self) -> candidates.ScheduleSource | None:
        """Return the source of a new schedule, None if there seem to be no more."""
        for _ in range(self._patience):
            index, self._played = self._played, self._played + 1
            schedule = schedule_or_reason(
                sample_episode(self._task, self._policy, self._seed, index)
            )
            if isinstance(schedule, str):
                continue
            source = candidates.EpisodeSchedule(self._name, index)
            if candidates.known_source(self._known, source, schedule) == source:
                return source
        self._patience = 0
        return None
