"""Points of sets: never more than there are, since a limit that counts too many is none."""

from __future__ import annotations

import islpy as isl
import pytest

from polygym.cost.limit.operation_counts import count_points_at_least


@pytest.mark.parametrize(
    ("text", "size", "least"),
    [
        ("[n] -> { [i, j] : 0 <= i < n and i - 20 <= j <= i + 20 and 0 <= j < n }", 2000, 81_580),
        ("[n] -> { [i, j] : 0 <= i < n and 0 <= 32j <= i }", 2000, 63_504),
        ("[n] -> { [i] : i mod 5 = 0 and 0 <= i < n }", 1000, 200),
        ("[n] -> { [A[i] -> B[j]] : 0 <= i < n and 0 <= j < n and j <= 3i <= 9j }", 700, 326_434),
    ],
)
def test_bands_blocks_and_holes(text: str, size: int, least: int) -> None:
    """At small sizes there are relatively more of them."""
    assert count_points_at_least(isl.Set(text), {"n": size}) == least
