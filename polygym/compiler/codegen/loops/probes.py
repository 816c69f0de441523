"""Instances that are looked for in loops: those at the corners of a domain, and some inside it.

Corners are found iterator by iterator: the least or the greatest value that the first one takes,
then that of the second among the instances that are left, and so on, from the first iterator to the
last and the other way round. Example: the triangle 0 ≤ j ≤ i < 4 has the corners (0, 0), (3, 0) and
(3, 3). In between, every iterator gets some value of its range; thin ends of a domain are met as
often as thick ones.

Where an iterator's range has gaps (i = 2k) the values drawn may not exist; such a draw is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from random import Random

import islpy as isl

from polygym.compiler.codegen.common.boxes import Values
from polygym.compiler.codegen.common.sizes import at_sizes
from polygym.compiler.poly.isl_numbers import highest, lowest

_MOST_CORNERS = 32
_INSIDE = 16


@lru_cache(maxsize=256)
def probes(domain: str, sizes: tuple[tuple[str, int], ...]) -> tuple[Values, ...]:
    """Return some instances of a domain.

    >>> sorted(set(probes("[n] -> { S[i, j] : 0 <= j <= i < n }", (("n", 2),))))
    [(0, 0), (1, 0), (1, 1)]
    """
    points = at_sizes(isl.Set(domain), dict(sizes))
    if points.is_empty():
        return ()
    return tuple(dict.fromkeys([*_corners(points), *_inside(points)]))


def _corners(points: isl.Set) -> Iterator[Values]:
    depth = points.dim(isl.dim_type.set)
    ends = list(product((lowest, highest), repeat=depth))
    if len(ends) > _MOST_CORNERS:
        ends = Random(0).sample(ends, _MOST_CORNERS)
    for order in {tuple(range(depth)), tuple(reversed(range(depth)))}:
        for chosen in ends:
            left, values = points, [0] * depth
            for place in order:
                values[place] = chosen[place](left, place)
                left = left.fix_val(isl.dim_type.set, place, isl.Val(values[place]))
            yield tuple(values)


def _inside(points: isl.Set) -> Iterator[Values]:
    depth = points.dim(isl.dim_type.set)
    dice = Random(0)
    for _ in range(_INSIDE if depth else 0):
        left, values = points, [0] * depth
        for place in dice.sample(range(depth), depth):
            if left.is_empty():
                break
            values[place] = dice.randint(lowest(left, place), highest(left, place))
            left = left.fix_val(isl.dim_type.set, place, isl.Val(values[place]))
        if not left.is_empty():
            yield tuple(values)
