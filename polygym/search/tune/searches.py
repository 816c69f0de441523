"""Who chooses what is tried next; told what became of it, in speedups (0: it failed).

*genetic*: a population, the first of seeds and dice. Then the best are kept, and the others are
children of three parents each, the fitter the likelier, which have every gene from one of them; now
and then a gene is rolled anew.

*random*: dice alone.

*model* and *filter*: what a model of cost expects to be fast, which learns from what was measured
(:mod:`polygym.search.tune.by_model`).

*policy*: schedules that a policy of the gym constructs, each under the mapping to start from; about
every second candidate is one of the four best so far with its mapping changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.trees import expect_lightgbm
from polygym.episodes.episode import Task
from polygym.episodes.policies import DETERMINISTIC, POLICIES, Policy
from polygym.episodes.task_options import TaskOptions
from polygym.errors import InputError
from polygym.search.explore.neighbourhood import changed, place_of_parent
from polygym.search.explore.players import episode_of, schedule_of
from polygym.search.tune.by_model import ByModel, Filtered
from polygym.search.tune.candidates import Candidate, Genes, Played, Way, named
from polygym.search.tune.dice import Random
from polygym.search.tune.guide import USUAL, Guide
from polygym.search.tune.looked_at import LookedAt

PREFIX = "policy:"
_ELITES = 0.1
_MUTATION = 0.07
_CHANGED = 0.5

# So many episodes one after the other that find nothing new: then there is nothing more to find.
_FRUITLESS = 50


class Genetic(Random):
    """A population with crossover of three parents, mutation and elites."""

    is_by_generation = True

    def generation(self, count: int) -> list[Candidate]:
        """Return children of the fittest, or seeds and dice where there are none yet."""
        ranked = sorted(self.found, key=lambda one: -self.found[one])[:count]
        ranked = [one for one in ranked if self.found[one] > 0]
        if len(ranked) < 3:
            return super().generation(count)
        fitness = np.array([self.found[one] for one in ranked])
        chances = fitness / fitness.sum()
        # The elites stay parents; they need no second measurement.
        children = max(1, count - round(_ELITES * count))
        return self._filled(children, lambda: self._child(ranked, chances))

    def _child(self, ranked: Sequence[Candidate], chances: np.ndarray) -> Candidate:
        parents = [
            self.genes.values(ranked[int(place)])
            for place in self.dice.choice(len(ranked), size=3, p=chances)
        ]
        values = {}
        for name in self.genes.names():
            values[name] = parents[int(self.dice.integers(3))][name]
            if self.dice.random() < _MUTATION:
                values[name] = self.genes.value(name, self.dice)
        return self.genes.chosen(values)


class ByPolicy(Random):
    """Schedules from episodes of the gym, and changes of the mappings of the best."""

    at_a_time = 4  # an episode may take seconds

    def __init__(
        self,
        genes: Genes,
        seeds: Sequence[Candidate],
        dice: np.random.Generator,
        explorer: Explorer,
    ) -> None:
        """Begin with the seeds."""
        super().__init__(genes, seeds, dice)
        self._explorer = explorer

    def generation(self, count: int) -> list[Candidate]:
        """Return new schedules, and the best ones so far under other mappings."""
        ranked = sorted(self.found, key=lambda one: -self.found[one])
        ranked = [one for one in ranked if self.found[one] > 0]
        return self._filled(count, lambda: self._made(ranked))

    def _made(self, ranked: Sequence[Candidate]) -> Candidate:
        if not ranked or self.dice.random() >= _CHANGED:
            way = self._explorer.next()
            if way is not None:
                return Candidate(way, self.genes.start)
        if not ranked:
            return self.genes.random(self.dice)
        parent = ranked[place_of_parent(len(ranked), self.dice)]
        return replace(parent, mapping=changed(parent.mapping, self.dice))


class Explorer:
    """Plays episode after episode; the schedules are added to those that are known."""

    def __init__(
        self, scop: Scop, policy: Policy, name: str, seed: int, known: dict[Way, Schedule]
    ) -> None:
        """Set up the processes of a program."""
        self._task = Task(scop, TaskOptions())
        self._policy, self._name, self._seed = policy, name, seed
        self._known = known
        self._played = 0
        self._patience = 1 if name in DETERMINISTIC else _FRUITLESS

    def next(self) -> Way | None:
        """Return a new schedule's name, None if there seem to be no more."""
        for _ in range(self._patience):
            index, self._played = self._played, self._played + 1
            found = schedule_of(episode_of(self._task, self._policy, self._seed, index))
            if isinstance(found, str):
                continue
            way = Played(self._name, index)
            if named(self._known, way, found) == way:
                return way
        self._patience = 0
        return None


SEARCHES: dict[str, type[Random]] = {"genetic": Genetic, "random": Random}
BY_MODEL: dict[str, type[ByModel]] = {"model": ByModel, "filter": Filtered}


def search_names() -> tuple[str, ...]:
    """Return what a search may be called."""
    return (*SEARCHES, *BY_MODEL, *(f"{PREFIX}{name}" for name in POLICIES))


def make_search(
    search: str | Policy,
    scop: Scop,
    genes: Genes,
    seeds: Sequence[Candidate],
    seed: int,
    known: dict[Way, Schedule],
    sizes: Mapping[str, int],
    guide: Guide = USUAL,
) -> Random:
    """Return the search of a name, or the one that a policy leads, for a program at ``sizes``.

    ``known`` has the schedules by name, and gets those that the search finds; ``guide`` is for
    those that follow a model.

    Raises:
        InputError: there is no such search, or the space is too large for a policy, or a package
            that models need is missing.
    """
    check_search(search)
    dice = np.random.default_rng(seed)
    if not isinstance(search, str):
        return ByPolicy(genes, seeds, dice, Explorer(scop, search, "policy", seed, known))
    if search in SEARCHES:
        return SEARCHES[search](genes, seeds, dice)
    if search in BY_MODEL:
        expect_lightgbm()
        other = guide.model.loaded()
        looked_at = LookedAt(
            scop, sizes, known, guide.learning.wants_loops(other), machine=guide.machine
        )
        return BY_MODEL[search](
            genes, seeds, dice, looked_at, other, guide.is_of_here(other), guide.learning
        )
    name = search.removeprefix(PREFIX)
    return ByPolicy(genes, seeds, dice, Explorer(scop, POLICIES[name], name, seed, known))


def check_search(search: str | Policy) -> None:
    """Refuse what is no search.

    Raises:
        InputError: it is none.
    """
    if search not in search_names() if isinstance(search, str) else not callable(search):
        raise InputError(
            f"search: expected one of {', '.join(search_names())}, or a policy, found {search!r}"
        )
