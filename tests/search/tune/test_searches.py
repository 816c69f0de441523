"""Who chooses: values that make sense, nothing twice, and children better than dice."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from polybench import Dataset
from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping, parse_mapping
from polygym.compiler.poly.legality import is_legal
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL, Fusion, IslOptions
from polygym.programs import load_program, load_scop
from polygym.search.tune.candidates import STRATEGIES, Candidate, Genes, Played, Way, schedules_of
from polygym.search.tune.dice import Random
from polygym.search.tune.searches import SEARCHES, Genetic, make_search
from polygym.search.tune.tuner import Plan, tune

START = replace(DEFAULT, threads=2)
GENES = Genes.of(load_scop("tc:matmul"), STRATEGIES, {"M": 26, "K": 100, "N": 7}, START)


def fitness(candidate: Candidate) -> float:
    """Return a made-up speedup, best where several genes agree with one point."""
    mapping = candidate.mapping
    score = 1.0 + (candidate.strategy == IslOptions(Fusion.MINIMUM))
    score += mapping.unroll_jam == 4
    score += mapping.vector_copies == 2
    score += (not mapping.pack) + mapping.registers
    score += sum(size == 13 for size in (mapping.tile or ())[:2])
    return score


def run(kind: type[Random], seed: int, generations: int = 8) -> list[Candidate]:
    search = kind(GENES, [Candidate(ORIGINAL, START)], np.random.default_rng(seed))
    tried = []
    for _ in range(generations):
        for one in search.generation(20):
            search.learn(one, fitness(one))
            tried.append(one)
    return tried


def test_tiles_leave_no_small_rest() -> None:
    assert {26, 13, 9, 7, 100, 50, 34, 25, 4, 3, 2, 1, 64} <= set(GENES.tiles)
    assert max(GENES.tiles) == 100


def by_policy(name: str, known: dict[Way, Schedule], seed: int = 0) -> Random:
    scop = load_scop("mvt")
    known |= schedules_of(scop)
    genes = Genes.of(scop, tuple(known), {"n": 40}, START)
    begin = [Candidate(way, START) for way in known]
    return make_search(f"policy:{name}", scop, genes, begin, seed, known, {"n": 40})


def test_a_policy_finds_schedules_and_changes_the_mappings_of_the_best() -> None:
    known: dict[Way, Schedule] = {}
    search = by_policy("bias_coeff_0", known)
    tried = search.generation(20)
    assert tried[0] == Candidate(IslOptions(), START)
    assert len({known[one.strategy] for one in tried}) == len(tried) == 20
    assert all(is_legal(load_scop("mvt"), schedule) for schedule in known.values())
    for place, one in enumerate(tried):
        search.learn(one, 1.0 + place)
    more = search.generation(30)
    assert not set(more) & set(tried)
    changed = [one for one in more if one.mapping != START]
    assert {one.strategy for one in changed} <= {one.strategy for one in tried[-4:]}
    assert 5 < len(changed) < 25
    assert next(str(one.strategy) for one in more if one.mapping == START).startswith(
        "bias_coeff_0#"
    )
    again: dict[Way, Schedule] = {}
    assert by_policy("bias_coeff_0", again).generation(20) == tried


def test_a_policy_without_dice_finds_one_schedule() -> None:
    known: dict[Way, Schedule] = {}
    search = by_policy("earliest", known)
    found = search.generation(12)
    played = [one for one in found if isinstance(one.strategy, Played)]
    assert len(played) <= 1
    assert len(found) == 12  # the rest are dice


@pytest.mark.parametrize("kind", SEARCHES.values())
def test_nothing_is_tried_twice_and_seeds_come_first(kind: type[Random]) -> None:
    tried = run(kind, 0)
    assert len(tried) == len(set(tried)) > 100
    assert tried[0] == Candidate(ORIGINAL, START)
    assert tried == run(kind, 0) != run(kind, 1)


def test_mappings_are_ones_that_print_and_parse() -> None:
    for one in run(Random, 3):
        assert isinstance(one.mapping, Mapping)
        assert parse_mapping(str(one.mapping)) == one.mapping
        assert one.mapping.threads == 2
        assert GENES.chosen(GENES.values(one)) == one


def test_children_are_better_than_dice() -> None:
    def best(kind: type[Random]) -> float:
        return float(np.mean([max(map(fitness, run(kind, seed))) for seed in range(10)]))

    assert best(Genetic) > best(Random) + 0.3


def test_children_have_their_parents_genes() -> None:
    search = Genetic(GENES, [], np.random.default_rng(0))
    parents = [GENES.random(np.random.default_rng(seed)) for seed in range(3)]
    for one in parents:
        search.learn(one, 1.0)
    search.genes = replace(GENES)
    values = [GENES.values(one) for one in parents]
    inherited = total = 0
    for child in search.generation(30):
        for name, value in GENES.values(child).items():
            total += 1
            inherited += value in [parent[name] for parent in values]
    assert inherited / total > 0.9


def test_failures_are_no_parents() -> None:
    search = Genetic(GENES, [], np.random.default_rng(0))
    for seed in range(10):
        search.learn(GENES.random(np.random.default_rng(seed)), 0.0)
    assert len(search.generation(5)) == 5


def test_schedules_count_once() -> None:
    scop = load_scop("tc:softmax")
    found = schedules_of(scop)
    assert len(set(found.values())) == len(found) >= 2
    assert all(is_legal(scop, schedule) for schedule in found.values())


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

    whole = Random.generation

    def generation(self: Random, count: int) -> list[Candidate]:
        assert is_allowed
        if self.found:
            raise KeyboardInterrupt
        return whole(self, count)

    monkeypatch.setattr(Random, "generation", generation)
    program = load_program("mvt", dataset=Dataset.MINI)
    found = tune(program, START, Plan(3, 3, "random"), waiting=waiting)
    assert found.interrupted
    assert found.tried >= 3
    assert found.best.is_ok
