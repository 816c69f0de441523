"""By how much the rows of loops grow from one iteration to the next: holes in domains.

A row takes every so many-th value. In a domain without holes that is the common divisor of its
factors: 2·i at i < 5 takes 5 values, 0, 2, … 8. In one with holes, { S[i, j] : i mod 2 = 0 } say,
as a loop with the step 2 has them, it is more: i takes every second value. And what a row does
may follow from what the rows of the loops around it are: where (i + j) mod 2 = 0 all values of j
are taken, but after i every second one only.

The holes that count are those that a domain has everywhere: of its affine hull, which knows what
all points have in common modulo something. Others, as those of { S[i] : i < 20 or i mod 7 = 0 },
are left out: loops run through them.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import gcd
from typing import TypeAlias

import islpy as isl

from polygym.poly.isl_values import constant_term, isl_text, to_int

Factors: TypeAlias = tuple[int, ...]
"""A row's factors of the iterators."""


def domain_holes(points: isl.Set) -> str:
    """Return the holes that a domain without parameters has everywhere, empty for none.

    >>> domain_holes(isl.Set("{ S[i, j] : 0 <= j < i < 9 }"))
    ''
    >>> domain_holes(isl.Set("{ S[i, j] : i mod 2 = 0 and 0 <= j < i < 9 }"))
    '{ S[i, j] : (i) mod 2 = 0 }'
    """
    if points.is_empty() or not _has_floors(points):
        return ""
    hull = points.affine_hull()
    return isl_text(hull) if hull.dim(isl.dim_type.div) else ""


def row_step(holes: str, row: Factors, outer: Sequence[Factors] = ()) -> int:
    """Return by how much a row grows at the least, while the rows of the loops around it stay.

    (Those are asked about in domains with holes alone.)

    >>> row_step("", (4, 6)), row_step("", (0, 0))
    (2, 1)
    >>> red_and_black = "{ S[i, j] : (i + j) mod 2 = 0 }"
    >>> row_step(red_and_black, (0, 1)), row_step(red_and_black, (0, 1), [(1, 0)])
    (1, 2)
    """
    if not holes:
        return gcd(*row) or 1
    return _row_step(holes, row, tuple(outer))


@lru_cache(maxsize=4096)
def _row_step(holes: str, row: Factors, outer: tuple[Factors, ...]) -> int:
    points = isl.Set(holes)
    names = [f"x{place}" for place in range(len(row))]
    sums = [
        " + ".join(f"{factor}{name}" for factor, name in zip(factors, names, strict=True)) or "0"
        for factors in (*outer, row)
    ]
    rows = isl.Map(f"{{ {points.get_tuple_name()}[{', '.join(names)}] -> [{', '.join(sums)}] }}")
    result = to_int(points.apply(rows).get_stride_info(len(outer)).get_stride())
    return max(1, result)


def remove_holes(points: isl.Set) -> tuple[isl.Set, Factors, Factors]:
    """Return a domain without the holes that its dimensions have each by itself.

    With it come factors and offsets: i = 2·x0 - 1 in the example.

    >>> remove_holes(isl.Set("{ S[i, j] : (i) mod 2 = 1 and 0 < i < 9 and 0 <= j <= i }"))
    (Set("{ S[x0, x1] : 0 < x0 <= 4 and 0 <= x1 < 2x0 }"), (2, 1), (-1, 0))
    """
    width = points.dim(isl.dim_type.set)
    factors, offsets = [1] * width, [0] * width
    if points.is_empty() or not _has_floors(points):
        return points, tuple(factors), tuple(offsets)
    for place in range(width):
        info = points.get_stride_info(place)
        by, first = to_int(info.get_stride()), info.get_offset()
        if by > 1 and first.is_cst():
            factors[place], offsets[place] = by, constant_term(first)
    names = [f"x{place}" for place in range(width)]
    sums = [f"{a}{x} + {b}" for a, x, b in zip(factors, names, offsets, strict=True)]
    name = points.get_tuple_name()
    there = isl.MultiAff(f"{{ {name}[{', '.join(names)}] -> {name}[{', '.join(sums)}] }}")
    return points.preimage_multi_aff(there).coalesce(), tuple(factors), tuple(offsets)


def _has_floors(points: isl.Set) -> bool:
    return any(piece.dim(isl.dim_type.div) for piece in points.get_basic_sets())
