"""Features of rows alone: against all instances one by one, and against what is planned slowly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.cost import SCHEDULE_FEATURE_NAMES, ProgramFeatures, schedule_features
from polygym.cost.features.schedules.ordering import (
    build_dependence_forms,
    schedule_ordering,
    schedule_points,
)
from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.poly.schedule import Schedule, ScheduleRow, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.properties import schedule_properties
from polygym.programs.generate import generate_source
from tests.cost.features.sample_schedules import KERNELS, program, schedules, sizes_of
from tests.oracles.instances import pairs, time_vector

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def all_pairs(scop: Scop) -> Iterator[tuple[int, str, str, dict[str, int], list[Pair]]]:
    """Yield the pairs of every dependence at some sizes, each parameter small or not."""
    names = [p.name for p in scop.parameters]
    for values in product((1, 2, 5), repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        if isl.Set(scop.context).intersect_params(fixed(sizes)).is_empty():
            continue
        for number, dependence in enumerate(dependences(scop)):
            unordered = pairs(isl.Map(dependence.relation), sizes)
            yield number, dependence.source, dependence.sink, sizes, sorted(unordered)


def fixed(sizes: dict[str, int]) -> isl.Set:
    names = ", ".join(sizes)
    return isl.Set(
        f"[{names}] -> {{ : {' and '.join(f'{k} = {v}' for k, v in sizes.items()) or 'true'} }}"
    )


@pytest.mark.parametrize("name", ["y_ax", "triangular_guarded", "gemm", "jacobi-1d", "trmm", "mvt"])
def test_all_pairs_one_by_one(name: str) -> None:
    """Which dependences each row carries and which rows are parallel, by going through all pairs.

    What holds for all sizes holds at these; the other way round there are enough of them.
    """
    scop = program(name)
    known, at_all = build_dependence_forms(scop), list(all_pairs(scop))
    for schedule in schedules(name):
        order = schedule_ordering(known, schedule_points(known, schedule))
        assert order.is_legal
        assert len(order.carried) == len(dependences(scop))
        orders: dict[int, set[tuple[str, str]]] = defaultdict(set)
        decided: dict[int, set[int]] = defaultdict(set)
        for number, source, sink, sizes, linked in at_all:
            for first, second in linked:
                before = time_vector(schedule, (source, first), sizes)
                after = time_vector(schedule, (sink, second), sizes)
                row = next(k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
                assert before < after
                decided[number].add(row)
                orders[row].add((source, sink))
        assert list(order.carried) == [max(decided[k]) for k in range(len(order.carried))]
        for name_, free in zip(known.names, order.statements, strict=True):
            for row, is_parallel in enumerate(free.parallel):
                group = {
                    other
                    for other, its in zip(known.names, order.statements, strict=True)
                    if together(schedule, name_, other, row) and its.group[row] == free.group[row]
                }
                assert free.group[row] == len(group)
                inside = any(a in group and b in group for a, b in orders[row])
                assert is_parallel == (not inside), (name_, row)


def together(schedule: Schedule, one: str, other: str, row: int) -> bool:
    """Whether statements have not parted before a row: no group had different plain numbers."""
    groups = [[part.statement for part in schedule.statements]]
    for k in range(row):
        parted: list[list[str]] = []
        for group in groups:
            rows = {name: schedule.rows(name)[k] for name in group}
            if all(schedule_row.is_constant for schedule_row in rows.values()):
                by_value: dict[int, list[str]] = defaultdict(list)
                for name in group:
                    by_value[rows[name].constant].append(name)
                parted += by_value.values()
            else:
                parted.append(group)
        groups = parted
    return any(one in group and other in group for group in groups)


@pytest.mark.parametrize("name", [*KERNELS, "periodic", "strided", "random:12", "random:3"])
def test_what_isl_finds(name: str) -> None:
    """The same flags as the slow analysis, and the same bands as a schedule tree."""
    scop = program(name)
    known = build_dependence_forms(scop)
    for schedule in schedules(name):
        order = schedule_ordering(known, schedule_points(known, schedule))
        slow = schedule_properties(scop, schedule)
        assert order.carried == slow.carried
        tree = build_tree(LegalSchedule(scop, without_plain(schedule)))
        for statement, free in zip(known.names, order.statements, strict=True):
            assert free.parallel == slow.of(statement).parallel
            bands = list(bands_of(tree, statement))
            assert [free.band.count(number) for number in range(max(free.band) + 1)] == [
                len(flags) for flags in bands
            ]
            own = [flag for flag, at in zip(free.coincident, free.band, strict=True) if at >= 0]
            assert own == [flag for flags in bands for flag in flags]


def without_plain(schedule: Schedule) -> Schedule:
    """Leave out rows that are 0 for all: a tree's band ends at one between different depths."""
    kept = [
        k
        for k in range(schedule.dimensions)
        if any(not s.rows[k].is_constant or s.rows[k].constant for s in schedule.statements)
    ]
    return replace(
        schedule,
        statements=tuple(
            replace(s, rows=tuple(s.rows[k] for k in kept)) for s in schedule.statements
        ),
    )


def bands_of(tree: Tree, statement: str) -> Iterator[list[bool]]:
    match tree:
        case Leaf():
            return
        case Band(_, members, child):
            yield [member.coincident for member in members]
            yield from bands_of(child, statement)
        case SequenceNode(branches):
            for branch in branches:
                if statement in branch.statements:
                    yield from bands_of(branch.child, statement)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["y_ax", "jacobi-1d", "gemm", "random:3"]), st.data())
def test_legality_is_what_isl_says(name: str, data: st.DataObject) -> None:
    """Any rows at all: they are legal iff isl says so."""
    scop = program(name)
    count = len(scop.parameters)
    small = st.integers(-1, 1)
    parts = []
    for part in original_schedule(scop).statements:
        rows = list(part.rows)
        place = data.draw(st.integers(0, len(rows) - 1))
        iterators = tuple(data.draw(small) for _ in part.iterators)
        rows[place] = ScheduleRow(iterators, (0,) * count, data.draw(small))
        parts.append(replace(part, rows=tuple(rows)))
    schedule = Schedule(original_schedule(scop).parameters, tuple(parts))
    known = build_dependence_forms(scop)
    assert schedule_ordering(known, schedule_points(known, schedule)).is_legal == is_legal(
        scop, schedule
    )


def test_numbers_of_any_size() -> None:
    """Where products are too large for floating point, integers decide."""
    scop = program("y_ax")
    huge = 2**31
    text = f"[n] -> {{ S[i] -> [-{huge}, {huge}i, 0]; T[i, j] -> [0, {huge}i, {huge}j - {huge}i] }}"
    schedule = parse_schedule(text, scop)
    known = build_dependence_forms(scop)
    large = replace(known, largest=2**60)
    first, second = (
        schedule_ordering(forms, schedule_points(forms, schedule)) for forms in (known, large)
    )
    assert first.carried == second.carried == schedule_properties(scop, schedule).carried
    assert first.statements == second.statements
    assert schedule_features(ProgramFeatures.of(scop, {"n": 40}), schedule).loops.rows[
        1
    ].tolist() == [1, 2]
    # 2⁵³ and 2⁵³ + 1 are one number in floating point; no text may have them.
    first_one, *others = schedule.statements
    rows = (replace(first_one.rows[0], iterators=(2**53 + 1,)), *first_one.rows[1:])
    larger = replace(schedule, statements=(replace(first_one, rows=rows), *others))
    with pytest.raises(LimitError, match="expected numbers below 9007199254740992"):
        schedule_points(known, larger)


def renamed(text: str) -> str:
    """Return the program with other names for arrays, counters, sizes and the function."""
    text = re.sub(r"\b([A-HX-Z]\d*)\b(?=\[)", r"array_\1", text)
    text = re.sub(r"\b([ijkl]\d*)\b", r"counter_\1", text)
    return text.replace("random_", "other_")


def mixed(scop: Scop, schedule: Schedule, seed: int) -> tuple[Scop, Schedule]:
    """Return a program with its statements, arrays and parameters called and listed otherwise."""
    rng = np.random.default_rng(seed)
    names = [s.name for s in scop.statements]
    others = {name: f"Q{place}" for name, place in zip(names, rng.permutation(99), strict=False)}
    order = rng.permutation(len(scop.parameters))

    def called(text: str) -> str:
        for name, other in others.items():
            text = re.sub(rf"\b{name}\[", f"{other}[", text)
        return text

    def changed(node: Any) -> Any:
        """Return a value of the program with statements called otherwise, at any depth."""
        if isinstance(node, str):
            return called(node)
        if isinstance(node, tuple):
            return tuple(map(changed, node))
        if is_dataclass(node) and not isinstance(node, type):
            fields = {field: changed(getattr(node, field)) for field in node.__dataclass_fields__}
            return replace(node, **fields)
        return node

    statements = [replace(changed(s), name=others[s.name]) for s in scop.statements]
    other = replace(
        scop,
        parameters=tuple(scop.parameters[k] for k in order),
        arrays=tuple(scop.arrays[k] for k in rng.permutation(len(scop.arrays))),
        statements=tuple(statements[k] for k in rng.permutation(len(statements))),
        schedule=called(scop.schedule),
    )
    return other, parse_schedule(called(str(schedule)), other)


@pytest.mark.parametrize("name", ["gemm", "mvt", "jacobi-1d", "random:3", "random:12"])
def test_order_and_names_say_nothing(name: str) -> None:
    scop = program(name)
    sizes = {p.name: 60 + 7 * place for place, p in enumerate(scop.parameters)}
    known = ProgramFeatures.of(scop, sizes)
    for seed, schedule in enumerate(schedules(name)):
        other, its = mixed(scop, schedule, seed)
        assert [s.name for s in other.statements] != [s.name for s in scop.statements]
        first, second = (
            schedule_features(known, schedule),
            schedule_features(ProgramFeatures.of(other, sizes), its),
        )
        np.testing.assert_allclose(first.vector, second.vector, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [3, 11])
def test_names_in_the_text_say_nothing(seed: int) -> None:
    text = generate_source(seed)
    assert renamed(text) != text
    features = []
    for source in (text, renamed(text)):
        scop = parse_text(source)
        features.append(
            schedule_features(ProgramFeatures.of(scop, sizes_of(scop, 70)), isl_schedule(scop))
        )
    np.testing.assert_allclose(features[0].vector, features[1].vector, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(features[0].context, features[1].context, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["gemm", "mvt", "periodic"])
def test_isl_is_not_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there is a ground, no call of isl is made, for schedules that were never seen."""
    scop = program(name)
    known = ProgramFeatures.of(scop, sizes_of(scop, 64))
    new = schedules(name, 17)
    asked: list[str] = []

    def refuse(*_: object, **__: object) -> None:
        asked.append("isl")
        raise AssertionError("isl was asked")

    for kind in ("Set", "Map", "UnionMap", "BasicSet", "Aff", "MultiAff", "PwMultiAff", "Val"):
        monkeypatch.setattr(isl, kind, refuse)
    with pytest.raises(AssertionError, match="isl was asked"):
        parse_schedule(str(new[0]), scop)
    asked.clear()
    # Nor is there a way around these names: isl may do nothing at all.
    before = isl.DEFAULT_CONTEXT.get_max_operations()
    isl.DEFAULT_CONTEXT.reset_operations()
    isl.DEFAULT_CONTEXT.set_max_operations(1)
    try:
        features = [schedule_features(known, schedule) for schedule in new]
    finally:
        isl.DEFAULT_CONTEXT.set_max_operations(before)
        isl.DEFAULT_CONTEXT.reset_operations()
    assert not asked
    assert all(np.isfinite(feature.vector).all() for feature in features)
    assert all(feature.vector.shape == (len(SCHEDULE_FEATURE_NAMES),) for feature in features)
