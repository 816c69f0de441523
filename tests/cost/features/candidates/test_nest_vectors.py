"""Columns of many nests at once are those of one nest after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.cost.features.candidates import candidate_vector
from polygym.cost.features.candidates.candidate_vector import (
    CandidateFeatures,
    FeatureExtractor,
    candidate_features,
)
from polygym.cost.features.candidates.nest_vectors import (
    NEST_COLUMNS,
    StatementArrays,
    nest_columns,
)
from polygym.cost.features.loops.column_names import RELATION_COLUMNS, NestFootprint
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.errors import LimitError
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.search.strategies.neighborhood import mutate_mapping
from tests.cost.features.sample_schedules import program, sizes_of
from tests.oracles.nest_columns import knowledge, relations

MACHINE = Machine(vector_bits=512, registers=32)
PROGRAMS = ("gemm", "correlation", "fdtd-2d", "lu", "durbin", "six_deep", "periodic", "random:12")


def mappings(seed: int, count: int) -> list[Mapping]:
    """Return mappings of one and of two threads that differ by little from those before."""
    rng = np.random.default_rng(seed)
    result = [
        parse_mapping("sequential"),
        parse_mapping("tile=4x8x4 unroll_jam=2 vector_bits=256 vector_copies=3"),
        replace(DEFAULT_MAPPING, threads=2),
    ]
    while len(result) < count:
        result.append(mutate_mapping(result[int(rng.integers(len(result)))], rng))
    return result


def all_of(candidates: FeatureExtractor, tried: list[Mapping]) -> list[CandidateFeatures]:
    """Return the features under all mappings, of which none is out of reach."""
    features = [
        feature for feature in candidates.features(tried) if isinstance(feature, CandidateFeatures)
    ]
    assert len(features) == len(tried)
    return features


def of_all(name: str, *, by_isl: bool) -> list[tuple[Mapping, CandidateFeatures]]:
    """Return the features of a program's order, or isl's, under many mappings."""
    scop = program(name)
    legal = LegalSchedule(scop, isl_schedule(scop) if by_isl else original_schedule(scop))
    tried = mappings(len(name), 24)
    features = all_of(FeatureExtractor(legal, sizes_of(scop, 90), MACHINE), tried)
    return list(zip(tried, features, strict=True))


@pytest.mark.rotates
@pytest.mark.parametrize("by_isl", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_nests_at_once(name: str, by_isl: bool) -> None:
    """Number for number what loops and references say one by one."""
    seen: set[tuple[bool, ...]] = set()
    for mapping, features in of_all(name, by_isl=by_isl):
        for nest, known in zip(features.nests, features.nest_columns, strict=True):
            truth = knowledge(NestFootprint.of(nest), mapping.threads)
            np.testing.assert_allclose(known, truth, rtol=1e-9, atol=1e-9)
            named = dict(zip(NEST_COLUMNS, known.tolist(), strict=True))
            seen.add((named["lanes"] > 1, named["copies"] > 1, named["threads"] > 1))
    assert len(seen) >= 3  # the mappings do differ in what they do


@pytest.mark.parametrize("name", ["cholesky", "syr2k", "random:42"])
def test_packs_of_many_nests(name: str) -> None:
    """The same where some read from copies, of tiles or of whole arrays, and others do not."""
    packed = set()
    for mapping, features in of_all(name, by_isl=True):
        for nest, known in zip(features.nests, features.nest_columns, strict=True):
            truth = knowledge(NestFootprint.of(nest), mapping.threads)
            np.testing.assert_allclose(known, truth, rtol=1e-9, atol=1e-9)
            named = dict(zip(NEST_COLUMNS, known.tolist(), strict=True))
            assert (named["packed_per_operation"] > 0) == (named["copied_per_operation"] > 0)
            packed.add(named["packed_per_operation"] > 0)
    assert packed == {False, True}


@pytest.mark.parametrize("name", PROGRAMS)
def test_relations_of_many_nests(name: str) -> None:
    scop = program(name)
    works = work_of_statements(scop, sizes_of(scop, 90))
    for _, features in of_all(name, by_isl=False):
        known, related = nest_columns(StatementArrays.of(works), features.nests, [2] * len(works))
        assert known.shape == (len(works), len(NEST_COLUMNS))
        assert related.shape == (len(works), len(RELATION_COLUMNS))
        for row, nest in zip(related, features.nests, strict=True):
            np.testing.assert_allclose(row, relations(NestFootprint.of(nest)), rtol=1e-9, atol=1e-9)


def test_orders_are_seen_and_counted() -> None:
    """Other loops, other features; and number for number what loops and references say."""
    for name, orders in (("gemm", ("off", "2", "1", "3x2")), ("fdtd-2d", ("off", "2", "1"))):
        scop = program(name)
        legal = LegalSchedule(scop, isl_schedule(scop))
        tried = [parse_mapping(f"threads=2 order={order}") for order in orders]
        features = all_of(FeatureExtractor(legal, sizes_of(scop, 90), MACHINE), tried)
        assert (
            len({feature.vector.tobytes() for feature in features})
            == len(
                {
                    plan_tree(build_tree(legal), legal, candidate, MACHINE, sizes_of(scop, 90))
                    for candidate in tried
                }
            )
            > 2
        )
        for mapping, feature in zip(tried, features, strict=True):
            for nest, known in zip(feature.nests, feature.nest_columns, strict=True):
                truth = knowledge(NestFootprint.of(nest), mapping.threads)
                np.testing.assert_allclose(known, truth, rtol=1e-9, atol=1e-9)


def test_the_example() -> None:
    """Two vectors of eight along j and four copies of i: B twice, A four times, and alpha once."""
    scop = program("gemm")
    legal = LegalSchedule(scop, isl_schedule(scop))
    mapping = parse_mapping("tile=off unroll_jam=4 vector_bits=512 vector_copies=2")
    features = candidate_features(legal, mapping, dict.fromkeys(("ni", "nj", "nk"), 1024), MACHINE)
    work = max(features.nests, key=lambda statement_nest: statement_nest.work.instances).work
    place = [nest.work.name for nest in features.nests].index(work.name)
    known = dict(zip(NEST_COLUMNS, features.nest_columns[place].tolist(), strict=True))
    assert known["held"] == 1.0
    assert known["memory_per_operation"] * work.operations == 7 / (2 * 4)
    assert known["broadcasts_per_operation"] * work.operations == 5 / (2 * 4)
    assert known["chain"] * work.operations == 4.0 / 8


def known_of_gemm(mapping: str, size: int) -> dict[str, float]:
    """Return what is known of gemm's update in its own order, of square matrices."""
    scop = program("gemm")
    legal = LegalSchedule(scop, original_schedule(scop))
    sizes = dict.fromkeys(("ni", "nj", "nk"), size)
    features = candidate_features(legal, parse_mapping(mapping), sizes, MACHINE)
    work = max(features.nests, key=lambda statement_nest: statement_nest.work.instances).work
    place = [nest.work.name for nest in features.nests].index(work.name)
    return dict(zip(NEST_COLUMNS, features.nest_columns[place].tolist(), strict=True))


def test_fewer_iterations_than_threads() -> None:
    """Three rows of three are done by three threads of eight, and by two in two turns."""
    alone = 2 ** known_of_gemm("sequential", 3)["cycles"] - 1
    for threads, busy, uneven in ((8, 3.0, 1.0), (2, 2.0, 4 / 3)):
        known = known_of_gemm(f"sequential parallel=dynamic threads={threads}", 3)
        assert (known["threads"], known["imbalance"]) == (busy, pytest.approx(uneven))
        assert 2 ** known["cycles"] - 1 == pytest.approx(alone / busy * uneven)


def test_a_sum_waits_for_its_terms_and_not_for_its_operations() -> None:
    """Of sixteen terms of a dot product, four operations each, every one waits four cycles."""
    scop = program("gemver")
    legal, sizes = LegalSchedule(scop, original_schedule(scop)), sizes_of(scop, 16)
    features = candidate_features(legal, parse_mapping("sequential"), sizes, MACHINE)
    sums = [
        dict(zip(NEST_COLUMNS, row.tolist(), strict=True)) | {"each": float(nest.work.operations)}
        for nest, row in zip(features.nests, features.nest_columns, strict=True)
        if nest.work.is_reduction
    ]
    waiting = [sum_ for sum_ in sums if sum_["chain"] > 0]
    assert waiting
    for dot in waiting:
        assert dot["chain"] * dot["each"] == 4.0
        instances, cycles = 2 ** dot["instances"] - 1, 2 ** dot["cycles"] - 1
        assert cycles >= 4.0 * instances * 0.999
        assert (
            cycles
            <= instances * dot["each"] * max(dot["memory_per_operation"], 4 / dot["each"]) * 1.001
        )


# Recurrence lanes found with vectors were planned for a mapping without any.
WITHOUT_VECTORS = ("threads=2 scalar_replacement=off", "sequential unroll_jam=3 pack=on")


@pytest.mark.parametrize("name", ["2mm", "correlation", "fdtd-2d", "random:12"])
def test_one_by_one_and_together(name: str) -> None:
    """With whom a candidate is looked at, and what is remembered, changes no bit."""
    scop = program(name)
    legal, sizes, tried = (
        LegalSchedule(scop, isl_schedule(scop)),
        sizes_of(scop, 70),
        [*mappings(5, 20), *map(parse_mapping, WITHOUT_VECTORS)],
    )
    tree, rest = build_tree(legal), tried[::-1]
    together = all_of(FeatureExtractor(legal, sizes, MACHINE), tried)
    again = dict(zip(rest, all_of(FeatureExtractor(legal, sizes, MACHINE), rest), strict=True))
    for mapping, features in zip(tried, together, strict=True):
        candidate_vector._plan_memo.cache_clear()
        (alone,) = all_of(FeatureExtractor(legal, sizes, MACHINE), [mapping])
        for other in (alone, again[mapping]):
            np.testing.assert_array_equal(features.vector, other.vector)
            np.testing.assert_array_equal(features.nest_columns, other.nest_columns)
        assert features.tree == plan_tree(tree, legal, mapping, MACHINE, sizes)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that has forgotten what it knew of nests works it out again."""
    scop = program("correlation")
    legal, sizes, tried = (
        LegalSchedule(scop, original_schedule(scop)),
        sizes_of(scop, 80),
        mappings(3, 12),
    )
    whole = all_of(FeatureExtractor(legal, sizes, MACHINE), tried)
    monkeypatch.setattr(candidate_vector, "_MAX_NESTS", 1)
    monkeypatch.setattr(candidate_vector, "_MAX_PLANS", 2)
    known = FeatureExtractor(legal, sizes, MACHINE)
    for mapping, features in zip(tried, whole, strict=True):
        (alone,) = all_of(known, [mapping])
        np.testing.assert_array_equal(features.vector, alone.vector)
        assert len(known._columns) <= len(scop.statements)
        assert len(known._answers) <= 2


def test_what_is_out_of_reach_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error stands in the place of its mapping alone, and is raised where one is asked for."""
    scop = program("gemm")
    legal, sizes, tried = (
        LegalSchedule(scop, original_schedule(scop)),
        sizes_of(scop, 80),
        mappings(1, 6),
    )

    def fails(tree: Tree, legal: LegalSchedule, mapping: Mapping, *rest: Any) -> Tree:
        if mapping.tile == tried[1].tile:
            raise LimitError("planning: too long")
        return plan_tree(tree, legal, mapping, *rest)

    monkeypatch.setattr(candidate_vector, "plan_tree", fails)
    features = FeatureExtractor(legal, sizes, MACHINE).features(tried)
    lost = [isinstance(feature, LimitError) for feature in features]
    assert lost == [mapping.tile == tried[1].tile for mapping in tried]
    assert True in lost
    assert False in lost
    candidate_vector._feature_extractor.cache_clear()
    with pytest.raises(LimitError, match="too long"):
        candidate_features(legal, tried[1], sizes, MACHINE)


def test_when_it_is_over_no_more_are_looked_at() -> None:
    scop = program("gemm")
    known = FeatureExtractor(
        LegalSchedule(scop, original_schedule(scop)), sizes_of(scop, 80), MACHINE
    )
    said = iter([False, False, True])
    assert len(known.features(mappings(1, 6), lambda: next(said))) == 2
    assert known.features([]) == []
