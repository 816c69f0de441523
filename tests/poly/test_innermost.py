"""Steps and directions of loops, and how accesses move, against instances one by one."""

from __future__ import annotations

from itertools import permutations

import islpy as isl
import numpy as np
import pytest

from polygym.frontend.c import parse_text
from polygym.poly.innermost import displacement, independent_rows, innermost_loop
from polygym.poly.integer_vectors import Vector
from polygym.poly.isl_values import coordinates
from tests.c_programs import SMALL_PROGRAMS, kernel_scop

DOMAINS = [
    "{ S[i, j] : 0 <= j <= i < 7 }",
    "{ S[i, j] : (0 <= i < 3 or 4 <= i < 7) and 0 <= j < 5 }",
    "{ S[i, j] : (i = 0 or i = 3 or i = 5) and 0 <= j < 4 }",
    "{ S[i, j] : i mod 3 = 1 and 0 <= i < 12 and 0 <= j < i }",
    "{ S[i, j] : (i + j) mod 2 = 0 and 0 <= i < 6 and 0 <= j < 6 }",
    "{ S[i, j] : (2i <= j and j <= 3i and 0 <= i < 6) or (i = j and 0 <= i < 3) }",
    "{ S[i, j] : 0 <= 2i - j <= 1 and 0 <= j < 9 }",
    "{ S[i, j] : 0 <= i < 9 and 5i <= 7j <= 5i + 9 }",
]


def points_of(text: str) -> set[tuple[int, ...]]:
    result: list[tuple[int, ...]] = []
    isl.Set(text).foreach_point(lambda point: result.append(coordinates(point)))
    return set(result)


@pytest.mark.rotates
@pytest.mark.parametrize("text", DOMAINS)
@pytest.mark.parametrize("rows", [((1, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 1), (1, 0))])
def test_a_step_is_the_least_distance_of_two_instances(text: str, rows: tuple[Vector, ...]) -> None:
    loop = innermost_loop(text, rows)
    assert loop is not None
    line, points = np.array(loop.direction), points_of(text)
    assert np.dot(rows[0], line) == 0 < np.dot(rows[1], line)
    apart = [
        steps
        for point in points
        for steps in range(1, 20)
        if tuple(int(x) for x in np.array(point) + steps * line) in points
    ]
    assert loop.step == min(apart, default=1)


@pytest.mark.parametrize("name", ["gemm", "lu", "jacobi-1d", "strided"])
def test_accesses_move_as_their_subscripts_do(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name]) if name in SMALL_PROGRAMS else kernel_scop(name)
    for statement in scop.statements:
        width = statement.depth
        unit = [tuple(int(k == at) for k in range(width)) for at in range(width)]
        for rows in permutations(unit):
            loop = innermost_loop(statement.domain, rows)
            assert loop is not None
            for access in (statement.write, *statement.reads):
                assert displacement(statement, access, loop) == _moved(
                    access.relation, loop.displacement
                )


def _moved(relation: str, move: Vector) -> Vector:
    """Return what the subscripts are at one place less what they are at another."""
    access = isl.Map(relation).project_out_all_params()
    here = access.domain().sample_point()
    there = isl.Set.from_point(here)
    names = [f"x{place}" for place in range(len(move))]
    sums = [f"{name} + {step}" for name, step in zip(names, move, strict=True)]
    name = access.get_tuple_name(isl.dim_type.in_)
    shift = isl.Map(f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(sums)}] }}")
    first = coordinates(there.apply(access).sample_point())
    second = coordinates(there.apply(shift).apply(access).sample_point())
    return tuple(b - a for a, b in zip(first, second, strict=True))


def test_independent_rows_are_those_that_raise_the_rank() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        width = int(rng.integers(1, 5))
        rows = [tuple(map(int, integer)) for integer in rng.integers(-2, 3, size=(6, width))]
        before, rest = rows[:2], rows[2:]
        places = []
        for place in range(len(rest)):
            smaller, larger = [*before, *rest[:place]], [*before, *rest[: place + 1]]
            if np.linalg.matrix_rank(larger) > np.linalg.matrix_rank(smaller):
                places.append(place)
        assert independent_rows(rest, before) == tuple(places)
