"""A statement's domain at given sizes, in plain numbers: the box around it, and what lies in it.

isl answers such questions exactly, but takes a tenth of a millisecond for each, and here are
thousands. So the constraints become a Python expression, once. Example: the domain
``{ S[i, j] : 0 <= i < 40 and 0 <= j < i }`` has the box 1 ≤ i ≤ 39, 0 ≤ j ≤ 38 and a test of its
three other constraints. A domain that only isl can describe (with strides: i = 2k) is tested by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import islpy as isl

from polygym.ir.scop import Statement
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.isl_values import coefficients, constant_term, highest_value, lowest_value

IteratorValues = tuple[int, ...]
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """The ranges of a statement's iterators, both ends included, and a test for its instances."""

    statement: str
    ranges: Ranges
    contains: Callable[[IteratorValues], bool]
    is_empty: bool

    @staticmethod
    def of(statement: Statement, sizes: Sizes) -> BoundingBox:
        """Return the box of a statement."""
        ranges = bounding_ranges(statement.domain, tuple(sizes.items()))
        if ranges is None:
            return BoundingBox(statement.name, ((0, -1),), lambda _: False, True)
        return BoundingBox(
            statement.name,
            ranges,
            _membership_test(at_sizes(isl.Set(statement.domain), sizes)),
            False,
        )

    @property
    def count(self) -> int:
        """How many points the box has: at least as many as the domain."""
        return 0 if self.is_empty else box_size(self.ranges)

    def points(self) -> Iterator[IteratorValues]:
        """Yield all instances."""
        if not self.is_empty:
            all_of_them = product(*(range(low, high + 1) for low, high in self.ranges))
            yield from filter(self.contains, all_of_them)


@lru_cache(maxsize=256)
def bounding_ranges(domain: str, sizes: tuple[tuple[str, int], ...]) -> Ranges | None:
    """Return the ranges of the smallest box around a domain, None where it is empty.

    >>> bounding_ranges("[n] -> { S[i, j] : 0 <= i < n and 0 <= j < i }", (("n", 40),))
    ((1, 39), (0, 38))
    """
    points = at_sizes(isl.Set(domain), dict(sizes))
    if points.is_empty():
        return None
    return tuple(
        (lowest_value(points, place), highest_value(points, place))
        for place in range(points.dim(isl.dim_type.set))
    )


def box_size(ranges: Ranges | None) -> int:
    """Return how many points a box has.

    >>> box_size(((1, 39), (0, 38))), box_size(()), box_size(None)
    (1521, 1, 0)
    """
    return 0 if ranges is None else prod(high - low + 1 for low, high in ranges)


def _membership_test(points: isl.Set) -> Callable[[IteratorValues], bool]:
    """Return what says whether a point lies in a set."""
    pieces = points.get_basic_sets()
    if any(piece.dim(isl.dim_type.div) for piece in pieces):
        return lambda point: _contains(points, point)
    text = " or ".join(
        "(" + (" and ".join(map(_constraint_text, piece.get_constraints())) or "True") + ")"
        for piece in pieces
    )
    test: Callable[[IteratorValues], bool] = eval(f"lambda p: {text}", {})
    return test


def _constraint_text(constraint: isl.Constraint) -> str:
    """Return a constraint over the point ``p`` as Python."""
    terms = [str(constant_term(constraint))]
    for place, factor in enumerate(coefficients(constraint, isl.dim_type.set)):
        if factor:
            terms.append(f"{factor}*p[{place}]")
    return f"{' + '.join(terms)} {'==' if constraint.is_equality() else '>='} 0"


def _contains(points: isl.Set, point: IteratorValues) -> bool:
    for place, value in enumerate(point):
        points = points.fix_val(isl.dim_type.set, place, isl.Val(value))
    return not points.is_empty()
