"""How far rows reach, against all instances one by one."""

from __future__ import annotations

from collections import Counter

import islpy as isl
import numpy as np
import pytest

from polygym.codegen.tree.analysis.trip_counts import has_uniform_work, row_trip_count
from polygym.codegen.tree.ir import point_member
from polygym.mapping.sizes import at_sizes
from polygym.poly.isl_values import coordinates
from polygym.poly.schedule import ScheduleRow, parameter_names
from tests.cost.features.sample_schedules import program, sizes_of


@pytest.mark.parametrize(
    "name", ["gemm", "lu", "nussinov", "durbin", "strided", "triangular_guarded", "random:3"]
)
def test_trips_are_those_of_all_instances(name: str) -> None:
    scop = program(name)
    parameters, sizes = parameter_names(scop), sizes_of(scop, 4)
    rng = np.random.default_rng(0)
    for statement in scop.statements:
        points: list[tuple[int, ...]] = []
        domain = at_sizes(isl.Set(statement.domain), sizes)
        domain.foreach_point(lambda point, own=points: own.append(coordinates(point)))
        for _ in range(12):
            factors = tuple(int(integer) for integer in rng.integers(-2, 3, size=statement.depth))
            row = ScheduleRow(factors, (1,) * len(parameters), int(rng.integers(-3, 4)))
            values = [sum(a * x for a, x in zip(factors, point, strict=True)) for point in points]
            expected = max(values) - min(values) + 1 if values else 0
            assert row_trip_count(statement, row, parameters, sizes) == expected


@pytest.mark.parametrize("name", ["gemm", "lu", "nussinov", "strided", "triangular_guarded"])
def test_even_loops_do_the_same_in_every_iteration(name: str) -> None:
    """One that is said to be even is; one that is not said to be may be."""
    scop = program(name)
    count, sizes = len(parameter_names(scop)), sizes_of(scop, 5)
    answers = []
    for statement in scop.statements:
        points: list[tuple[int, ...]] = []
        domain = at_sizes(isl.Set(statement.domain), sizes)
        domain.foreach_point(lambda point, own=points: own.append(coordinates(point)))
        for place in range(statement.depth):
            factors = tuple(int(k == place) for k in range(statement.depth))
            member = point_member((ScheduleRow(factors, (0,) * count, 0),), coincident=True)
            work = Counter(point[place] for point in points)
            is_even = has_uniform_work(scop, [statement.name], member, sizes)
            assert len(set(work.values())) <= 1 or not is_even
            answers.append(is_even)
            skewed = tuple(1 for _ in range(statement.depth))
            member = point_member((ScheduleRow(skewed, (0,) * count, 0),), coincident=True)
            assert statement.depth == 1 or not has_uniform_work(
                scop, [statement.name], member, sizes
            )
    assert any(answers) is (name == "gemm")
