"""Columns of rows alone: against instances one by one, and against those of a candidate."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.innermost import equations
from polygym.compiler.poly.properties import properties
from polygym.compiler.poly.schedule import parse
from polygym.cost import ROW_NAMES, Ground, RowFeatures, row_features
from polygym.cost.columns import CACHES, CONTEXT, KNOWLEDGE, Touched
from polygym.cost.lines import touched
from polygym.cost.nests import untiled
from polygym.cost.reach import reach
from polygym.cost.stacked import loops
from polygym.cost.touches import relations as relations_of_all
from polygym.cost.touches import touches
from tests.cost.played import KERNELS, program, schedules, sizes_of
from tests.oracles.instances import points as instances
from tests.oracles.instances import time_vector
from tests.oracles.nest_columns import knowledge, relations


@pytest.mark.parametrize("name", [*KERNELS, "six_deep", "periodic", "strided", "random:12"])
def test_all_statements_at_once(name: str) -> None:
    """Number for number what nests and columns say of one statement after the other."""
    scop = program(name)
    sizes = sizes_of(scop, 100 if name != "six_deep" else 12)
    known = Ground.of(scop, sizes)
    stack = known.stack
    for schedule in schedules(name):
        rows = row_features(known, schedule)
        seen = touches(stack.references, rows.loops)
        related = relations_of_all(stack.references, known.instances, rows.loops, seen)
        for place, work in enumerate(stack.works):
            count = int(stack.counts[place])
            every = [r.iterators for r in schedule.rows(work.name)]
            every += [r.iterators for r in original(scop).rows(work.name)]
            own = [every[k] for k in rows.loops.rows[place, :count]]
            plane = equations(scop.statement(work.name).domain)
            nest = untiled(work, own, plane)
            np.testing.assert_allclose(rows.loops.lengths[place, :count], nest.lengths)
            first = int(stack.references.starts[place])
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
        known.stack.planes.equations[0],
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
    seen = touches(known.stack.references, found.loops)
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
        first = int(known.stack.references.starts[place])
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
    assert column(ijk, "chain_main") == 4.0 / 3
    assert column(ikj, "chain_main") == 0.0
    assert column(ijk, "inner_far_main") == 0.2
    assert column(ikj, "inner_far_main") == 0.0
    assert column(ijk, "traffic_15_main") > column(ikj, "traffic_15_main") + 2
    assert ijk.context.shape == (3, len(CONTEXT))


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
