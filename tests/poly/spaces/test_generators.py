"""The double description: what a polyhedron is made of, and back."""

import subprocess
import sys
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.poly.integer_vectors import Vector, dot, echelon
from polygym.poly.spaces.generators import (
    EnumerationBudget,
    GeneratorSet,
    LinearConstraint,
    RationalPoint,
    constraints_of,
    enumerate_generators,
)

PLENTY = EnumerationBudget(10_000)


def holds(constraint: LinearConstraint, values: Vector, denominator: int) -> bool:
    """Whether a point, or with denominator 0 a direction, satisfies a constraint."""
    value = dot(constraint.coefficients, values) + constraint.constant * denominator
    return value == 0 if constraint.is_equality else value >= 0


@st.composite
def polyhedra(draw: st.DrawFn) -> tuple[list[LinearConstraint], int]:
    width = draw(st.integers(0, 4))
    strategy = st.builds(
        LinearConstraint,
        st.tuples(*[st.integers(-3, 3)] * width),
        st.integers(-5, 5),
        st.sampled_from([False, False, False, True]),
    )
    return draw(st.lists(strategy, max_size=7)), width


def canonical(description: GeneratorSet) -> tuple[object, ...]:
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

    vertices = {moved(point.numerators, point.denominator) for point in description.vertices}
    return vertices, {direction(moved(ray, 1)) for ray in description.rays}, lines


@given(polyhedra())
@settings(deadline=None)
def test_generators_satisfy_the_constraints(case: tuple[list[LinearConstraint], int]) -> None:
    constraints, width = case
    generator_set = enumerate_generators(constraints, width)
    assert generator_set is not None
    for constraint in constraints:
        assert all(holds(constraint, v.numerators, v.denominator) for v in generator_set.vertices)
        assert all(holds(constraint, ray, 0) for ray in generator_set.rays)
        for line in generator_set.lines:
            assert dot(constraint.coefficients, line) == 0
    if not generator_set.vertices:
        assert not generator_set.rays
        assert not generator_set.lines
    assert generator_set.size == len(generator_set.vertices) + len(generator_set.rays) + len(
        generator_set.lines
    )


@given(polyhedra())
@settings(deadline=None)
def test_no_point_of_a_small_grid_is_lost(case: tuple[list[LinearConstraint], int]) -> None:
    constraints, width = case
    generator_set = enumerate_generators(constraints, width)
    assert generator_set is not None
    back = constraints_of(generator_set, width)
    for doubled in product(range(-3, 4), repeat=width):
        before = all(holds(constraint, doubled, 2) for constraint in constraints)
        assert before == all(holds(linear_constraint, doubled, 2) for linear_constraint in back)


@given(polyhedra())
@settings(deadline=None)
def test_constraints_and_generators_round_trip(case: tuple[list[LinearConstraint], int]) -> None:
    constraints, width = case
    generator_set = enumerate_generators(constraints, width)
    assert generator_set is not None
    again = enumerate_generators(constraints_of(generator_set, width), width)
    assert again is not None
    assert canonical(again) == canonical(generator_set)


@given(polyhedra(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_neither_order_nor_way_matters(
    case: tuple[list[LinearConstraint], int], random: object
) -> None:
    constraints, width = case
    expected = enumerate_generators(constraints, width)
    shuffled = list(constraints)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for order in (constraints, shuffled):
        generator_set = enumerate_generators(order, width, PLENTY)
        assert generator_set is not None
        assert expected is not None
        assert canonical(generator_set) == canonical(expected)


def test_the_example_of_the_module() -> None:
    generator_set = enumerate_generators(
        [LinearConstraint((1, 0)), LinearConstraint((-1, 1), -1)], 2
    )
    assert generator_set is not None
    assert generator_set.vertices == (RationalPoint((0, 1)),)
    assert sorted(generator_set.rays) == [(0, 1), (1, 1)]
    assert generator_set.lines == ()


@pytest.mark.parametrize("effort", [None, PLENTY])
def test_no_dimension_at_all(effort: EnumerationBudget | None) -> None:
    point = GeneratorSet((RationalPoint(()),), (), ())
    assert enumerate_generators([], 0, effort) == point
    assert enumerate_generators([LinearConstraint((), 1)], 0, effort) == point
    assert enumerate_generators([LinearConstraint((), 0, True)], 0, effort) == point
    assert enumerate_generators([LinearConstraint((), -1)], 0, effort) == GeneratorSet((), (), ())
    assert constraints_of(point, 0) == ()


@pytest.mark.parametrize("effort", [None, PLENTY])
def test_no_constraints(effort: EnumerationBudget | None) -> None:
    generator_set = enumerate_generators([], 3, effort)
    assert generator_set is not None
    assert generator_set.vertices == (RationalPoint((0, 0, 0)),)
    assert generator_set.rays == ()
    assert echelon(generator_set.lines) == echelon([(1, 0, 0), (0, 1, 0), (0, 0, 1)])


@pytest.mark.parametrize("effort", [None, PLENTY])
def test_contradictions_leave_nothing(effort: EnumerationBudget | None) -> None:
    constraints = [
        LinearConstraint((1, 0), -1),
        LinearConstraint((-1, 0)),
        LinearConstraint((0, 1)),
    ]
    assert enumerate_generators(constraints, 2, effort) == GeneratorSet((), (), ())


@pytest.mark.parametrize("width", [0, 1, 3])
def test_the_constraints_of_nothing_are_a_contradiction(width: int) -> None:
    for nothing in (
        GeneratorSet((), (), ()),
        GeneratorSet((), ((1,) * width,) if width else (), ()),
    ):
        (constraint,) = constraints_of(nothing, width)
        assert constraint.coefficients == (0,) * width
        assert not holds(constraint, (0,) * width, 1)


def test_vertices_with_denominators_are_in_lowest_terms() -> None:
    generator_set = enumerate_generators(
        [LinearConstraint((6, 0), -3), LinearConstraint((0, 9), -6), LinearConstraint((-1, -1), 7)],
        2,
    )
    assert generator_set is not None
    assert set(generator_set.vertices) == {
        RationalPoint((3, 4), 6),
        RationalPoint((1, 13), 2),
        RationalPoint((19, 2), 3),
    }
    assert RationalPoint.of((4, -6), 2) == RationalPoint((2, -3), 1)
    assert RationalPoint.of((0, 0), 5) == RationalPoint((0, 0), 1)
    assert RationalPoint.of((3, 0), 6) == RationalPoint((1, 0), 2)
    assert RationalPoint.of((2, 0), 1).is_integer
    assert not RationalPoint.of((3, 0), 2).is_integer


def test_numbers_of_any_size() -> None:
    large = 10**30
    constraints = [LinearConstraint((large, 1), -(large**2)), LinearConstraint((0, 1), 7)]
    generator_set = enumerate_generators(constraints, 2)
    assert generator_set is not None
    assert generator_set.vertices == (RationalPoint.of((large**2 + 7, -7 * large), large),)
    assert sorted(generator_set.rays) == [(-1, large), (1, 0)]
    again = enumerate_generators(constraints_of(generator_set, 2), 2, PLENTY)
    assert again is not None
    assert canonical(again) == canonical(generator_set)


def cube(width: int) -> list[LinearConstraint]:
    axes = [tuple(int(k == axis) for k in range(width)) for axis in range(width)]
    return [
        constraint
        for axis in axes
        for constraint in (LinearConstraint(axis), LinearConstraint(tuple(-v for v in axis), 1))
    ]


def test_a_limit_on_the_generators() -> None:
    generator_set = enumerate_generators(cube(6), 6, EnumerationBudget(64))
    assert generator_set is not None
    assert len(generator_set.vertices) == 64
    assert enumerate_generators(cube(6), 6, EnumerationBudget(63)) is None
    # The limit strikes long before the 2^40 vertices exist.
    assert enumerate_generators(cube(40), 40, EnumerationBudget(500)) is None


def test_a_limit_on_the_time() -> None:
    assert enumerate_generators(cube(3), 3, EnumerationBudget(1_000, time_limit=0.0)) is None


def test_a_cyclic_polytope_has_as_many_facets_as_a_polytope_can() -> None:
    points = [tuple(t**k for k in range(1, 5)) for t in range(-4, 5)]
    facets = constraints_of(GeneratorSet(tuple(map(RationalPoint, points)), (), ()), 4)
    # In four dimensions a cyclic polytope with n vertices has n (n - 3) / 2 facets.
    assert len(facets) == len(points) * (len(points) - 3) // 2
    generator_set = enumerate_generators(facets, 4)
    assert generator_set is not None
    assert {vertex.numerators for vertex in generator_set.vertices} == set(points)


HASHED = """
from polygym.poly.spaces.polyhedra import RowPolyhedra
from tests.c_programs import kernel_scop
space = RowPolyhedra(kernel_scop("gemver"))
print(space.generators(space.all_carryable, space.carryable(space.all_carryable)))
from polygym.poly.spaces.farkas import farkas_conditions
print(farkas_conditions(space.scop))
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
    assert "RationalPoint" in answers.pop()
