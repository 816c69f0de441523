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

from polygym.codegen.common.bounding_boxes import IteratorValues
from polygym.mapping.sizes import at_sizes
from polygym.poly.isl_values import highest_value, lowest_value

_MAX_CORNERS = 32
_INNER_SAMPLES = 16


@lru_cache(maxsize=256)
def probe_instances(domain: str, sizes: tuple[tuple[str, int], ...]) -> tuple[IteratorValues, ...]:
    """Return some instances of a domain.

    >>> sorted(set(probes("[n] -> { S[i, j] : 0 <= j <= i < n }", (("n", 2),))))
    [(0, 0), (1, 0), (1, 1)]
    """
    points = at_sizes(isl.Set(domain), dict(sizes))
    if points.is_empty():
        return ()
    return tuple(dict.fromkeys([*_corner_instances(points), *_inner_instances(points)]))


def _corner_instances(points: isl.Set) -> Iterator[IteratorValues]:
    depth = points.dim(isl.dim_type.set)
    ends = list(product((lowest_value, highest_value), repeat=depth))
    if len(ends) > _MAX_CORNERS:
        ends = Random(0).sample(ends, _MAX_CORNERS)
    for order in {tuple(range(depth)), tuple(reversed(range(depth)))}:
        for chosen in ends:
            left, values = points, [0] * depth
            for place in order:
                values[place] = chosen[place](left, place)
                left = left.fix_val(isl.dim_type.set, place, isl.Val(values[place]))
            yield tuple(values)


def _inner_instances(points: isl.Set) -> Iterator[IteratorValues]:
    depth = points.dim(isl.dim_type.set)
    rng = Random(0)
    for _ in range(_INNER_SAMPLES if depth else 0):
        left, values = points, [0] * depth
        for place in rng.sample(range(depth), depth):
            if left.is_empty():
                break
            values[place] = rng.randint(lowest_value(left, place), highest_value(left, place))
            left = left.fix_val(isl.dim_type.set, place, isl.Val(values[place]))
        if not left.is_empty():
            yield tuple(values)
