"""Vertices of sets without parameters, as exact numbers.

An affine form takes its least and its greatest value over a polytope at corners of it. Over the
integer points of one it does so too where such a corner is an integer point itself.

Example: { [i, j] : 0 <= j and 2j <= i < 4 } has the corners (0, 0), (3, 0) and (3, 3/2). The form i
takes the values 0 to 3; of j the corners say 3/2, and the greatest over integer points is 1.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import islpy as isl

from polygym.poly.isl_values import to_int

RationalVertex: TypeAlias = tuple[int | Fraction, ...]
"""The coordinates of a corner; those that are integers are of Python's."""


def rational_vertices(polytope: isl.BasicSet) -> tuple[RationalVertex, ...]:
    """Return the corners of a set that inequalities alone describe.

    >>> sorted(rational_vertices(isl.BasicSet("{ [i, j] : 0 <= j and 2j <= i < 4 }")))
    [(0, 0), (3, 0), (3, Fraction(3, 2))]
    """
    vertices: list[isl.Vertex] = []
    # Under a bound isl may refuse anything, which a function that it calls could not say.
    polytope.compute_vertices().foreach_vertex(vertices.append)
    forms = (vertex.get_expr() for vertex in vertices)
    return tuple(
        tuple(_value(form.get_aff(k)) for k in range(form.dim(isl.dim_type.out))) for form in forms
    )


def integer_hull_vertices(points: isl.Set) -> tuple[RationalVertex, ...] | None:
    """Return the corners of polytopes of which a set has all integer points, and no others.

    None says that it is unbounded or has holes.
    """
    pieces = points.get_basic_sets()
    if any(piece.dim(isl.dim_type.div) for piece in pieces) or not points.is_bounded():
        return None
    if not points.dim(isl.dim_type.set):
        return () if points.is_empty() else ((),)
    return tuple(dict.fromkeys(corner for piece in pieces for corner in rational_vertices(piece)))


def value_range(row: Sequence[int], at: Sequence[RationalVertex]) -> tuple[int, int] | None:
    """Return the least and the greatest value of a row over the integer points between corners.

    They are those of corners that are integer points; None where others have less or more.

    >>> at = rational_vertices(isl.BasicSet("{ [i, j] : 0 <= j and 2j <= i < 4 }"))
    >>> value_range((1, -1), at), value_range((0, 1), at)
    ((0, 3), None)
    """
    values = [sum(a * x for a, x in zip(row, corner, strict=True)) for corner in at]
    reached = [
        value
        for value, corner in zip(values, at, strict=True)
        if all(isinstance(x, int) for x in corner)
    ]
    if not reached or min(values) < min(reached) or max(values) > max(reached):
        return None
    return int(min(reached)), int(max(reached))


def _value(form: isl.Aff) -> int | Fraction:
    """Return the value of a form that is a constant."""
    down = to_int(form.get_denominator_val())
    up = to_int(form.get_constant_val().mul(isl.Val(down)))
    return up // down if up % down == 0 else Fraction(up, down)
