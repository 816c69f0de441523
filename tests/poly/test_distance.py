"""Distances of pairs against pairs that are listed one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from polygym.frontend.c import parse_text
from polygym.poly.distance import DependencePairs, all_pairs
from polygym.poly.evaluation import fix_parameters
from polygym.poly.isl_values import coordinates
from polygym.poly.schedule import ScheduleRow, parameter_names
from tests.c_programs import SMALL_PROGRAMS

_SIZE = 5


def points_of(pairs: DependencePairs) -> Iterator[tuple[int, ...]]:
    """Yield the pairs at a size, the source's iterators and the sink's."""
    points: list[tuple[int, ...]] = []
    at = fix_parameters(pairs.points, dict.fromkeys(pairs.parameters, _SIZE))
    at.project_out_all_params().foreach_point(lambda point: points.append(coordinates(point)))
    yield from points


def random_row(depth: int, parameters: int, rng: np.random.Generator) -> ScheduleRow:
    return ScheduleRow(
        tuple(int(coefficient) for coefficient in rng.choice([-1, 0, 0, 1, 2], size=depth)),
        tuple(int(coefficient) for coefficient in rng.choice([0, 0, 1, -1], size=parameters)),
        int(rng.integers(-2, 3)),
    )


def value(row: ScheduleRow, instance: tuple[int, ...]) -> int:
    iterators = sum(a * x for a, x in zip(row.iterators, instance, strict=True))
    return iterators + _SIZE * sum(row.parameters) + row.constant


@pytest.mark.parametrize("name", sorted(SMALL_PROGRAMS))
def test_pairs_are_told_apart_by_their_distance(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    names, rng = parameter_names(scop), np.random.default_rng(0)
    for pairs in all_pairs(scop):
        depth = scop.statement(pairs.dependence.source).depth
        every = sorted(points_of(pairs))
        for _ in range(6):
            source = random_row(depth, len(names), rng)
            sink = random_row(scop.statement(pairs.dependence.sink).depth, len(names), rng)
            distance = pairs.distance(source, sink, names)
            signs = [
                int(np.sign(value(sink, point[depth:]) - value(source, point[:depth])))
                for point in every
            ]
            for sign, told in (
                (-1, pairs.reversed_by(distance)),
                (0, pairs.unordered_by(distance)),
                (1, pairs.carried_by(distance)),
            ):
                expected = [point for point, own in zip(every, signs, strict=True) if own == sign]
                assert sorted(points_of(told)) == expected
            if distance.is_constant:
                assert len(set(signs)) <= 1


def test_parameters_are_matched_by_name() -> None:
    scop = parse_text(SMALL_PROGRAMS["y_ax"])
    (pairs, *_) = all_pairs(scop)
    depth = scop.statement(pairs.dependence.source).depth
    reach = scop.statement(pairs.dependence.sink).depth
    names = parameter_names(scop)
    assert len(names) == 1
    distance = pairs.distance(
        ScheduleRow((0,) * depth, (2,), 1), ScheduleRow((1,) * reach, (5,), 0), names
    )
    more = pairs.distance(
        ScheduleRow((0,) * depth, (7, 2), 1),
        ScheduleRow((1,) * reach, (7, 5), 0),
        ("other", *names),
    )
    assert distance is more
    assert (distance.sizes, distance.constant) == ((3,), -1)
