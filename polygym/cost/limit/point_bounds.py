"""Lower bound on the number of points of a set: uncountable parts are left out."""

from functools import lru_cache

import islpy as isl

from polygym.cost.features.statements.point_counts import count_instances_exactly
from polygym.cost.limit.value_flows import MAX_OPERATIONS
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.dependences import sets_of
from polygym.poly.isl_budget import attempt_bounded
from polygym.poly.isl_values import count_points, isl_text


def count_points_at_least(points_set: isl.Set, sizes: Sizes) -> int:
    """Return how many points a set has at given sizes, or 0 where isl does not come to an end.

    >>> count_points_at_least(isl.Set("[n] -> { [A[i] -> B[j]] : 0 <= j <= i < n }"), {"n": 1000})
    500500
    """
    try:
        with attempt_bounded(MAX_OPERATIONS):
            flat = _without_determined_dimensions(points_set.flatten().reset_tuple_id().coalesce())
            return _count_points(isl_text(flat), tuple(sorted(sizes.items())))
    except isl.Error:
        return 0


def _without_determined_dimensions(found: isl.Set) -> isl.Set:
    """Return a set with as many points, without the dimensions that the others say.

    >>> _without_determined_dimensions(isl.Set("[n] -> { [i, j, i + j] : 0 <= j <= i < n }"))
    Set("[n] -> { [i, j] : i < n and 0 <= j <= i }")
    """
    for place in reversed(range(found.dim(isl.dim_type.set))):
        if found.identity().project_out(isl.dim_type.out, place, 1).is_injective():
            found = found.project_out(isl.dim_type.set, place, 1)
    return found.coalesce()


@lru_cache(maxsize=512)
def _count_points(text: str, sizes: tuple[tuple[str, int], ...]) -> int:
    known = count_instances_exactly(text, dict(sizes))
    return count_points(at_sizes(isl.Set(text), dict(sizes))) if known is None else known


def count_union_points_at_least(points_set: isl.UnionSet, sizes: Sizes) -> int:
    """Return how many points the sets of a union have together."""
    return sum(count_points_at_least(part, sizes) for part in sets_of(points_set))
