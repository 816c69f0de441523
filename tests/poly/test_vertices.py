"""Corners, and what rows reach between them, against all points one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import islpy as isl
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.poly.evaluation import integer_hull_vertices, value_range

_MOST = 5
_NAMES = ("i", "j", "k")


@st.composite
def polytopes(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    """Return a union of one or two polytopes in a box, and its points."""
    depth = draw(st.integers(1, 3))
    row = st.tuples(*[st.integers(-2, 2)] * depth, st.integers(-4, 6))
    pieces = draw(st.lists(st.lists(row, max_size=3), min_size=1, max_size=2))
    names = _NAMES[:depth]
    box = " and ".join(f"0 <= {name} <= {_MOST}" for name in names)
    texts: list[str] = []
    points: set[tuple[int, ...]] = set()
    for piece in pieces:
        sums = (
            " + ".join([*(f"{a}{x}" for a, x in zip(form, names, strict=False)), str(form[-1])])
            for form in piece
        )
        texts.append(" and ".join([box, *(f"{sum_} >= 0" for sum_ in sums)]))
        points.update(
            point
            for point in product(range(_MOST + 1), repeat=depth)
            if all(
                sum(a * x for a, x in zip(form, (*point, 1), strict=True)) >= 0 for form in piece
            )
        )
    return f"{{ S[{', '.join(names)}] : {' or '.join(map('({})'.format, texts))} }}", sorted(points)


@given(polytopes(), st.tuples(*[st.integers(-3, 3)] * 3))
@settings(deadline=None, max_examples=200)
def test_ends_are_those_of_all_points(
    polytope: tuple[str, list[tuple[int, ...]]], factors: tuple[int, int, int]
) -> None:
    text, points = polytope
    at = integer_hull_vertices(isl.Set(text))
    assert at is not None
    row = factors[: isl.Set(text).dim(isl.dim_type.set)]
    ends = value_range(row, at)
    values = [sum(a * x for a, x in zip(row, point, strict=True)) for point in points]
    if ends is not None:
        assert values
        assert ends == (min(values), max(values))
    if all(isinstance(x, int) for corner in at for x in corner):
        assert (ends is None) == (not values)


def test_corners_that_are_no_points_say_nothing_of_rows_that_end_there() -> None:
    at = integer_hull_vertices(isl.Set("{ [i, j] : 0 <= j and 2j <= i < 4 }"))
    assert at is not None
    assert sorted(at) == [(0, 0), (3, 0), (3, Fraction(3, 2))]
    assert value_range((1, 0), at) == (0, 3)
    assert value_range((0, 1), at) is None
    assert value_range((0, 0), at) == (0, 0)


def test_what_corners_do_not_describe() -> None:
    assert integer_hull_vertices(isl.Set("{ [i] : i mod 2 = 0 and 0 <= i < 9 }")) is None
    assert integer_hull_vertices(isl.Set("{ [i, j] : 0 <= i < 9 }")) is None
    assert integer_hull_vertices(isl.Set("{ [i] : i < 0 and i > 0 }")) == ()
    assert integer_hull_vertices(isl.Set("{ S[] }")) == ((),)
