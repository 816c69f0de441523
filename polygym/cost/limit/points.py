"""How many points a set has, never more than it has: what cannot be counted is left out."""

from __future__ import annotations

from functools import lru_cache

import islpy as isl

from polygym.compiler.codegen.common.sizes import Sizes, at_sizes
from polygym.compiler.poly.dependences import sets
from polygym.compiler.poly.isl_budget import attempt
from polygym.compiler.poly.isl_numbers import count, isl_text
from polygym.cost.counts import exact_instances
from polygym.cost.limit.flows import MOST_OPERATIONS


def points(found: isl.Set, sizes: Sizes) -> int:
    """Return how many points a set has at given sizes, or 0 where isl does not come to an end.

    >>> points(isl.Set("[n] -> { [A[i] -> B[j]] : 0 <= j <= i < n }"), {"n": 1000})
    500500
    """
    try:
        with attempt(MOST_OPERATIONS):
            flat = _independent(found.flatten().reset_tuple_id().coalesce())
            return _points(isl_text(flat), tuple(sorted(sizes.items())))
    except isl.Error:
        return 0


def _independent(found: isl.Set) -> isl.Set:
    """Return a set with as many points, without the dimensions that the others say.

    >>> _independent(isl.Set("[n] -> { [i, j, i + j] : 0 <= j <= i < n }"))
    Set("[n] -> { [i, j] : i < n and 0 <= j <= i }")
    """
    for place in reversed(range(found.dim(isl.dim_type.set))):
        if found.identity().project_out(isl.dim_type.out, place, 1).is_injective():
            found = found.project_out(isl.dim_type.set, place, 1)
    return found.coalesce()


@lru_cache(maxsize=512)
def _points(text: str, sizes: tuple[tuple[str, int], ...]) -> int:
    known = exact_instances(text, dict(sizes))
    return count(at_sizes(isl.Set(text), dict(sizes))) if known is None else known


def all_points(found: isl.UnionSet, sizes: Sizes) -> int:
    """Return how many points the sets of a union have together."""
    return sum(points(part, sizes) for part in sets(found))
