"""Who chooses what is tried next; told what became of it, in speedups (0: it failed).

*genetic*: a population, the first of seeds and dice. Then the best are kept, and the others are
children of three parents each, the fitter the likelier, which have every gene from one of them; now
and then a gene is rolled anew.

*random*: dice alone.

*model* and *filter*: what a model of cost expects to be fast, which learns from what was measured
(:mod:`polygym.search.strategies.model_annealing`).

*policy*: schedules that a policy of the gym constructs, each under the mapping to start from; about
every second candidate is one of the four best so far with its mapping changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from polygym.cost.models.boosted_trees import expect_lightgbm
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import DETERMINISTIC, POLICIES, Policy
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.search.strategies.candidates import (
    Candidate,
    EpisodeSchedule,
    ScheduleSource,
    SearchSpace,
    known_source,
)
from polygym.search.strategies.feature_cache import FeatureCache
from polygym.search.strategies.model_annealing import ModelAnnealing, ModelFilter
from polygym.search.strategies.model_options import DEFAULT_MODEL_OPTIONS, ModelOptions
from polygym.search.strategies.neighborhood import mutate_mapping, sample_parent
from polygym.search.strategies.random_search import RandomSearch
from polygym.search.strategies.samplers import sample_episode, schedule_or_reason

POLICY_PREFIX = "policy:"
_ELITES = 0.1
_MUTATION = 0.07
_MAPPING_MUTATION_SHARE = 0.5

# So many episodes one after the other that find nothing new: then there is nothing more to find.
_MAX_FRUITLESS = 50


class GeneticSearch(RandomSearch):
    """A population with crossover of three parents, mutation and elites."""

    is_by_generation = True

    def ask(self, count: int) -> list[Candidate]:
        """Return children of the fittest, or seeds and dice where there are none yet."""
        ranked = sorted(self.speedups, key=lambda one: -self.speedups[one])[:count]
        ranked = [candidate for candidate in ranked if self.speedups[candidate] > 0]
        if len(ranked) < 3:
            return super().ask(count)
        fitness = np.array([self.speedups[one] for one in ranked])
        chances = fitness / fitness.sum()
        # The elites stay parents; they need no second measurement.
        children = max(1, count - round(_ELITES * count))
        return self._fill(children, lambda: self._child(ranked, chances))

    def _child(self, ranked: Sequence[Candidate], chances: np.ndarray) -> Candidate:
        parents = [
            self.space.values(ranked[int(place)])
            for place in self.rng.choice(len(ranked), size=3, p=chances)
        ]
        values = {}
        for name in self.space.names():
            values[name] = parents[int(self.rng.integers(3))][name]
            if self.rng.random() < _MUTATION:
                values[name] = self.space.sample_value(name, self.rng)
        return self.space.chosen(values)


class PolicySearch(RandomSearch):
    """Schedules from episodes of the gym, and changes of the mappings of the best."""

    at_a_time = 4  # an episode may take seconds

    def __init__(
        self,
        space: SearchSpace,
        seeds: Sequence[Candidate],
        rng: np.random.Generator,
        sampler: PolicyScheduleSampler,
    ) -> None:
        """Begin with the seeds."""
        super().__init__(space, seeds, rng)
        self._explorer = sampler

    def ask(self, count: int) -> list[Candidate]:
        """Return new schedules, and the best ones so far under other mappings."""
        ranked = sorted(self.speedups, key=lambda one: -self.speedups[one])
        ranked = [candidate for candidate in ranked if self.speedups[candidate] > 0]
        return self._fill(count, lambda: self._propose(ranked))

    def _propose(self, ranked: Sequence[Candidate]) -> Candidate:
        if not ranked or self.rng.random() >= _MAPPING_MUTATION_SHARE:
            way = self._explorer.next_source()
            if way is not None:
                return Candidate(way, self.space.default)
        if not ranked:
            return self.space.sample(self.rng)
        parent = ranked[sample_parent(len(ranked), self.rng)]
        return replace(parent, mapping=mutate_mapping(parent.mapping, self.rng))


class PolicyScheduleSampler:
    """Plays episode after episode; the schedules are added to those that are known."""

    def __init__(
        self,
        scop: Scop,
        policy: Policy,
        name: str,
        seed: int,
        known: dict[ScheduleSource, Schedule],
    ) -> None:
        """Set up the processes of a program."""
        self._task = Task(scop, TaskOptions())
        self._policy, self._name, self._seed = policy, name, seed
        self._known = known
        self._played = 0
        self._patience = 1 if name in DETERMINISTIC else _MAX_FRUITLESS

    def next_source(self) -> ScheduleSource | None:
        """Return a new schedule's name, None if there seem to be no more."""
        for _ in range(self._patience):
            index, self._played = self._played, self._played + 1
            schedule = schedule_or_reason(
                sample_episode(self._task, self._policy, self._seed, index)
            )
            if isinstance(schedule, str):
                continue
            way = EpisodeSchedule(self._name, index)
            if known_source(self._known, way, schedule) == way:
                return way
        self._patience = 0
        return None


MODEL_FREE_STRATEGIES: dict[str, type[RandomSearch]] = {
    "genetic": GeneticSearch,
    "random": RandomSearch,
}
MODEL_STRATEGIES: dict[str, type[ModelAnnealing]] = {"model": ModelAnnealing, "filter": ModelFilter}


def strategy_names() -> tuple[str, ...]:
    """Return what a search may be called."""
    return (
        *MODEL_FREE_STRATEGIES,
        *MODEL_STRATEGIES,
        *(f"{POLICY_PREFIX}{name}" for name in POLICIES),
    )


def make_strategy(
    strategy: str | Policy,
    scop: Scop,
    space: SearchSpace,
    seeds: Sequence[Candidate],
    seed: int,
    known: dict[ScheduleSource, Schedule],
    sizes: Mapping[str, int],
    model_options: ModelOptions = DEFAULT_MODEL_OPTIONS,
) -> RandomSearch:
    """Return the search of a name, or the one that a policy leads, for a program at ``sizes``.

    ``known`` has the schedules by name, and gets those that the search finds; ``model_options`` is
    for those that follow a model.

    Raises:
        InputError: there is no such search, or the space is too large for a policy, or a package
            that models need is missing.
    """
    check_strategy(strategy)
    rng = np.random.default_rng(seed)
    if not isinstance(strategy, str):
        return PolicySearch(
            space, seeds, rng, PolicyScheduleSampler(scop, strategy, "policy", seed, known)
        )
    if strategy in MODEL_FREE_STRATEGIES:
        return MODEL_FREE_STRATEGIES[strategy](space, seeds, rng)
    if strategy in MODEL_STRATEGIES:
        expect_lightgbm()
        other = model_options.model.load()
        looked_at = FeatureCache(
            scop,
            sizes,
            known,
            model_options.learning.wants_loops(other),
            machine=model_options.machine,
        )
        return MODEL_STRATEGIES[strategy](
            space,
            seeds,
            rng,
            looked_at,
            other,
            model_options.is_local(other),
            model_options.learning,
        )
    name = strategy.removeprefix(POLICY_PREFIX)
    return PolicySearch(
        space, seeds, rng, PolicyScheduleSampler(scop, POLICIES[name], name, seed, known)
    )


def check_strategy(strategy: str | Policy) -> None:
    """Refuse what is no search.

    Raises:
        InputError: it is none.
    """
    if strategy not in strategy_names() if isinstance(strategy, str) else not callable(strategy):
        raise InputError(
            f"search: expected one of {', '.join(strategy_names())}, or a policy, found "
            f"{strategy!r}"
        )
