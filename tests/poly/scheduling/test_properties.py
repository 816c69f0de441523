"""What a schedule does to a program, against the enumerated pairs and instances."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polybench
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.innermost import AccessStride
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule, parameter_names
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.properties import schedule_properties
from tests.c_programs import SMALL_PROGRAMS, kernel_scop, small_parameters
from tests.oracles.instances import Instance, instances, pairs, time_vector
from tests.oracles.random_schedules import random_legal_schedule

KERNELS = [kernel.name for kernel in polybench.KERNELS]
SCOPS = {name: parse_text(text) for name, text in SMALL_PROGRAMS.items()}
# Programs small enough that several sizes can be enumerated, and one for every oddity.
ENUMERATED = ["y_ax", "downward", "strided", "triangular_guarded", "periodic", "scalars"]


@cache
def enumerated_pairs(
    scop: Scop, sizes: tuple[int, ...]
) -> tuple[list[tuple[Instance, Instance]], ...]:
    """Return all pairs of every dependence for these values of the parameters."""
    values = dict(zip(parameter_names(scop), sizes, strict=True))
    return tuple(
        [
            ((dependence.source, first), (dependence.sink, second))
            for first, second in pairs(isl.Map(dependence.relation), values)
        ]
        for dependence in dependences(scop)
    )


def first_difference(first: tuple[int, ...], second: tuple[int, ...]) -> int | None:
    return next((k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), None)


def deciding_dimensions(
    scop: Scop, schedule: Schedule, sizes: tuple[int, ...]
) -> list[set[int | None]]:
    """Return for every dependence the dimensions that order its pairs, None for tied ones."""
    values = dict(zip(parameter_names(scop), sizes, strict=True))
    return [
        {
            first_difference(
                time_vector(schedule, source, values), time_vector(schedule, sink, values)
            )
            for source, sink in couples
        }
        for couples in enumerated_pairs(scop, sizes)
    ]


def companions(schedule: Schedule, statement: str, dimension: int) -> set[str]:
    """Return who shares a statement's loop, by splitting the statements one dimension a time."""
    group = {part.statement for part in schedule.statements}
    for earlier in range(dimension):
        rows = {name: schedule.rows(name)[earlier] for name in group}
        if all(row.is_constant for row in rows.values()):
            group = {
                name
                for name, row in rows.items()
                if row == rows[statement] or (row.constant == rows[statement].constant)
            }
    return group


def check_dimensions(scop: Scop, schedule: Schedule, *, sizes: list[int], exact: bool) -> None:
    """Compare what is carried and what is parallel with the enumerated pairs.

    For fixed sizes fewer pairs may be left than for all: without ``exact`` what is enumerated must
    be possible under what is said, with it the two are the same.
    """
    properties = schedule_properties(scop, schedule)
    count = len(parameter_names(scop))
    deciding: list[set[int | None]] = [set() for _ in dependences(scop)]
    for size in sizes:
        rising = tuple(size + k for k in range(count))
        for values in {rising, rising[::-1]}:
            for known, new in zip(
                deciding, deciding_dimensions(scop, schedule, values), strict=True
            ):
                known |= new
    for carried, seen in zip(properties.carried, deciding, strict=True):
        if exact:
            assert carried == (None if None in seen else max(k for k in seen if k is not None))
        elif carried is not None:
            assert all(k is not None and k <= carried for k in seen)
    for part in properties.statements:
        for dimension, parallel in enumerate(part.parallel):
            group = companions(schedule, part.statement, dimension)
            moved = any(
                dimension in seen and dependence.source in group
                for dependence, seen in zip(dependences(scop), deciding, strict=True)
            )
            assert not (parallel and moved)
            if exact:
                assert parallel is not moved


@st.composite
def small_schedules(draw: st.DrawFn, scop: Scop) -> Schedule:
    """Return any schedule with small numbers, legal or not."""
    names = parameter_names(scop)
    dimensions = draw(st.integers(1, 4))
    # Often a dimension of constants, so that groups part.
    constant = [draw(st.booleans()) for _ in range(dimensions)]
    coefficient = st.integers(-1, 2)

    def row(depth: int, is_constant: bool) -> ScheduleRow:
        iterators = tuple(0 if is_constant else draw(coefficient) for _ in range(depth))
        return ScheduleRow(iterators, (0,) * len(names), draw(st.integers(0, 1)))

    return Schedule(
        names,
        tuple(
            StatementSchedule(
                statement.name,
                statement.iterators,
                tuple(row(statement.depth, flag) for flag in constant),
            )
            for statement in scop.statements
        ),
    )


@pytest.mark.parametrize("name", ["y_ax", "downward", "strided", "scalars"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_arbitrary_schedules_agree_with_the_pairs(name: str, data: st.DataObject) -> None:
    schedule = data.draw(small_schedules(SCOPS[name]))
    check_dimensions(SCOPS[name], schedule, sizes=[1, 4, 7], exact=False)


@pytest.mark.parametrize("name", ENUMERATED)
def test_legal_schedules_agree_with_the_pairs_exactly(name: str) -> None:
    scop = SCOPS[name]
    schedules = [original_schedule(scop), isl_schedule(scop)]
    schedules += [random_legal_schedule(scop, np.random.default_rng(k)) for k in range(4)]
    for schedule in schedules:
        check_dimensions(scop, schedule, sizes=[1, 3, 4, 5, 8], exact=True)


@pytest.mark.parametrize("name", KERNELS)
def test_a_legal_schedule_carries_every_dependence(name: str) -> None:
    scop = kernel_scop(name)
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        properties = schedule_properties(scop, schedule)
        assert None not in properties.carried
        assert [statement.statement for statement in properties.statements] == [
            s.name for s in scop.statements
        ]
        assert properties.parallel == tuple(
            all(statement.parallel[k] for statement in properties.statements)
            for k in range(properties.dimensions)
        )
        for statement_properties, statement in zip(
            properties.statements, scop.statements, strict=True
        ):
            assert len(statement_properties.access_strides) == 1 + len(statement.reads)
            assert all(loop.dimension is not None for loop in statement_properties.loops)


@pytest.mark.parametrize("name", ["gemm", "atax", "jacobi-1d", "trisolv"])
def test_kernels_agree_with_the_pairs(name: str) -> None:
    scop = kernel_scop(name)
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        check_dimensions(scop, schedule, sizes=[3, 5], exact=True)


def lines(
    scop: Scop, schedule: Schedule, statement: str, values: dict[str, int]
) -> Iterator[list[tuple[int, ...]]]:
    """Return the runs of the innermost loop, each the list of its instances in order."""
    runs: dict[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    source = original_schedule(scop)
    every = [instance for instance in instances(scop, values) if instance[0] == statement]
    times = [
        time_vector(schedule, event, values) + time_vector(source, event, values) for event in every
    ]
    # The loops are those dimensions whose value the outer ones do not determine.
    loops = [
        k
        for k in range(len(times[0]))
        if len({time[: k + 1] for time in times}) > len({time[:k] for time in times})
    ]
    if not loops:
        return
    for (_, point), time in zip(every, times, strict=True):
        runs.setdefault(time[: loops[-1]], []).append((time, point))
    for run in runs.values():
        yield [point for _, point in sorted(run)]


def displacements(
    access: isl.Map, runs: list[list[tuple[int, ...]]], values: dict[str, int]
) -> set[tuple[int, ...]]:
    """Return by how much an access moves between neighbours of the runs."""
    touched = dict(pairs(access, values))
    return {
        tuple(b - a for a, b in zip(touched[first], touched[second], strict=True))
        for run in runs
        for first, second in pairwise(run)
        if first in touched and second in touched
    }


def class_of(displacement: tuple[int, ...]) -> AccessStride:
    if any(displacement[:-1]):
        return AccessStride.FAR
    size = abs(displacement[-1]) if displacement else 0
    if size > 8:
        return AccessStride.FAR
    return [AccessStride.SAME, AccessStride.UNIT][size] if size < 2 else AccessStride.SHORT


def check_movements(scop: Scop, schedule: Schedule, values: dict[str, int]) -> int:
    """Compare direction and movements with the enumerated runs of the innermost loop."""
    compared = 0
    for statement in scop.statements:
        properties = schedule_properties(scop, schedule).of(statement.name)
        runs = list(lines(scop, schedule, statement.name, values))
        steps = {
            tuple(b - a for a, b in zip(first, second, strict=True))
            for run in runs
            for first, second in pairwise(run)
        }
        if not steps:
            continue
        assert properties.innermost is not None
        assert steps == {properties.innermost.displacement}
        accesses = (statement.write, *statement.reads)
        for access, movement in zip(accesses, properties.access_strides, strict=True):
            relation = isl.Map(access.relation).intersect_domain(isl.Set(statement.domain))
            seen = displacements(relation, runs, values)
            if len(seen) == 1:
                assert class_of(*seen) is movement, (statement.name, access.text)
                compared += 1
    return compared


@pytest.mark.rotates
@pytest.mark.parametrize("name", KERNELS)
def test_innermost_loops_of_kernels_move_as_enumerated(name: str) -> None:
    scop = kernel_scop(name)
    assert check_movements(scop, original_schedule(scop), small_parameters(scop)) > 0


@pytest.mark.parametrize("name", ["y_ax", "downward", "strided", "fixed_sizes", "division"])
def test_innermost_loops_of_random_schedules_move_as_enumerated(name: str) -> None:
    scop = SCOPS[name]
    # Large enough that a skewed loop with a step of six takes one.
    values = dict.fromkeys(parameter_names(scop), 20)
    for seed in range(5):
        schedule = random_legal_schedule(scop, np.random.default_rng(seed))
        assert check_movements(scop, schedule, values) > 0
