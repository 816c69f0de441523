"""What statements do at given sizes, against counting."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.compiler.codegen.common.sizes import at_sizes
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly.isl_numbers import count
from polygym.cost.reach import instances, reach
from polygym.programs.generate import generate
from tests.oracles.instances import points
from tests.sources import kernel_scop

DOMAINS = [
    "[n] -> { S[i, j] : 0 <= j < i < n }",
    "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m }",
    "[n, m] -> { S[i, j, k] : 0 <= i < n and i <= j < n and 0 <= k < m }",
    "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m and j <= i }",
    "[n] -> { S[i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < i and k < j }",
    "[t, n] -> { S[s, i] : 0 <= s < t and 1 <= i < n - 1 }",
    "[n] -> { S[i, j] : 0 <= i < n and i < 10 and 0 <= j < n }",
    "{ S[] : }",
]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(DOMAINS), st.integers(1, 90), st.integers(1, 90))
def test_points_are_counted_exactly(domain: str, first: int, second: int) -> None:
    """Beyond the sizes that are counted, the polynomial says what counting would say."""
    points_of = isl.Set(domain)
    names = [
        points_of.get_dim_name(isl.dim_type.param, k)
        for k in range(points_of.dim(isl.dim_type.param))
    ]
    sizes = dict(zip(names, (first, second), strict=False))
    assert instances(domain, sizes) == count(at_sizes(points_of, sizes))


def test_where_the_number_is_no_polynomial_the_share_is_taken() -> None:
    """Every third point of 3000 by 3000: no polynomial, but near."""
    domain = "[n] -> { S[i, j] : 0 <= i < n and 0 <= j < n and (i + j) mod 3 = 0 }"
    assert instances(domain, {"n": 3000}) == pytest.approx(3_000_000, rel=0.1)


def test_corners_bound_every_row() -> None:
    """Least and greatest values of rows, against all points."""
    for name in ("lu", "jacobi-2d", "nussinov", "gemm"):
        scop = kernel_scop(name)
        sizes = {p.name: 6 for p in scop.parameters}
        for work in reach(scop, sizes):
            every = points(scop.statement(work.name).domain, sizes)
            assert work.instances == len(every)
            for row in ((1, 0, 0), (1, 1, -1), (-2, 1, 3)):
                cut = row[: work.depth]
                values = [sum(a * b for a, b in zip(cut, one, strict=True)) + 5 for one in every]
                assert work.span(cut, 5) == (min(values), max(values))
                assert work.span(cut, 5, 4) == (min(values) // 4, max(values) // 4)


def test_random_programs_are_understood() -> None:
    for seed in range(12):
        scop = parse_text(generate(seed))
        for work in reach(scop, {p.name: 50 for p in scop.parameters}):
            assert work.instances > 0
            assert work.operations > 0
            assert all(row is not None for one in work.touches for row in one.subscripts)


def test_a_box_of_many_loops_is_counted_at_once() -> None:
    """A convolution has seven loops; a polynomial of that degree would have 3,432 coefficients."""
    text = (
        "[a, b, c, d, e, f, g] -> { S[i0, i1, i2, i3, i4, i5, i6] : 0 <= i0 < a and 0 <= i1 < b "
        "and 0 <= i2 < c and 0 <= i3 < d and 0 <= i4 < e and 0 <= i5 < f and 0 <= i6 < g }"
    )
    sizes = dict(zip("abcdefg", (32, 16, 24, 56, 56, 3, 3), strict=True))
    assert instances(text, sizes) == 32 * 16 * 24 * 56 * 56 * 9


def test_a_corner_of_many_loops_takes_no_longer() -> None:
    """No box, and too many coefficients: the share at small sizes is taken."""
    text = (
        "[a, b, c, d, e, f] -> { S[i0, i1, i2, i3, i4, i5] : 0 <= i0 < a and 0 <= i1 < b and "
        "0 <= i2 < c and 0 <= i3 < d and 0 <= i4 < e and 0 <= i5 < f and i0 <= i1 }"
    )
    sizes = dict(zip("abcdef", (400, 500, 600, 700, 800, 900), strict=True))
    exact = (400 * 500 - 400 * 399 // 2) * 600 * 700 * 800 * 900
    assert instances(text, sizes) == pytest.approx(exact, rel=0.3)


def test_an_empty_domain_has_no_points() -> None:
    text = "[h, k] -> { S[i, j] : 0 <= i <= h - k and 0 <= j < k }"
    assert instances(text, {"h": 10, "k": 3}) == 8 * 3
    assert instances(text, {"h": 10, "k": 30}) == 0
