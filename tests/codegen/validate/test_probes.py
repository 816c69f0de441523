"""Instances that are looked for: of the domain, its corners among them."""

from __future__ import annotations

import islpy as isl
import pytest

from polygym.codegen.validate.coverage import probe_instances


@pytest.mark.parametrize(
    ("domain", "corners"),
    [
        (
            "[n] -> { S[i, j] : 0 <= j <= i < n }",
            {(0, 0), (19, 0), (19, 19)},
        ),
        ("[n] -> { S[i] : exists k : i = 3k and 0 <= i < n }", {(0,), (18,)}),
        ("[n] -> { S[i, j, k] : 0 <= i, j, k < n }", {(0, 19, 0), (19, 19, 19)}),
        ("[n] -> { S[] : n > 0 }", {()}),
        ("[n] -> { S[i] : n < i < 3 }", set()),
    ],
)
def test_corners_are_among_them_and_nothing_else(
    domain: str, corners: set[tuple[int, ...]]
) -> None:
    values = probe_instances(domain, (("n", 20),))
    assert set(values) >= corners
    assert bool(values) == bool(corners)
    points = isl.Set(domain).fix_val(isl.dim_type.param, 0, isl.Val(20))
    for point in values:
        fixed = points
        for place, value in enumerate(point):
            fixed = fixed.fix_val(isl.dim_type.set, place, isl.Val(value))
        assert not fixed.is_empty()
    assert len(values) == len(set(values))


def test_corners_of_a_union_are_points_of_it() -> None:
    """At j = 0 the first part is empty, of which isl takes the least i all the same."""
    domain = "[n] -> { S[k, i, j] : k <= j < n and (0 <= i < k or (k >= 0 and k < i < n)) }"
    points = probe_instances(domain, (("n", 9),))
    assert (0, 1, 0) in points
    assert all(0 <= k <= j < 9 and 0 <= i < 9 and i != k for k, i, j in points)
