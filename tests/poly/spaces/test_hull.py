"""The convex hull of integer points, against points that are counted one by one."""

from fractions import Fraction
from itertools import product
from math import inf

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.poly.dependences import Dependence, DependenceKind, dependences
from polygym.poly.integer_vectors import Vector, dot, echelon
from polygym.poly.schedule import parameter_names
from polygym.poly.spaces import farkas
from polygym.poly.spaces.farkas import differences_of, integer_hull, pairs_of
from polygym.poly.spaces.generators import (
    GeneratorSet,
    RationalPoint,
    constraints_of,
    enumerate_generators,
)
from tests.c_programs import SMALL_PROGRAMS
from tests.oracles.instances import pairs, points


def corners(of: set[Vector]) -> set[Vector]:
    """Return the vertices of the hull of points in the plane (Andrew's chains)."""
    ordered = sorted(of)
    if len(ordered) < 3:
        return set(ordered)

    def chain(along: list[Vector]) -> list[Vector]:
        kept: list[Vector] = []
        for p in along:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > 0:
                    break
                kept.pop()
            kept.append(p)
        return kept

    return {*chain(ordered), *chain(ordered[::-1])}


def vertices_of(generators: GeneratorSet) -> set[Vector]:
    assert all(vertex.is_integer for vertex in generators.vertices)
    return {vertex.numerators for vertex in generators.vertices}


def contains(generators: GeneratorSet, width: int, point: Vector) -> bool:
    values = [
        (constraint, dot(constraint.coefficients, point) + constraint.constant)
        for constraint in constraints_of(generators, width)
    ]
    return all(
        value == 0 if linear_constraint.is_equality else value >= 0
        for linear_constraint, value in values
    )


@st.composite
def sets(draw: st.DrawFn, names: str, *, bounded: bool) -> isl.BasicSet:
    """Draw a set with existential variables and vertices that are not integer."""
    coefficient = st.integers(-4, 4)
    conditions = [f"0 <= {name} <= {draw(st.integers(1, 7))}" for name in names if bounded]
    for _ in range(draw(st.integers(1, 3))):
        form = " + ".join(f"{draw(coefficient)} {name}" for name in names)
        kind = draw(st.integers(0, 3))
        if kind == 0:
            conditions.append(
                f"({form}) mod {draw(st.integers(2, 4))} <= {draw(st.integers(0, 2))}"
            )
        elif kind == 1:
            conditions.append(f"floor(({form}) / {draw(st.integers(2, 5))}) <= {draw(coefficient)}")
        else:
            conditions.append(f"{form} <= {draw(st.integers(-2, 9))}")
    return isl.BasicSet(f"{{ [{', '.join(names)}] : {' and '.join(conditions)} }}")


@given(sets("ij", bounded=True))
@settings(deadline=None, max_examples=150)
def test_bounded_sets_in_the_plane(subject: isl.BasicSet) -> None:
    generator_set = integer_hull(subject)
    assert vertices_of(generator_set) == corners(set(points(subject.to_set(), {})))
    assert generator_set.rays == generator_set.lines == ()


@given(sets("ijk", bounded=True))
@settings(deadline=None, max_examples=80)
def test_bounded_sets_in_space(subject: isl.BasicSet) -> None:
    inside = points(subject.to_set(), {})
    everything = GeneratorSet(tuple(map(RationalPoint, inside)), (), ())
    expected = enumerate_generators(constraints_of(everything, 3), 3)
    assert expected is not None
    assert vertices_of(integer_hull(subject)) == vertices_of(expected)


@given(sets("ij", bounded=False))
@settings(deadline=None, max_examples=150)
def test_unbounded_sets(subject: isl.BasicSet) -> None:
    generator_set = integer_hull(subject)
    inside = {point for point in product(range(-9, 10), repeat=2) if is_in(subject, point)}
    # Nothing of the set is outside of what was found …
    assert all(contains(generator_set, 2, point) for point in inside)
    # … and what was found is made of points of the set, from which every ray stays in it.
    assert bool(generator_set.vertices) != subject.is_empty()
    for vertex in (
        member_on(subject, rational_point, generator_set.lines)
        for rational_point in generator_set.vertices
    ):
        assert is_in(subject, vertex)
        for line in generator_set.lines:
            assert stays(subject, vertex, line)
            assert stays(subject, vertex, tuple(-value for value in line))
        for ray in generator_set.rays:
            assert stays(subject, vertex, ray)


def member_on(subject: isl.BasicSet, vertex: RationalPoint, lines: tuple[Vector, ...]) -> Vector:
    """Return a point of the set on the face vertex + lines."""
    start = [Fraction(value, vertex.denominator) for value in vertex.numerators]
    parts = vertex.denominator * max((abs(value) for line in lines for value in line), default=1)
    for steps in product(range(60 * parts if len(lines) == 1 else 60), repeat=len(lines)):
        at = [
            value
            + sum(Fraction(step, parts) * line[k] for step, line in zip(steps, lines, strict=True))
            for k, value in enumerate(start)
        ]
        point = tuple(map(int, at))
        if at == list(point) and is_in(subject, point):
            return point
    raise AssertionError(f"no point of {subject} on {vertex} + {lines}")


def is_in(subject: isl.BasicSet, point: Vector) -> bool:
    for position, value in enumerate(point):
        subject = subject.fix_val(isl.dim_type.set, position, isl.Val(str(value)))
    return not subject.is_empty()


def stays(subject: isl.BasicSet, start: Vector, along: Vector) -> bool:
    """Whether multiples of a direction lead to points of the set, all the way to the horizon."""
    step = 2 * 2 * 3 * 5  # every modulus that is drawn, and their products, divide a power of it
    return all(
        is_in(subject, tuple(a + step**power * b for a, b in zip(start, along, strict=True)))
        for power in (3, 6, 25)
    )


@pytest.mark.parametrize(
    ("text", "vertices", "rays", "lines"),
    [
        ("{ [i] : 2i >= 1 }", {(1,)}, {(1,)}, ()),
        ("{ [i] : exists e : i = 2e and 1 <= i <= 9 }", {(2,), (8,)}, set(), ()),
        ("{ [i, n] : i >= 0 and 2i >= n and n >= 0 }", {(0, 0)}, {(1, 0), (1, 2)}, ()),
        ("{ [i, n] : 2i >= n and n >= 1 }", {(1, 1), (1, 2)}, {(1, 0), (1, 2)}, ()),
        ("{ [i, j] : 2i + j = 7 and j >= 0 }", {(3, 1)}, {(-1, 2)}, ()),
        ("{ [i, j] : 2i = 3j }", {(0, 0)}, set(), ((3, 2),)),
        ("{ [i, j] : (i + j) mod 2 = 1 }", None, set(), ((1, 0), (0, 1))),
        ("{ [i, j] : 0 <= j <= i - 2*floor(i/4) and i >= 0 }", None, {(1, 0), (2, 1)}, ()),
        ("{ [i, j] : 3 <= 2j - 4i <= 3 }", set(), set(), ()),
        ("{ [i] : 1 <= 3i <= 2 }", set(), set(), ()),
        ("{ [i] : exists e : i = 7e and 1 <= i <= 6 }", set(), set(), ()),
        ("{ [] : }", {()}, set(), ()),
        ("{ [i] : i >= 1000000000000000000000000000001 and 2i >= 3 }", {(10**30 + 1,)}, {(1,)}, ()),
        ("{ [i] : 3i >= 1000000000000000000000000000000 }", {((10**30 + 2) // 3,)}, {(1,)}, ()),
    ],
)
def test_named_cases(
    text: str, vertices: set[Vector] | None, rays: set[Vector], lines: tuple[Vector, ...]
) -> None:
    generator_set = integer_hull(isl.BasicSet(text))
    if vertices is not None:
        assert vertices_of(generator_set) == vertices
    assert set(generator_set.rays) == rays
    assert echelon(generator_set.lines) == echelon(lines)


def test_a_knapsack() -> None:
    subject = isl.BasicSet("{ [i, j] : i >= 0 and j >= 0 and 1789 i + 2971 j <= 86028 }")
    assert vertices_of(integer_hull(subject)) == corners(set(points(subject.to_set(), {})))


HARD = "{ [i, j] : 2i >= 1 and 3j >= 1 and 7i + 11j <= 100 and (i + 2j) mod 5 = 1 }"


@pytest.mark.parametrize(
    ("name", "value"), [("_MOST_OPERATIONS", 50), ("_MOST_ROUNDS", 1), ("_MOST_POINTS", 1)]
)
def test_past_a_bound_the_rational_polyhedron_stands_for_the_hull(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = isl.BasicSet(HARD)
    exact = integer_hull(subject)
    assert vertices_of(exact) == corners(set(points(subject.to_set(), {})))
    monkeypatch.setattr(farkas, name, value)
    around = integer_hull(subject)
    assert not all(vertex.is_integer for vertex in around.vertices)
    assert all(contains(around, 2, point) for point in points(subject.to_set(), {}))
    # The bound is gone with the call.
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    monkeypatch.undo()
    assert integer_hull(subject) == exact


def test_a_polyhedron_with_too_many_generators_is_refused() -> None:
    names = [f"x{k}" for k in range(40)]
    box = " and ".join(f"0 <= {name} <= 9" for name in names)
    with pytest.raises(LimitError, match=r"over 40 iterators .* at most 10,000 vertices"):
        integer_hull(isl.BasicSet(f"{{ [{', '.join(names)}] : {box} }}"))
    assert farkas._MOST_GENERATORS < inf


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_the_pairs_of_a_dependence(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    names = parameter_names(scop)
    for dependence in dependences(scop):
        flat = pairs_of(dependence, names)
        sizes = dict(zip(names, (4, 3), strict=False))
        expected = {
            (*source, *sink, *sizes.values())
            for source, sink in pairs(isl.Map(dependence.relation), sizes)
        }
        fixed = flat.to_set()
        for k, value in enumerate(sizes.values()):
            place = fixed.dim(isl.dim_type.set) - len(sizes) + k
            fixed = fixed.fix_val(isl.dim_type.set, place, isl.Val(value))
        assert set(points(fixed, {})) == expected
        if dependence.source == dependence.sink:
            steps = differences_of(dependence)
            for source, sink in pairs(isl.Map(dependence.relation), sizes):
                assert is_in(steps, tuple(b - a for a, b in zip(source, sink, strict=True)))


def test_differences_forget_the_parameters() -> None:
    relation = "[n, m] -> { S[i, j] -> S[i', j'] : i' = i + 2 and 0 <= i < n and 0 <= j, j' < m }"
    dependence = Dependence("S", "S", DependenceKind.FLOW, ("A",), relation)
    assert differences_of(dependence).to_set().is_equal(isl.Set("{ S[2, d] }"))
