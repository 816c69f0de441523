"""Conversion of isl's numbers and texts to Python.

Under a bound (:mod:`polygym.poly.isl_budget`) any call of isl may be the one that is
refused, and not every function of isl and islpy says so. Objects and answers to questions do: where
isl has none, islpy raises ``isl.Error``. Three things do not:

* a text, ``to_str()`` and ``to_C_str()``, is None, and so is the text that a number goes through on
  its way to Python: ``int(None)``;
* the number of a set's points, ``count_val()``, is 0, or how many were counted so far;
* it is 0 for infinitely many, too.

So nothing else in polygym calls them (a test looks). All functions here return what is right or
raise: an ``isl.Error`` where isl's patience has ended, which every bound turns into its own limit,
an :class:`~polygym.errors.InternalError` for what is no number.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import islpy as isl

from polygym.errors import InternalError


def to_int(value: isl.Val) -> int:
    """Return an integer of isl's, of any size.

    >>> to_int(isl.Val("123456789012345678901234567890")) % 1000
    890
    """
    if not value.is_int():
        raise InternalError(f"isl: expected an integer, found {isl_text(value)}")
    return int(isl_text(value))


@lru_cache(maxsize=1024)
def isl_value(value: int) -> isl.Val:
    """Return an integer of Python's, of any size, as isl's; that of a small one is remembered.

    >>> isl_value(2**70)
    Val("1180591620717411303424")
    """
    return isl.Val(str(value))


def affine_form(
    zero: isl.Aff, inputs: Sequence[int], parameters: Sequence[int], value: int
) -> isl.Aff:
    """Return a form with these factors and this constant, over what ``zero`` is a form of.

    >>> affine_form(isl.Aff("[n] -> { [i, j] -> [(0)] }"), (2, 0), (-1,), 3)
    Aff("[n] -> { [i, j] -> [(3 - n + 2i)] }")
    """
    aff = zero.set_constant_val(isl_value(value))
    for kind, factors in ((isl.dim_type.in_, inputs), (isl.dim_type.param, parameters)):
        for place, factor in enumerate(factors):
            if factor:
                aff = aff.set_coefficient_val(kind, place, isl_value(factor))
    return aff


def isl_text(isl_object: Any) -> str:
    """Return the text of an object of isl's."""
    return _complete(isl_object.to_str())


def isl_c_text(expression: Any) -> str:
    """Return an expression or a node of an AST as C."""
    return _complete(expression.to_C_str())


def coefficient(form: Any, kind: isl.dim_type, position: int) -> int:
    """Return a coefficient of an affine form or of a constraint.

    >>> coefficient(isl.Aff("{ [i, j] -> [(2i - 3j + 5)] }"), isl.dim_type.in_, 1)
    -3
    """
    return to_int(form.get_coefficient_val(kind, position))


def coefficients(form: Any, kind: isl.dim_type) -> tuple[int, ...]:
    """Return the coefficients of all dimensions of a kind."""
    return tuple(coefficient(form, kind, position) for position in range(form.dim(kind)))


def constant_term(form: Any) -> int:
    """Return the constant of an affine form or of a constraint.

    >>> constant_term(isl.Aff("{ [i, j] -> [(2i - 3j + 5)] }"))
    5
    """
    return to_int(form.get_constant_val())


def coordinates(point: isl.Point, kind: isl.dim_type = isl.dim_type.set) -> tuple[int, ...]:
    """Return a point as a tuple.

    >>> coordinates(isl.Set("{ [i, -1] : i = 3 }").sample_point())
    (3, -1)
    """
    width = point.get_space().dim(kind)
    return tuple(to_int(point.get_coordinate_val(kind, place)) for place in range(width))


def lowest_value(points: isl.Set, dimension: int) -> int:
    """Return the smallest value of a dimension of a set that has points and a smallest value.

    >>> lowest_value(isl.Set("{ [i] : 10 < 3i < 20 }"), 0)
    4
    """
    return to_int(_without_empty_parts(points).dim_min_val(dimension))


def highest_value(points: isl.Set, dimension: int) -> int:
    """Return the largest value of a dimension of a set that has points and a largest value."""
    return to_int(_without_empty_parts(points).dim_max_val(dimension))


def _without_empty_parts(points: isl.Set) -> isl.Set:
    """Return a set without parts that are empty: isl takes values of these, too.

    >>> parts = isl.Set("{ [k, i, j] : k <= j < 9 and (0 <= i < k or (k >= 0 and k < i < 9)) }")
    >>> at_zero = parts.fix_val(isl.dim_type.set, 2, isl.Val(0))
    >>> (at_zero.dim_min_val(1), lowest_value(at_zero, 1))
    (Val("0"), 1)

    The first part of this set has no integers, though fractions such as (5/7, -3/7)::

    >>> between = "2y <= 4 - 5x and -3 - x <= 5y <= -2 + x"
    >>> lowest_value(isl.Set(f"{{ [x, y] : ({between}) or (2 <= x <= 3 and y = 3 + x) }}"), 0)
    2
    """
    if points.n_basic_set() < 2:
        return points
    parts: list[isl.BasicSet] = []
    points.foreach_basic_set(parts.append)
    result = isl.Set.empty(points.get_space())
    for part in parts:
        if not part.is_empty():
            result = result.union(isl.Set.from_basic_set(part))
    return result


def range_length(points: isl.Set, dimension: int) -> int:
    """Return how many integers lie between the smallest and the largest value of a dimension.

    >>> range_length(isl.Set("{ [i] : 10 < 3i < 20 }"), 0)
    3
    """
    return highest_value(points, dimension) - lowest_value(points, dimension) + 1


def count_points(points: isl.Set) -> int:
    """Return how many points a set has.

    Where the count was cut short its own text is refused as well, since isl stays exhausted.

    >>> count_points(isl.Set("{ [i, j] : 0 <= j < i < 4 }"))
    6
    """
    if not points.is_bounded():
        raise InternalError(f"isl: expected finitely many points, found {isl_text(points)}")
    return to_int(points.count_val())


def _complete(text: str | None) -> str:
    if text is None:
        # In isl's own words, by which bounds know it.
        raise isl.Error("maximal number of operations exceeded")
    return text
