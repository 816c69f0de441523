"""Columns of many nests at once are those of one nest after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping, parse_mapping
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.legality import LegalSchedule
from polygym.cost import candidate
from polygym.cost.candidate import Features, features, features_of_all
from polygym.cost.columns import KNOWLEDGE, RELATIONS, Touched
from polygym.cost.nest_columns import columns
from polygym.cost.reach import reach
from polygym.errors import LimitError
from polygym.search.explore.neighbourhood import changed
from tests.cost.played import program, sizes_of
from tests.oracles.nest_columns import knowledge, relations

MACHINE = Machine(vector_bits=512, registers=32)
PROGRAMS = ("gemm", "correlation", "fdtd-2d", "lu", "durbin", "six_deep", "periodic", "random:12")


def mappings(seed: int, count: int) -> list[Mapping]:
    """Return mappings of one and of two threads that differ by little from those before."""
    dice = np.random.default_rng(seed)
    found = [
        parse_mapping("sequential"),
        parse_mapping("tile=4x8x4 unroll_jam=2 vector_bits=256 vector_copies=3"),
        replace(DEFAULT, threads=2),
    ]
    while len(found) < count:
        found.append(changed(found[int(dice.integers(len(found)))], dice))
    return found


def of_all(name: str, *, by_isl: bool) -> list[tuple[Mapping, Features]]:
    """Return the features of a program's order, or isl's, under many mappings."""
    scop = program(name)
    legal = LegalSchedule(scop, isl_schedule(scop) if by_isl else original(scop))
    tried = mappings(len(name), 24)
    found = features_of_all(legal, tried, sizes_of(scop, 90), MACHINE)
    assert not any(isinstance(one, LimitError) for one in found)
    return [(m, one) for m, one in zip(tried, found, strict=True) if isinstance(one, Features)]


@pytest.mark.parametrize("by_isl", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_nests_at_once(name: str, by_isl: bool) -> None:
    """Number for number what loops and references say one by one."""
    seen: set[tuple[bool, ...]] = set()
    for mapping, found in of_all(name, by_isl=by_isl):
        for nest, known in zip(found.nests, found.knowledge, strict=True):
            truth = knowledge(Touched.of(nest), mapping.threads)
            np.testing.assert_allclose(known, truth, rtol=1e-9, atol=1e-9)
            named = dict(zip(KNOWLEDGE, known.tolist(), strict=True))
            seen.add((named["lanes"] > 1, named["copies"] > 1, named["threads"] > 1))
    assert len(seen) >= 3  # the mappings do differ in what they do


@pytest.mark.parametrize("name", PROGRAMS)
def test_relations_of_many_nests(name: str) -> None:
    scop = program(name)
    works = reach(scop, sizes_of(scop, 90))
    for _, found in of_all(name, by_isl=False):
        every = range(len(works))
        known, related = columns(works, every, found.nests, [2] * len(works))
        assert known.shape == (len(works), len(KNOWLEDGE))
        assert related.shape == (len(works), len(RELATIONS))
        for row, nest in zip(related, found.nests, strict=True):
            np.testing.assert_allclose(row, relations(Touched.of(nest)), rtol=1e-9, atol=1e-9)


def test_the_example() -> None:
    """Two vectors of eight along j and four copies of i: B twice, A four times, and alpha once."""
    scop = program("gemm")
    legal = LegalSchedule(scop, isl_schedule(scop))
    mapping = parse_mapping("tile=off unroll_jam=4 vector_bits=512 vector_copies=2")
    found = features(legal, mapping, dict.fromkeys(("ni", "nj", "nk"), 1024), MACHINE)
    work = max(found.nests, key=lambda one: one.work.instances).work
    place = [one.work.name for one in found.nests].index(work.name)
    known = dict(zip(KNOWLEDGE, found.knowledge[place].tolist(), strict=True))
    assert known["held"] == 1.0
    assert known["memory_per_operation"] * work.operations == 7 / (2 * 4)
    assert known["broadcasts_per_operation"] * work.operations == 5 / (2 * 4)
    assert known["chain"] == 4.0 / 8


def test_one_by_one_and_together() -> None:
    """The order in which candidates are looked at, and with whom, changes nothing."""
    scop = program("fdtd-2d")
    tried = mappings(5, 16)
    sizes = sizes_of(scop, 70)
    together = features_of_all(LegalSchedule(scop, isl_schedule(scop)), tried, sizes, MACHINE)
    for mapping, one in reversed(list(zip(tried, together, strict=True))):
        for remembered in (candidate._known, candidate._memory):
            remembered.cache_clear()
        alone = features(LegalSchedule(scop, isl_schedule(scop)), mapping, sizes, MACHINE)
        assert isinstance(one, Features)
        assert alone is not one
        np.testing.assert_allclose(one.vector, alone.vector, rtol=1e-12, atol=1e-12)
        assert one.planned == alone.planned


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that has forgotten what it knew of nests works it out again."""
    scop = program("correlation")
    legal, sizes, tried = LegalSchedule(scop, original(scop)), sizes_of(scop, 80), mappings(3, 12)
    whole = features_of_all(legal, tried, sizes, MACHINE)
    candidate._known.cache_clear()
    monkeypatch.setattr(candidate, "_MOST", 1)
    for mapping, one in zip(tried, whole, strict=True):
        alone = features(legal, mapping, sizes, MACHINE)
        assert isinstance(one, Features)
        np.testing.assert_allclose(one.vector, alone.vector, rtol=1e-12, atol=1e-12)
