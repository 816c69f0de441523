"""Sampling of a visit's candidates: usual ones, random ones, neighbours of good ones.

Of those, the first few are what is always worth knowing: the order of the text as it is and under
the default mapping, and isl's schedules under it. Then random search: schedules that policies of
the gym construct, or isl's, under the default mapping or any. From a third of the way on, every
second one is a change of one of the best four so far: another entry of its mapping, or its mapping
under another schedule.

A visit that stays *near* is of what somebody chooses among who begins with isl's schedule and the
default mapping (:mod:`polygym.mdp.editing`): all of isl's schedules and the order of the text
under that mapping, then, half and half, legal edits of the best so far under theirs, and changes of
their mappings, with ideas before random search.

Everything follows from the seed and from what was measured before, but for schedules that isl does
not find in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from polygym.errors import PolygymError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ISL, FixedStrategy
from polygym.programs import Program
from polygym.search.strategies.candidates import ISL_STRATEGIES, SearchSpace, schedules_of
from polygym.search.strategies.neighborhood import initial_variants, mutate_mapping, sample_parent
from polygym.search.strategies.samplers import schedule_or_reason
from polygym.search.strategies.schedule_edits import edit_schedule

POLICIES = ("bias_coeff_0", "bias_coeff_0", "uniform", "bias_select_dep", "earliest")
_STRATEGIES = 5
_NEAR_FROM = 1 / 3
_DEFAULT = 0.4
_POOL = 24
_SECONDS = 20.0
_ATTEMPTS = 20


@dataclass(slots=True)
class CandidateSampler:
    """The candidates of a visit, one after the other; ``near`` says that it stays near."""

    program: Program
    start: Mapping
    genes: SearchSpace
    rng: np.random.Generator
    count: int
    pool: list[Schedule] = field(default_factory=list)
    speedups: dict[tuple[Schedule, Mapping], float] = field(default_factory=dict)
    ready: list[tuple[Schedule, Mapping]] = field(default_factory=list)
    near: bool = False

    @staticmethod
    def of(
        program: Program,
        start: Mapping,
        rng: np.random.Generator,
        count: int,
        *,
        near: bool = False,
    ) -> CandidateSampler:
        """Return the candidates of a program; constructing its schedules takes some seconds."""
        genes = SearchSpace.for_program(program.scop, (ISL,), dict(program.parameters), start)
        sampler = CandidateSampler(program, start, genes, rng, count, near=near)
        isl = _isl_schedules(program, rng, len(ISL_STRATEGIES) if near else _STRATEGIES)
        first = original_schedule(program.scop)
        usual = [(first, SEQUENTIAL_MAPPING), *((schedule, start) for schedule in (first, *isl))]
        sampler.ready = list(dict.fromkeys(usual))[:count]
        played = () if near else _episode_schedules(program, rng)
        sampler.pool = list(dict.fromkeys([first, *isl, *played]))
        return sampler

    def ask(self, size: int) -> list[tuple[Schedule, Mapping]]:
        """Return the next few; fewer where there are no more."""
        size = min(size, self.count - len(self.speedups))
        fresh = self.ready[:size]
        del self.ready[:size]
        tries = 0
        while len(fresh) < size and tries < _ATTEMPTS * size:
            tries += 1
            choice = self._propose()
            if choice is not None and choice not in self.speedups and choice not in fresh:
                fresh.append(choice)
        return fresh

    def tell(self, candidate: tuple[Schedule, Mapping], speedup: float) -> None:
        """Take note of what became of one."""
        self.speedups[candidate] = speedup

    def _propose(self) -> tuple[Schedule, Mapping] | None:
        """Return a further candidate; None where the random choices lead to none."""
        if not self.near:
            return self._mutate_good() if self._is_near() else self._sample_any()
        schedule, mapping = self._sample_good()
        if self.rng.random() < 0.5:
            result = edit_schedule(schedule, self.program.scop, self.rng)
            return None if result is None else (result, mapping)
        if mapping == self.start and self.rng.random() < 0.5:
            some = initial_variants(self.start)
            return schedule, some[int(self.rng.integers(len(some)))]
        return schedule, mutate_mapping(mapping, self.rng)

    def _sample_good(self) -> tuple[Schedule, Mapping]:
        """Return one of the best so far that runs in as many threads as there are."""
        ranked = sorted(self.speedups, key=lambda pair: -self.speedups[pair])
        ranked = [pair for pair in ranked if pair[1].threads == self.start.threads]
        if not ranked:
            return self.pool[0], self.start
        return ranked[sample_parent(len(ranked), self.rng)]

    def _is_near(self) -> bool:
        return len(self.speedups) > _NEAR_FROM * self.count and bool(self.rng.random() < 0.5)

    def _mapping(self) -> Mapping:
        if self.rng.random() < _DEFAULT:
            return self.start
        return self.genes.sample(self.rng).mapping

    def _sample_any(self) -> tuple[Schedule, Mapping]:
        schedule = self.pool[int(self.rng.integers(len(self.pool)))]
        return schedule, self._mapping()

    def _mutate_good(self) -> tuple[Schedule, Mapping]:
        """Return a change of one of the best."""
        ranked = sorted(self.speedups, key=lambda pair: -self.speedups[pair])
        schedule, mapping = ranked[sample_parent(len(ranked), self.rng)]
        if self.rng.random() < 0.25:
            return self.pool[int(self.rng.integers(len(self.pool)))], mapping
        kept = replace(mapping, threads=self.start.threads, reassociate=self.start.reassociate)
        return schedule, mutate_mapping(kept, self.rng)


def _isl_schedules(program: Program, rng: np.random.Generator, count: int) -> list[Schedule]:
    """Return schedules of isl's: the usual one, and some of the others."""
    others: list[FixedStrategy] = [strategy for strategy in ISL_STRATEGIES if strategy != ISL]
    order = [others[k] for k in rng.permutation(len(others))[: count - 1]]
    return list(schedules_of(program.scop, _SECONDS, (ISL, *order)).values())


def _episode_schedules(program: Program, rng: np.random.Generator) -> Iterator[Schedule]:
    """Yield schedules that episodes lead to."""
    task = Task(program.scop, TaskOptions())
    for _ in range(_POOL):
        choose = policy_named(POLICIES[int(rng.integers(len(POLICIES)))])
        own = np.random.default_rng(int(rng.integers(2**62)))
        try:
            schedule = schedule_or_reason(play_episode(task.start(), choose, own))
        except PolygymError:
            continue
        if isinstance(schedule, Schedule):
            yield schedule
