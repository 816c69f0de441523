"""The double description: what a polyhedron is made of, and back."""

import subprocess
import sys
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.compiler.poly.integers import Vector, dot, echelon
from polygym.compiler.poly.spaces.generators import (
    Constraint,
    Description,
    Effort,
    Vertex,
    constraints_of,
    describe,
)

PLENTY = Effort(10_000)


def holds(constraint: Constraint, values: Vector, denominator: int) -> bool:
    """Whether a point, or with denominator 0 a direction, satisfies a constraint."""
    value = dot(constraint.coefficients, values) + constraint.constant * denominator
    return value == 0 if constraint.is_equality else value >= 0


@st.composite
def polyhedra(draw: st.DrawFn) -> tuple[list[Constraint], int]:
    width = draw(st.integers(0, 4))
    one = st.builds(
        Constraint,
        st.tuples(*[st.integers(-3, 3)] * width),
        st.integers(-5, 5),
        st.sampled_from([False, False, False, True]),
    )
    return draw(st.lists(one, max_size=7)), width


def canonical(description: Description) -> tuple[object, ...]:
    """Return what does not depend on which minimal generators were found."""
    lines = echelon(description.lines)
    pivots = [pivot for _, pivot in lines]

    def moved(values: Vector, denominator: int) -> tuple[Fraction, ...]:
        exact = [Fraction(value, denominator) for value in values]
        for line, pivot in lines:
            factor = exact[pivot] / line[pivot]
            exact = [a - factor * b for a, b in zip(exact, line, strict=True)]
        assert all(exact[pivot] == 0 for pivot in pivots)
        return tuple(exact)

    def direction(values: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        size = next(abs(value) for value in values if value)
        return tuple(value / size for value in values)

    vertices = {moved(one.numerators, one.denominator) for one in description.vertices}
    return vertices, {direction(moved(ray, 1)) for ray in description.rays}, lines


@given(polyhedra())
@settings(deadline=None)
def test_generators_satisfy_the_constraints(case: tuple[list[Constraint], int]) -> None:
    constraints, width = case
    found = describe(constraints, width)
    assert found is not None
    for constraint in constraints:
        assert all(holds(constraint, v.numerators, v.denominator) for v in found.vertices)
        assert all(holds(constraint, ray, 0) for ray in found.rays)
        for line in found.lines:
            assert dot(constraint.coefficients, line) == 0
    if not found.vertices:
        assert not found.rays
        assert not found.lines
    assert found.size == len(found.vertices) + len(found.rays) + len(found.lines)


@given(polyhedra())
@settings(deadline=None)
def test_no_point_of_a_small_grid_is_lost(case: tuple[list[Constraint], int]) -> None:
    constraints, width = case
    found = describe(constraints, width)
    assert found is not None
    back = constraints_of(found, width)
    for doubled in product(range(-3, 4), repeat=width):
        before = all(holds(one, doubled, 2) for one in constraints)
        assert before == all(holds(one, doubled, 2) for one in back)


@given(polyhedra())
@settings(deadline=None)
def test_constraints_and_generators_round_trip(case: tuple[list[Constraint], int]) -> None:
    constraints, width = case
    found = describe(constraints, width)
    assert found is not None
    again = describe(constraints_of(found, width), width)
    assert again is not None
    assert canonical(again) == canonical(found)


@given(polyhedra(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_neither_order_nor_way_matters(case: tuple[list[Constraint], int], random: object) -> None:
    constraints, width = case
    expected = describe(constraints, width)
    shuffled = list(constraints)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for order in (constraints, shuffled):
        found = describe(order, width, PLENTY)
        assert found is not None
        assert expected is not None
        assert canonical(found) == canonical(expected)


def test_the_example_of_the_module() -> None:
    found = describe([Constraint((1, 0)), Constraint((-1, 1), -1)], 2)
    assert found is not None
    assert found.vertices == (Vertex((0, 1)),)
    assert sorted(found.rays) == [(0, 1), (1, 1)]
    assert found.lines == ()


@pytest.mark.parametrize("effort", [None, PLENTY])
def test_no_dimension_at_all(effort: Effort | None) -> None:
    point = Description((Vertex(()),), (), ())
    assert describe([], 0, effort) == point
    assert describe([Constraint((), 1)], 0, effort) == point
    assert describe([Constraint((), 0, True)], 0, effort) == point
    assert describe([Constraint((), -1)], 0, effort) == Description((), (), ())
    assert constraints_of(point, 0) == ()


@pytest.mark.parametrize("effort", [None, PLENTY])
def test_no_constraints(effort: Effort | None) -> None:
    found = describe([], 3, effort)
    assert found is not None
    assert found.vertices == (Vertex((0, 0, 0)),)
    assert found.rays == ()
    assert echelon(found.lines) == echelon([(1, 0, 0), (0, 1, 0), (0, 0, 1)])


@pytest.mark.parametrize("effort", [None, PLENTY])
def test_contradictions_leave_nothing(effort: Effort | None) -> None:
    constraints = [Constraint((1, 0), -1), Constraint((-1, 0)), Constraint((0, 1))]
    assert describe(constraints, 2, effort) == Description((), (), ())


@pytest.mark.parametrize("width", [0, 1, 3])
def test_the_constraints_of_nothing_are_a_contradiction(width: int) -> None:
    for nothing in (
        Description((), (), ()),
        Description((), ((1,) * width,) if width else (), ()),
    ):
        (found,) = constraints_of(nothing, width)
        assert found.coefficients == (0,) * width
        assert not holds(found, (0,) * width, 1)


def test_vertices_with_denominators_are_in_lowest_terms() -> None:
    found = describe([Constraint((6, 0), -3), Constraint((0, 9), -6), Constraint((-1, -1), 7)], 2)
    assert found is not None
    assert set(found.vertices) == {Vertex((3, 4), 6), Vertex((1, 13), 2), Vertex((19, 2), 3)}
    assert Vertex.of((4, -6), 2) == Vertex((2, -3), 1)
    assert Vertex.of((0, 0), 5) == Vertex((0, 0), 1)
    assert Vertex.of((3, 0), 6) == Vertex((1, 0), 2)
    assert Vertex.of((2, 0), 1).is_integer
    assert not Vertex.of((3, 0), 2).is_integer


def test_numbers_of_any_size() -> None:
    large = 10**30
    constraints = [Constraint((large, 1), -(large**2)), Constraint((0, 1), 7)]
    found = describe(constraints, 2)
    assert found is not None
    assert found.vertices == (Vertex.of((large**2 + 7, -7 * large), large),)
    assert sorted(found.rays) == [(-1, large), (1, 0)]
    again = describe(constraints_of(found, 2), 2, PLENTY)
    assert again is not None
    assert canonical(again) == canonical(found)


def cube(width: int) -> list[Constraint]:
    axes = [tuple(int(k == axis) for k in range(width)) for axis in range(width)]
    return [
        constraint
        for axis in axes
        for constraint in (Constraint(axis), Constraint(tuple(-v for v in axis), 1))
    ]


def test_a_limit_on_the_generators() -> None:
    found = describe(cube(6), 6, Effort(64))
    assert found is not None
    assert len(found.vertices) == 64
    assert describe(cube(6), 6, Effort(63)) is None
    # The limit strikes long before the 2^40 vertices exist.
    assert describe(cube(40), 40, Effort(500)) is None


def test_a_limit_on_the_time() -> None:
    assert describe(cube(3), 3, Effort(1_000, seconds=0.0)) is None


def test_a_cyclic_polytope_has_as_many_facets_as_a_polytope_can() -> None:
    points = [tuple(t**k for k in range(1, 5)) for t in range(-4, 5)]
    facets = constraints_of(Description(tuple(map(Vertex, points)), (), ()), 4)
    # In four dimensions a cyclic polytope with n vertices has n (n - 3) / 2 facets.
    assert len(facets) == len(points) * (len(points) - 3) // 2
    found = describe(facets, 4)
    assert found is not None
    assert {vertex.numerators for vertex in found.vertices} == set(points)


HASHED = """
from polygym.compiler.poly.spaces.polyhedra import Polyhedra
from tests.sources import kernel_scop
space = Polyhedra(kernel_scop("gemver"))
print(space.generators(space.all, space.carryable(space.all)))
from polygym.compiler.poly.spaces.farkas import conditions
print(conditions(space.scop))
"""


def test_other_processes_find_the_same() -> None:
    answers = {
        subprocess.run(
            [sys.executable, "-c", HASHED],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(answers) == 1
    assert "Vertex" in answers.pop()
