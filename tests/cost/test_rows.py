"""Features of rows alone: against all instances one by one, and against what is planned slowly."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.tree import Band, Leaf, Sequence, Tree
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.innermost import equations
from polygym.compiler.poly.legality import LegalSchedule, is_legal
from polygym.compiler.poly.properties import properties
from polygym.compiler.poly.schedule import Row, Schedule, parse
from polygym.cost import ROW_NAMES, Ground, RowFeatures, row_features
from polygym.cost.columns import CACHES, CONTEXT, KNOWLEDGE, Touched, knowledge, relations
from polygym.cost.demands import demands, points
from polygym.cost.nests import touched, untiled
from polygym.cost.ordering import ordering
from polygym.cost.reach import reach
from polygym.cost.stacked import loops, touches
from polygym.cost.stacked import relations as stacked_relations
from polygym.episodes.episode import Task, TaskOptions
from polygym.episodes.policies import play, policy
from polygym.errors import LimitError
from polygym.programs import load_program
from polygym.programs.generate import generate
from polygym.search.explore.players import schedule_of
from tests.oracles.instances import pairs, time_vector
from tests.oracles.instances import points as instances
from tests.sources import SMALL_PROGRAMS, kernel_scop

Pair = tuple[tuple[int, ...], tuple[int, ...]]

KERNELS = ("gemm", "mvt", "trmm", "lu", "jacobi-1d", "fdtd-2d", "durbin")


@cache
def program(name: str) -> Scop:
    if name in SMALL_PROGRAMS:
        return parse_text(SMALL_PROGRAMS[name])
    if name.startswith("random:"):
        return load_program(name).scop
    return kernel_scop(name)


@cache
def schedules(name: str, seed: int = 0) -> tuple[Schedule, ...]:
    """Return the original order, isl's, and what two policies play."""
    scop = program(name)
    found = [original(scop), isl_schedule(scop)]
    for number, which in enumerate(("bias_coeff_0", "uniform")):
        played = play(
            Task(scop, TaskOptions()).start(),
            policy(which),
            np.random.default_rng([seed, number]),
        )
        one = schedule_of(played)
        if isinstance(one, Schedule):
            found.append(one)
    return tuple(found)


def sizes_of(scop: Scop, size: int = 5) -> dict[str, int]:
    return {p.name: size + place % 3 for place, p in enumerate(scop.parameters)}


def all_pairs(scop: Scop) -> Iterator[tuple[int, str, str, dict[str, int], list[Pair]]]:
    """Yield the pairs of every dependence at some sizes, each parameter small or not."""
    names = [p.name for p in scop.parameters]
    for values in product((1, 2, 5), repeat=len(names)):
        sizes = dict(zip(names, values, strict=True))
        if isl.Set(scop.context).intersect_params(fixed(sizes)).is_empty():
            continue
        for number, one in enumerate(dependences(scop)):
            found = pairs(isl.Map(one.relation), sizes)
            yield number, one.source, one.sink, sizes, sorted(found)


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
    known, at_all = demands(scop), list(all_pairs(scop))
    for schedule in schedules(name):
        order = ordering(known, points(known, schedule))
        assert order.is_legal
        assert len(order.carried) == len(dependences(scop))
        orders: dict[int, set[tuple[str, str]]] = defaultdict(set)
        decided: dict[int, set[int]] = defaultdict(set)
        for number, source, sink, sizes, found in at_all:
            for first, second in found:
                before = time_vector(schedule, (source, first), sizes)
                after = time_vector(schedule, (sink, second), sizes)
                row = next(k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b)
                assert before < after
                decided[number].add(row)
                orders[row].add((source, sink))
        assert list(order.carried) == [max(decided[k]) for k in range(len(order.carried))]
        for name_, free in zip(known.names, order.free, strict=True):
            for row, is_parallel in enumerate(free.parallel):
                group = {
                    other
                    for other, its in zip(known.names, order.free, strict=True)
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
            if all(found.is_constant for found in rows.values()):
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
    known = demands(scop)
    for schedule in schedules(name):
        order = ordering(known, points(known, schedule))
        slow = properties(scop, schedule)
        assert order.carried == slow.carried
        tree = build_tree(LegalSchedule(scop, without_plain(schedule)))
        for statement, free in zip(known.names, order.free, strict=True):
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
        case Sequence(branches):
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
    for part in original(scop).statements:
        rows = list(part.rows)
        place = data.draw(st.integers(0, len(rows) - 1))
        iterators = tuple(data.draw(small) for _ in part.iterators)
        rows[place] = Row(iterators, (0,) * count, data.draw(small))
        parts.append(replace(part, rows=tuple(rows)))
    schedule = Schedule(original(scop).parameters, tuple(parts))
    known = demands(scop)
    assert ordering(known, points(known, schedule)).is_legal == is_legal(scop, schedule)


def test_numbers_of_any_size() -> None:
    """Where products are too large for floating point, integers decide."""
    scop = program("y_ax")
    huge = 2**31
    text = f"[n] -> {{ S[i] -> [-{huge}, {huge}i, 0]; T[i, j] -> [0, {huge}i, {huge}j - {huge}i] }}"
    schedule = parse(text, scop)
    known = demands(scop)
    large = replace(known, largest=2**60)
    first, second = (ordering(one, points(one, schedule)) for one in (known, large))
    assert first.carried == second.carried == properties(scop, schedule).carried
    assert first.free == second.free
    assert row_features(Ground.of(scop, {"n": 40}), schedule).loops.rows[1].tolist() == [1, 2]
    # 2⁵³ and 2⁵³ + 1 are one number in floating point; no text may have them.
    first_one, *others = schedule.statements
    rows = (replace(first_one.rows[0], iterators=(2**53 + 1,)), *first_one.rows[1:])
    larger = replace(schedule, statements=(replace(first_one, rows=rows), *others))
    with pytest.raises(LimitError, match="expected numbers below 9007199254740992"):
        points(known, larger)


@pytest.mark.parametrize("name", [*KERNELS, "six_deep", "periodic", "strided", "random:12"])
def test_all_statements_at_once(name: str) -> None:
    """Number for number what nests and columns say of one statement after the other."""
    scop = program(name)
    sizes = sizes_of(scop, 100 if name != "six_deep" else 12)
    known = Ground.of(scop, sizes)
    stack = known.stack
    for schedule in schedules(name):
        rows = row_features(known, schedule)
        seen = touches(stack, rows.loops)
        related = stacked_relations(stack, rows.loops, seen)
        for place, work in enumerate(stack.works):
            count = int(stack.counts[place])
            every = [r.iterators for r in schedule.rows(work.name)]
            every += [r.iterators for r in original(scop).rows(work.name)]
            own = [every[k] for k in rows.loops.rows[place, :count]]
            plane = equations(scop.statement(work.name).domain)
            nest = untiled(work, own, plane)
            np.testing.assert_allclose(rows.loops.lengths[place, :count], nest.lengths)
            first = int(stack.starts[place])
            for number, reference in enumerate(nest.references):
                elements, lines = touched(nest, reference)
                found = seen.elements[first + number]
                np.testing.assert_allclose(found[: count + 1], elements, rtol=1e-6)
                np.testing.assert_allclose(seen.bytes[first + number, : count + 1], lines)
            np.testing.assert_allclose(related[place], relations(Touched.of(nest)), rtol=1e-6)
        if len(stack.works) == 1:
            assert_known(rows, Touched.of(nest))


def assert_known(rows: RowFeatures, seen: Touched) -> None:
    """The columns of one statement are those of a candidate whose loops do one thing."""
    truth = dict(zip(KNOWLEDGE, knowledge(seen, 1), strict=True))
    both = [name for name in truth if f"{name}_main" in ROW_NAMES]
    assert len(both) > 10 + 2 * len(CACHES) - 3
    for name in both:
        assert column(rows, f"{name}_main") == pytest.approx(truth[name], abs=1e-6), name


@pytest.mark.parametrize("seed", [3, 5, 14])
def test_one_statement_has_the_columns_of_a_candidate(seed: int) -> None:
    scop = program(f"random:{seed}")
    one = replace(scop, statements=scop.statements[:1], schedule=f"{maps_of(scop)[0]}")
    known = Ground.of(one, sizes_of(one, 200))
    rows = row_features(known, original(one))
    nest = untiled(
        known.stack.works[0],
        [tuple(map(int, row)) for row in rows.loops.vectors[0, : int(known.stack.counts[0])]],
        known.stack.planes[0],
    )
    assert_known(rows, Touched.of(nest))


def maps_of(scop: Scop) -> list[str]:
    inner = scop.schedule[scop.schedule.index("{") + 1 : scop.schedule.rindex("}")]
    front = scop.schedule[: scop.schedule.index("{")]
    by_name = {one.split("[")[0].strip(): one for one in inner.split(";")}
    return [f"{front}{{ {by_name[s.name]} }}" for s in scop.statements]


@pytest.mark.parametrize("name", ["gemm", "mvt", "doitgen", "2mm", "y_ax"])
def test_boxes_are_exact(name: str) -> None:
    """Lengths and elements of boxes in their own order, by going through all instances."""
    scop = program(name)
    sizes = sizes_of(scop)
    known = Ground.of(scop, sizes)
    schedule = original(scop)
    found = row_features(known, schedule)
    seen = touches(known.stack, found.loops)
    for place, work in enumerate(known.stack.works):
        count = int(known.stack.counts[place])
        kept = found.loops.rows[place, :count].tolist()
        values: list[dict[tuple[int, ...], set[int]]] = [defaultdict(set) for _ in kept]
        groups = dict.fromkeys(f"{touch.array}{touch.subscripts}" for touch in work.touches)
        elements: dict[str, list[dict[tuple[int, ...], set[tuple[int, ...]]]]] = {
            group: [defaultdict(set) for _ in range(count + 1)] for group in groups
        }
        for point in instances(scop.statement(work.name).domain, sizes):
            time = time_vector(schedule, (work.name, point), sizes)
            key = tuple(time[k] for k in kept)
            for at in range(count):
                values[at][key[:at]].add(key[at])
            for touch in work.touches:
                element = tuple(
                    int(np.dot(row or (), point)) + offset
                    for row, offset in zip(touch.subscripts, touch.offsets, strict=True)
                )
                for at in range(count + 1):
                    elements[f"{touch.array}{touch.subscripts}"][at][key[:at]].add(element)
        lengths = [max(map(len, one.values())) for one in values]
        assert found.loops.lengths[place, :count].tolist() == lengths
        first = int(known.stack.starts[place])
        for number, truth in enumerate(elements.values()):
            counts = [max(map(len, one.values())) for one in truth]
            assert seen.elements[first + number, : count + 1].tolist() == counts


def column(found: RowFeatures, name: str) -> float:
    return float(found.vector[ROW_NAMES.index(name)])


def test_what_is_known_of_a_product() -> None:
    """The example of the module: bands, vectors, strides."""
    scop = program("gemm")
    known = Ground.of(scop, dict.fromkeys(("ni", "nj", "nk"), 1000))
    text = "[ni, nj, nk] -> {{ S0[i, j] -> [0, i, j, 0]; S1[i, k, j] -> [1, {}] }}"
    ijk, ikj, kij = (
        row_features(known, parse(text.format(order), scop))
        for order in ("i, j, k", "i, k, j", "k, i, j")
    )
    for found in (ijk, ikj, kij):
        assert column(found, "first_band_main") == 3
        assert column(found, "first_coincident_main") == 2
        assert column(found, "parallel_loops_main") == 2
        assert column(found, "nests") == 2
        assert column(found, "vector_fit_main") == 1.0
        assert column(found, "carried_apart") + column(found, "carried_inside") == 1.0 or (
            found is kij
        )
    assert column(ijk, "inner_parallel_main") == 0.0
    assert column(ikj, "inner_parallel_main") == 1.0
    assert column(kij, "outer_parallel_main") == 0.0
    assert column(kij, "carried_by_first") == 0.5
    assert column(ijk, "chain_main") == 4.0
    assert column(ikj, "chain_main") == 0.0
    assert column(ijk, "inner_far_main") == 0.2
    assert column(ikj, "inner_far_main") == 0.0
    assert column(ijk, "traffic_15_main") > column(ikj, "traffic_15_main") + 2
    assert ijk.context.shape == (3, len(CONTEXT))


def renamed(text: str) -> str:
    """Return the program with other names for arrays, counters, sizes and the function."""
    text = re.sub(r"\b([A-HX-Z]\d*)\b(?=\[)", r"array_\1", text)
    text = re.sub(r"\b([ijkl]\d*)\b", r"counter_\1", text)
    return text.replace("random_", "other_")


def mixed(scop: Scop, schedule: Schedule, seed: int) -> tuple[Scop, Schedule]:
    """Return a program with its statements, arrays and parameters called and listed otherwise."""
    dice = np.random.default_rng(seed)
    names = [s.name for s in scop.statements]
    others = {name: f"Q{place}" for name, place in zip(names, dice.permutation(99), strict=False)}
    order = dice.permutation(len(scop.parameters))

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
            fields = {one: changed(getattr(node, one)) for one in node.__dataclass_fields__}
            return replace(node, **fields)
        return node

    statements = [replace(changed(s), name=others[s.name]) for s in scop.statements]
    other = replace(
        scop,
        parameters=tuple(scop.parameters[k] for k in order),
        arrays=tuple(scop.arrays[k] for k in dice.permutation(len(scop.arrays))),
        statements=tuple(statements[k] for k in dice.permutation(len(statements))),
        schedule=called(scop.schedule),
    )
    return other, parse(called(str(schedule)), other)


@pytest.mark.parametrize("name", ["gemm", "mvt", "jacobi-1d", "random:3", "random:12"])
def test_order_and_names_say_nothing(name: str) -> None:
    scop = program(name)
    sizes = {p.name: 60 + 7 * place for place, p in enumerate(scop.parameters)}
    known = Ground.of(scop, sizes)
    for seed, schedule in enumerate(schedules(name)):
        other, its = mixed(scop, schedule, seed)
        assert [s.name for s in other.statements] != [s.name for s in scop.statements]
        first, second = row_features(known, schedule), row_features(Ground.of(other, sizes), its)
        np.testing.assert_allclose(first.vector, second.vector, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [3, 11])
def test_names_in_the_text_say_nothing(seed: int) -> None:
    text = generate(seed)
    assert renamed(text) != text
    found = []
    for one in (text, renamed(text)):
        scop = parse_text(one)
        found.append(row_features(Ground.of(scop, sizes_of(scop, 70)), isl_schedule(scop)))
    np.testing.assert_allclose(found[0].vector, found[1].vector, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[0].context, found[1].context, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["gemm", "mvt", "periodic"])
def test_isl_is_not_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there is a ground, no call of isl is made, for schedules that were never seen."""
    scop = program(name)
    known = Ground.of(scop, sizes_of(scop, 64))
    new = schedules(name, 17)
    asked: list[str] = []

    def refuse(*_: object, **__: object) -> None:
        asked.append("isl")
        raise AssertionError("isl was asked")

    for kind in ("Set", "Map", "UnionMap", "BasicSet", "Aff", "MultiAff", "PwMultiAff", "Val"):
        monkeypatch.setattr(isl, kind, refuse)
    with pytest.raises(AssertionError, match="isl was asked"):
        parse(str(new[0]), scop)
    asked.clear()
    # Nor is there a way around these names: isl may do nothing at all.
    before = isl.DEFAULT_CONTEXT.get_max_operations()
    isl.DEFAULT_CONTEXT.reset_operations()
    isl.DEFAULT_CONTEXT.set_max_operations(1)
    try:
        found = [row_features(known, schedule) for schedule in new]
    finally:
        isl.DEFAULT_CONTEXT.set_max_operations(before)
        isl.DEFAULT_CONTEXT.reset_operations()
    assert not asked
    assert all(np.isfinite(one.vector).all() for one in found)
    assert all(one.vector.shape == (len(ROW_NAMES),) for one in found)


def test_a_program_without_dependences() -> None:
    scop = parse_text("""
void f(int n, double A[n], double B[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
S:  A[i] = B[i];
#pragma endscop
}
""")
    assert not dependences(scop)
    found = row_features(Ground.of(scop, {"n": 100}), original(scop))
    assert found.ordering.carried == ()
    assert found.ordering.is_legal
    assert column(found, "outer_parallel_main") == 1.0
    assert column(found, "parallel_length_main") == pytest.approx(np.log2(101))


def test_a_program_without_parameters_or_loops() -> None:
    scop = program("fixed_sizes")
    assert not scop.parameters
    found = row_features(Ground.of(scop, {}), original(scop))
    slow = properties(scop, original(scop))
    assert found.ordering.carried == slow.carried
    assert np.isfinite(found.vector).all()
    scop = parse_text("""
void f(int n, double A[n]) {
#pragma scop
S:  A[0] = 1.0;
T:  A[0] = A[0] * 2.0;
#pragma endscop
}
""")
    found = row_features(Ground.of(scop, {"n": 9}), original(scop))
    assert found.ordering.carried == (0,)
    assert column(found, "depth_main") == 0.0
    assert column(found, "carried_apart") == 1.0
    assert np.isfinite(found.vector).all()
    assert found.context.shape == (0, len(CONTEXT))


def test_loops_that_rows_lack_come_from_the_original_order() -> None:
    """Instances that are tied run in any order; the loops inside are parallel."""
    scop = program("y_ax")
    known = Ground.of(scop, {"n": 50})
    schedule = parse("[n] -> { S[i] -> [0, 0]; T[i, j] -> [1, j] }", scop)
    found = row_features(known, schedule)
    assert found.ordering.is_legal
    place = known.demands.names.index("T")
    assert found.loops.vectors[place].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert found.loops.lengths[place].tolist() == [50.0, 50.0]
    assert column(found, "inner_parallel_main") == 1.0
    assert column(found, "outer_parallel_main") == 0.0


def test_context_is_what_a_candidate_of_the_same_loops_has() -> None:
    scop = program("fdtd-2d")
    sizes = sizes_of(scop, 80)
    found = row_features(Ground.of(scop, sizes), original(scop))
    work = {one.name: one for one in reach(scop, sizes)}[found.ground.demands.names[found.heaviest]]
    assert work.depth == 3
    assert found.context[:, 0].tolist() == pytest.approx(
        np.log2(1 + found.loops.lengths[found.heaviest]).tolist()
    )


def test_loops_of_a_plane() -> None:
    """T[i, j] with j = i + 1 has one loop, whatever row counts it."""
    scop = parse_text("""
void f(int n, double A[n + 1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < i + 2; j++)
      A[j] = A[j] * 2.0;
#pragma endscop
}
""")
    known = Ground.of(scop, {"n": 30})
    name = scop.statements[0].name
    schedule = parse(f"[n] -> {{ {name}[i, j] -> [i + j, j, 0] }}", scop)
    found = loops(known.stack, np.array([[[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]]))
    assert known.stack.counts.tolist() == [1]
    assert found.rows[0, 0] == 0
    assert row_features(known, schedule).loops.strides[:, 0].tolist() == [0.5]
