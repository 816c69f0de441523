"""Strategies: values that make sense, nothing twice, and children better than random ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.strategy import ORIGINAL, Fusion, IslOptions
from polygym.programs import load_program, load_scop
from polygym.search import SearchPlan, tune
from polygym.search.strategies.candidates import (
    ISL_STRATEGIES,
    Candidate,
    EpisodeSchedule,
    ScheduleSource,
    SearchSpace,
    schedules_of,
)
from polygym.search.strategies.random_search import GeneticSearch, RandomSearch
from polygym.search.strategies.registry import StrategyContext, make_strategy

START = replace(DEFAULT_MAPPING, threads=2)
GENES = SearchSpace.for_program(
    load_scop("tc:matmul"), ISL_STRATEGIES, {"M": 26, "K": 100, "N": 7}, START
)


def fitness(candidate: Candidate) -> float:
    """Return a made-up speedup, best where several genes agree with one point."""
    mapping = candidate.mapping
    score = 1.0 + (candidate.source == IslOptions(Fusion.MINIMUM))
    score += mapping.unroll_jam == 4
    score += mapping.vector_copies == 2
    score += (not mapping.pack) + mapping.scalar_replacement
    score += sum(size == 13 for size in (mapping.tile or ())[:2])
    return score


def run(kind: type[RandomSearch], seed: int, generations: int = 8) -> list[Candidate]:
    search = kind(GENES, [Candidate(ORIGINAL, START)], np.random.default_rng(seed))
    tried = []
    for _ in range(generations):
        for candidate in search.ask(20):
            search.tell(candidate, fitness(candidate))
            tried.append(candidate)
    return tried


def test_tiles_leave_no_small_rest() -> None:
    assert {26, 13, 9, 7, 100, 50, 34, 25, 4, 3, 2, 1, 64} <= set(GENES.tiles)
    assert max(GENES.tiles) == 100


def by_policy(name: str, known: dict[ScheduleSource, Schedule], seed: int = 0) -> RandomSearch:
    scop = load_scop("mvt")
    known |= schedules_of(scop)
    begin = [Candidate(way, START) for way in known]
    return make_strategy(
        f"policy:{name}", StrategyContext(scop, {"n": 40}, START, known, begin, seed)
    )


def test_a_policy_finds_schedules_and_changes_the_mappings_of_the_best() -> None:
    known: dict[ScheduleSource, Schedule] = {}
    search = by_policy("bias_coeff_0", known)
    tried = search.ask(20)
    assert tried[0] == Candidate(IslOptions(), START)
    assert len({known[trial.source] for trial in tried}) == len(tried) == 20
    assert all(is_legal(load_scop("mvt"), schedule) for schedule in known.values())
    for place, candidate in enumerate(tried):
        search.tell(candidate, 1.0 + place)
    more = search.ask(30)
    assert not set(more) & set(tried)
    changed = [trial for trial in more if trial.mapping != START]
    assert {trial.source for trial in changed} <= {trial.source for trial in tried[-4:]}
    assert 5 < len(changed) < 25
    assert next(str(trial.source) for trial in more if trial.mapping == START).startswith(
        "bias_coeff_0#"
    )
    again: dict[ScheduleSource, Schedule] = {}
    assert by_policy("bias_coeff_0", again).ask(20) == tried


def test_a_policy_without_dice_finds_one_schedule() -> None:
    known: dict[ScheduleSource, Schedule] = {}
    search = by_policy("earliest", known)
    candidates = search.ask(12)
    played = [
        candidate for candidate in candidates if isinstance(candidate.source, EpisodeSchedule)
    ]
    assert len(played) <= 1
    assert len(candidates) == 12  # the rest are random


@pytest.mark.parametrize("kind", [GeneticSearch, RandomSearch])
def test_nothing_is_tried_twice_and_seeds_come_first(kind: type[RandomSearch]) -> None:
    tried = run(kind, 0)
    assert len(tried) == len(set(tried)) > 100
    assert tried[0] == Candidate(ORIGINAL, START)
    assert tried == run(kind, 0) != run(kind, 1)


def test_mappings_are_ones_that_print_and_parse() -> None:
    for candidate in run(RandomSearch, 3):
        assert isinstance(candidate.mapping, Mapping)
        assert parse_mapping(str(candidate.mapping)) == candidate.mapping
        assert candidate.mapping.threads == 2
        assert GENES.chosen(GENES.values(candidate)) == candidate


def test_children_are_better_than_dice() -> None:
    def best(kind: type[RandomSearch]) -> float:
        return float(np.mean([max(map(fitness, run(kind, seed))) for seed in range(10)]))

    assert best(GeneticSearch) > best(RandomSearch) + 0.3


def test_children_have_their_parents_genes() -> None:
    search = GeneticSearch(GENES, [], np.random.default_rng(0))
    parents = [GENES.sample(np.random.default_rng(seed)) for seed in range(3)]
    for candidate in parents:
        search.tell(candidate, 1.0)
    search.space = replace(GENES)
    values = [GENES.values(parent) for parent in parents]
    inherited = total = 0
    for child in search.ask(30):
        for name, value in GENES.values(child).items():
            total += 1
            inherited += value in [parent[name] for parent in values]
    assert inherited / total > 0.9


def test_failures_are_no_parents() -> None:
    search = GeneticSearch(GENES, [], np.random.default_rng(0))
    for seed in range(10):
        search.tell(GENES.sample(np.random.default_rng(seed)), 0.0)
    assert len(search.ask(5)) == 5


def test_schedules_count_once() -> None:
    scop = load_scop("tc:softmax")
    schedules = schedules_of(scop)
    assert len(set(schedules.values())) == len(schedules) >= 2
    assert all(is_legal(scop, schedule) for schedule in schedules.values())


def test_ctrl_c_while_candidates_are_chosen_keeps_what_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Choosing takes a model some seconds, so the signal may come there as well."""
    is_allowed = False

    @contextmanager
    def waiting() -> Iterator[None]:
        nonlocal is_allowed
        is_allowed = True
        try:
            yield
        finally:
            is_allowed = False

    whole = RandomSearch.ask

    def generation(self: RandomSearch, count: int) -> list[Candidate]:
        assert is_allowed
        if self.speedups:
            raise KeyboardInterrupt
        return whole(self, count)

    monkeypatch.setattr(RandomSearch, "ask", generation)
    program = load_program("mvt", dataset=Dataset.MINI)
    result = tune(program, START, SearchPlan(9, 3, "random"), waiting=waiting)
    assert result.interrupted
    assert result.tried >= 3
    assert result.best.is_ok
