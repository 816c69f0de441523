"""Which candidates a visit measures: some that are usual, some at random, some near what is good.

Of those, the first few are what is always worth knowing: the order of the text as it is and under
the default mapping, and isl's schedules under it. Then dice: schedules that policies of the gym
construct, or isl's, under the default mapping or any. From a third of the way on, every second one
is a change of one of the best four so far: another entry of its mapping, or its mapping under
another schedule.

A visit that stays *near* is of what somebody chooses among who begins with isl's schedule and the
default mapping (:mod:`polygym.episodes.editing`): all of isl's schedules and the order of the text
under that mapping, then, half and half, legal edits of the best so far under theirs, and changes of
their mappings, with ideas before dice.

Everything follows from the seed and from what was measured before, but for schedules that isl does
not find in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from polygym.compiler.codegen.common.mapping import SEQUENTIAL, Mapping
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ISL, Settled
from polygym.episodes.episode import Task
from polygym.episodes.policies import play, policy
from polygym.episodes.task_options import TaskOptions
from polygym.errors import PolygymError
from polygym.programs import Program
from polygym.search.explore.neighbourhood import changed, ideas, place_of_parent
from polygym.search.explore.players import schedule_of
from polygym.search.tune.candidates import STRATEGIES, Genes, schedules_of
from polygym.search.tune.edits import edited

POLICIES = ("bias_coeff_0", "bias_coeff_0", "uniform", "bias_select_dep", "earliest")
_STRATEGIES = 5
_NEAR_FROM = 1 / 3
_DEFAULT = 0.4
_POOL = 24
_SECONDS = 20.0
_ATTEMPTS = 20


@dataclass(slots=True)
class Candidates:
    """The candidates of a visit, one after the other; ``near`` says that it stays near."""

    program: Program
    start: Mapping
    genes: Genes
    dice: np.random.Generator
    count: int
    pool: list[Schedule] = field(default_factory=list)
    told: dict[tuple[Schedule, Mapping], float] = field(default_factory=dict)
    ready: list[tuple[Schedule, Mapping]] = field(default_factory=list)
    near: bool = False

    @staticmethod
    def of(
        program: Program,
        start: Mapping,
        dice: np.random.Generator,
        count: int,
        *,
        near: bool = False,
    ) -> Candidates:
        """Return the candidates of a program; constructing its schedules takes some seconds."""
        genes = Genes.of(program.scop, (ISL,), dict(program.parameters), start)
        found = Candidates(program, start, genes, dice, count, near=near)
        isl = _by_strategies(program, dice, len(STRATEGIES) if near else _STRATEGIES)
        first = original(program.scop)
        found.ready = [(first, SEQUENTIAL), (first, start), *((one, start) for one in isl)]
        found.ready = list(dict.fromkeys(found.ready))[:count]
        played = () if near else _played(program, dice)
        found.pool = list(dict.fromkeys([first, *isl, *played]))
        return found

    def batch(self, size: int) -> list[tuple[Schedule, Mapping]]:
        """Return the next few; fewer where there are no more."""
        size = min(size, self.count - len(self.told))
        fresh = self.ready[:size]
        del self.ready[:size]
        tries = 0
        while len(fresh) < size and tries < _ATTEMPTS * size:
            tries += 1
            one = self._one()
            if one is not None and one not in self.told and one not in fresh:
                fresh.append(one)
        return fresh

    def learn(self, candidate: tuple[Schedule, Mapping], speedup: float) -> None:
        """Take note of what became of one."""
        self.told[candidate] = speedup

    def _one(self) -> tuple[Schedule, Mapping] | None:
        """Return a further candidate; None where the dice lead to none."""
        if not self.near:
            return self._near() if self._is_near() else self._any()
        schedule, mapping = self._good()
        if self.dice.random() < 0.5:
            found = edited(schedule, self.program.scop, self.dice)
            return None if found is None else (found, mapping)
        if mapping == self.start and self.dice.random() < 0.5:
            some = ideas(self.start)
            return schedule, some[int(self.dice.integers(len(some)))]
        return schedule, changed(mapping, self.dice)

    def _good(self) -> tuple[Schedule, Mapping]:
        """Return one of the best so far that runs in as many threads as there are."""
        ranked = sorted(self.told, key=lambda one: -self.told[one])
        ranked = [one for one in ranked if one[1].threads == self.start.threads]
        if not ranked:
            return self.pool[0], self.start
        return ranked[place_of_parent(len(ranked), self.dice)]

    def _is_near(self) -> bool:
        return len(self.told) > _NEAR_FROM * self.count and bool(self.dice.random() < 0.5)

    def _mapping(self) -> Mapping:
        if self.dice.random() < _DEFAULT:
            return self.start
        return self.genes.random(self.dice).mapping

    def _any(self) -> tuple[Schedule, Mapping]:
        schedule = self.pool[int(self.dice.integers(len(self.pool)))]
        return schedule, self._mapping()

    def _near(self) -> tuple[Schedule, Mapping]:
        """Return a change of one of the best."""
        ranked = sorted(self.told, key=lambda one: -self.told[one])
        schedule, mapping = ranked[place_of_parent(len(ranked), self.dice)]
        if self.dice.random() < 0.25:
            return self.pool[int(self.dice.integers(len(self.pool)))], mapping
        kept = replace(mapping, threads=self.start.threads, reassociate=self.start.reassociate)
        return schedule, changed(kept, self.dice)


def _by_strategies(program: Program, dice: np.random.Generator, count: int) -> list[Schedule]:
    """Return schedules of isl's: the usual one, and some of the others."""
    others: list[Settled] = [one for one in STRATEGIES if one != ISL]
    order = [others[k] for k in dice.permutation(len(others))[: count - 1]]
    return list(schedules_of(program.scop, _SECONDS, (ISL, *order)).values())


def _played(program: Program, dice: np.random.Generator) -> Iterator[Schedule]:
    """Yield schedules that episodes lead to."""
    task = Task(program.scop, TaskOptions())
    for _ in range(_POOL):
        choose = policy(POLICIES[int(dice.integers(len(POLICIES)))])
        own = np.random.default_rng(int(dice.integers(2**62)))
        try:
            found = schedule_of(play(task.start(), choose, own))
        except PolygymError:
            continue
        if isinstance(found, Schedule):
            yield found
