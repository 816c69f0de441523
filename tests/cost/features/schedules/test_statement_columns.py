"""Columns of rows alone: against instances one by one, and against those of a candidate."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from polygym.cost import (
    SCHEDULE_FEATURE_NAMES,
    ProgramFeatures,
    ScheduleFeatures,
    schedule_features,
)
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.cost.features.loops.cache_lines import reference_footprint
from polygym.cost.features.loops.column_names import CACHE_SIZES, CONTEXT_COLUMNS, NestFootprint
from polygym.cost.features.loops.footprints import relation_features as relations_of_all
from polygym.cost.features.loops.footprints import stacked_footprints
from polygym.cost.features.loops.nests import untiled_nest
from polygym.cost.features.schedules.statement_columns import schedule_loops
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.innermost import domain_equations
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.properties import schedule_properties
from tests.cost.features.sample_schedules import KERNELS, program, schedules, sizes_of
from tests.oracles.instances import points as instances
from tests.oracles.instances import time_vector
from tests.oracles.nest_columns import knowledge, relations


@pytest.mark.parametrize("name", [*KERNELS, "six_deep", "periodic", "strided", "random:12"])
def test_all_statements_at_once(name: str) -> None:
    """Number for number what nests and columns say of one statement after the other."""
    scop = program(name)
    sizes = sizes_of(scop, 100 if name != "six_deep" else 12)
    known = ProgramFeatures.of(scop, sizes)
    stack = known.statements
    for schedule in schedules(name):
        rows = schedule_features(known, schedule)
        seen = stacked_footprints(stack.references, rows.loops)
        related = relations_of_all(stack.references, known.instances, rows.loops, seen)
        for place, work in enumerate(stack.works):
            count = int(stack.counts[place])
            every = [r.iterators for r in schedule.rows(work.name)]
            every += [r.iterators for r in original_schedule(scop).rows(work.name)]
            own = [every[k] for k in rows.loops.rows[place, :count]]
            plane = domain_equations(scop.statement(work.name).domain)
            nest = untiled_nest(work, own, plane)
            np.testing.assert_allclose(rows.loops.lengths[place, :count], nest.lengths)
            first = int(stack.references.starts[place])
            for number, reference in enumerate(nest.references):
                elements, lines = reference_footprint(nest, reference)
                stacked = seen.elements[first + number]
                np.testing.assert_allclose(stacked[: count + 1], elements, rtol=1e-6)
                np.testing.assert_allclose(seen.bytes[first + number, : count + 1], lines)
            np.testing.assert_allclose(related[place], relations(NestFootprint.of(nest)), rtol=1e-6)
        if len(stack.works) == 1:
            assert_known(rows, NestFootprint.of(nest))


def assert_known(rows: ScheduleFeatures, seen: NestFootprint) -> None:
    """The columns of one statement are those of a candidate whose loops do one thing."""
    truth = dict(zip(NEST_COLUMNS, knowledge(seen, 1), strict=True))
    both = [name for name in truth if f"{name}_main" in SCHEDULE_FEATURE_NAMES]
    assert len(both) > 10 + 2 * len(CACHE_SIZES) - 3
    for name in both:
        assert column(rows, f"{name}_main") == pytest.approx(truth[name], abs=1e-6), name


@pytest.mark.parametrize("seed", [3, 5, 14])
def test_one_statement_has_the_columns_of_a_candidate(seed: int) -> None:
    scop = program(f"random:{seed}")
    alone = replace(scop, statements=scop.statements[:1], schedule=f"{maps_of(scop)[0]}")
    known = ProgramFeatures.of(alone, sizes_of(alone, 200))
    rows = schedule_features(known, original_schedule(alone))
    nest = untiled_nest(
        known.statements.works[0],
        [
            tuple(map(int, row))
            for row in rows.loops.row_vectors[0, : int(known.statements.counts[0])]
        ],
        known.statements.equations.equations[0],
    )
    assert_known(rows, NestFootprint.of(nest))


def maps_of(scop: Scop) -> list[str]:
    inner = scop.schedule[scop.schedule.index("{") + 1 : scop.schedule.rindex("}")]
    front = scop.schedule[: scop.schedule.index("{")]
    by_name = {part.split("[")[0].strip(): part for part in inner.split(";")}
    return [f"{front}{{ {by_name[s.name]} }}" for s in scop.statements]


@pytest.mark.parametrize("name", ["gemm", "mvt", "doitgen", "2mm", "y_ax"])
def test_boxes_are_exact(name: str) -> None:
    """Lengths and elements of boxes in their own order, by going through all instances."""
    scop = program(name)
    sizes = sizes_of(scop)
    known = ProgramFeatures.of(scop, sizes)
    schedule = original_schedule(scop)
    features = schedule_features(known, schedule)
    seen = stacked_footprints(known.statements.references, features.loops)
    for place, work in enumerate(known.statements.works):
        count = int(known.statements.counts[place])
        kept = features.loops.rows[place, :count].tolist()
        values: list[dict[tuple[int, ...], set[int]]] = [defaultdict(set) for _ in kept]
        groups = dict.fromkeys(f"{touch.array}{touch.subscripts}" for touch in work.accesses)
        elements: dict[str, list[dict[tuple[int, ...], set[tuple[int, ...]]]]] = {
            group: [defaultdict(set) for _ in range(count + 1)] for group in groups
        }
        for point in instances(scop.statement(work.name).domain, sizes):
            time = time_vector(schedule, (work.name, point), sizes)
            key = tuple(time[k] for k in kept)
            for at in range(count):
                values[at][key[:at]].add(key[at])
            for touch in work.accesses:
                element = tuple(
                    int(np.dot(row or (), point)) + offset
                    for row, offset in zip(touch.subscripts, touch.offsets, strict=True)
                )
                for at in range(count + 1):
                    elements[f"{touch.array}{touch.subscripts}"][at][key[:at]].add(element)
        lengths = [max(map(len, value.values())) for value in values]
        assert features.loops.lengths[place, :count].tolist() == lengths
        first = int(known.statements.references.starts[place])
        for number, truth in enumerate(elements.values()):
            counts = [max(map(len, sets.values())) for sets in truth]
            assert seen.elements[first + number, : count + 1].tolist() == counts


def column(features: ScheduleFeatures, name: str) -> float:
    return float(features.vector[SCHEDULE_FEATURE_NAMES.index(name)])


def test_what_is_known_of_a_product() -> None:
    """The example of the module: bands, vectors, strides."""
    scop = program("gemm")
    known = ProgramFeatures.of(scop, dict.fromkeys(("ni", "nj", "nk"), 1000))
    text = "[ni, nj, nk] -> {{ S0[i, j] -> [0, i, j, 0]; S1[i, k, j] -> [1, {}] }}"
    ijk, ikj, kij = (
        schedule_features(known, parse_schedule(text.format(order), scop))
        for order in ("i, j, k", "i, k, j", "k, i, j")
    )
    for features in (ijk, ikj, kij):
        assert column(features, "first_band_main") == 3
        assert column(features, "first_coincident_main") == 2
        assert column(features, "parallel_loops_main") == 2
        assert column(features, "nests") == 2
        assert column(features, "vector_fit_main") == 1.0
        assert column(features, "carried_apart") + column(features, "carried_inside") == 1.0 or (
            features is kij
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
    assert ijk.context.shape == (3, len(CONTEXT_COLUMNS))


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
    features = schedule_features(ProgramFeatures.of(scop, {"n": 100}), original_schedule(scop))
    assert features.ordering.carried == ()
    assert features.ordering.is_legal
    assert column(features, "outer_parallel_main") == 1.0
    assert column(features, "parallel_length_main") == pytest.approx(np.log2(101))


def test_a_program_without_parameters_or_loops() -> None:
    scop = program("fixed_sizes")
    assert not scop.parameters
    features = schedule_features(ProgramFeatures.of(scop, {}), original_schedule(scop))
    slow = schedule_properties(scop, original_schedule(scop))
    assert features.ordering.carried == slow.carried
    assert np.isfinite(features.vector).all()
    scop = parse_text("""
void f(int n, double A[n]) {
#pragma scop
S:  A[0] = 1.0;
T:  A[0] = A[0] * 2.0;
#pragma endscop
}
""")
    features = schedule_features(ProgramFeatures.of(scop, {"n": 9}), original_schedule(scop))
    assert features.ordering.carried == (0,)
    assert column(features, "depth_main") == 0.0
    assert column(features, "carried_apart") == 1.0
    assert np.isfinite(features.vector).all()
    assert features.context.shape == (0, len(CONTEXT_COLUMNS))


def test_loops_that_rows_lack_come_from_the_original_order() -> None:
    """Instances that are tied run in any order; the loops inside are parallel."""
    scop = program("y_ax")
    known = ProgramFeatures.of(scop, {"n": 50})
    schedule = parse_schedule("[n] -> { S[i] -> [0, 0]; T[i, j] -> [1, j] }", scop)
    features = schedule_features(known, schedule)
    assert features.ordering.is_legal
    place = known.dependence_forms.names.index("T")
    assert features.loops.row_vectors[place].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert features.loops.lengths[place].tolist() == [50.0, 50.0]
    assert column(features, "inner_parallel_main") == 1.0
    assert column(features, "outer_parallel_main") == 0.0


def test_context_is_what_a_candidate_of_the_same_loops_has() -> None:
    scop = program("fdtd-2d")
    sizes = sizes_of(scop, 80)
    features = schedule_features(ProgramFeatures.of(scop, sizes), original_schedule(scop))
    work = {
        statement_work.name: statement_work for statement_work in work_of_statements(scop, sizes)
    }[features.program.dependence_forms.names[features.heaviest]]
    assert work.depth == 3
    assert features.context[:, 0].tolist() == pytest.approx(
        np.log2(1 + features.loops.lengths[features.heaviest]).tolist()
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
    known = ProgramFeatures.of(scop, {"n": 30})
    name = scop.statements[0].name
    schedule = parse_schedule(f"[n] -> {{ {name}[i, j] -> [i + j, j, 0] }}", scop)
    row_loops = schedule_loops(known.statements, np.array([[[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]]))
    assert known.statements.counts.tolist() == [1]
    assert row_loops.rows[0, 0] == 0
    assert schedule_features(known, schedule).loops.strides[:, 0].tolist() == [0.5]
