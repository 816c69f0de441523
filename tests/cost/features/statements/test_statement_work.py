"""What statements do at given sizes, against counting."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.cost.features.statements import point_counts
from polygym.cost.features.statements.point_counts import count_instances, count_instances_exactly
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.frontend.c import parse_text
from polygym.mapping.sizes import at_sizes
from polygym.poly.isl_values import count_points
from polygym.programs.generate import generate_source
from tests.c_programs import kernel_scop
from tests.oracles.instances import points

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
# Holes, blocks and bands: no polynomial, or one from larger sizes on.
IRREGULAR = [
    "[n] -> { S[i] : i mod 5 = 2 and 0 <= i < n }",
    "[n, m] -> { S[i, j] : i mod 2 = 0 and j mod 3 = 1 and 0 <= i < n and 0 <= j < m }",
    "[n] -> { S[i, j] : (i + j) mod 2 = 0 and 0 <= i < n and 0 <= j < n }",
    "[n] -> { S[i, j] : 0 <= i < n and 0 <= 4j <= i }",
    "[n] -> { S[i, j] : 0 <= i < n and i <= j < i + 30 and j < n }",
    "[n] -> { S[i, j] : i mod 8 = 0 and 0 <= i < n and i <= j < i + 8 and j < n }",
    "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m and j <= 3i and i <= 3j }",
    "[n] -> { S[i, j] : i >= 0 and j >= 0 and i + j <= n and i - j <= 5 and j - i <= 7 }",
    "[n] -> { A[a] : exists i, k : a = 6i + 4k and 0 <= i < n and 0 <= k < 2 }",
    "[n, m] -> { A[a] : exists i, k : a = 3i + 5k and 0 <= i < n and 0 <= k < m }",
    "[n] -> { S[i] : 0 <= i < n and (i < 20 or i mod 7 = 0) }",
]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(DOMAINS + IRREGULAR), st.integers(1, 90), st.integers(1, 90))
def test_points_are_counted_exactly(domain: str, first: int, second: int) -> None:
    """Beyond the sizes that are counted, the polynomial says what counting would say."""
    points_of = isl.Set(domain)
    names = [
        points_of.get_dim_name(isl.dim_type.param, k)
        for k in range(points_of.dim(isl.dim_type.param))
    ]
    sizes = dict(zip(names, (first, second), strict=False))
    assert count_instances(domain, sizes) == count_points(at_sizes(points_of, sizes))


@pytest.mark.parametrize(
    ("domain", "size", "points"),
    [
        ("[n] -> { S[i] : i mod 5 = 0 and 0 <= i < n }", 10**6, 200_000),
        ("[n] -> { S[i] : i mod 64 = 0 and 0 <= i < n }", 2000, 32),
        ("[n] -> { S[i, j] : 0 <= i < n and 0 <= j < n and (i + j) mod 3 = 0 }", 3000, 3_000_000),
        ("[n] -> { S[i, j] : 0 <= i < n and 0 <= 2j <= i }", 2000, 1_001_000),
        ("[n] -> { S[i, j] : 0 <= i < n and i <= j < i + 100 and j < n }", 10**6, 99_995_050),
        ("[n] -> { S[i, j] : i mod 32 = 0 and i <= j < i + 32 and 0 <= j < n }", 10**6, 10**6),
    ],
)
def test_holes_blocks_and_bands_of_any_size(domain: str, size: int, points: int) -> None:
    """At small sizes they look like something else, which counting there does not tell."""
    assert count_instances_exactly(domain, {"n": size}) == points


def test_numbers_in_the_text_are_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A triangle of 2000, bands of 5000, and whatever there is at sizes that are numbers."""
    triangle = "{ S[i, j, k] : 0 <= k < j < i < 2000 }"
    assert count_instances_exactly(triangle, {}) == 2000 * 1999 * 1998 // 6
    band = (
        "[n] -> { S[i, j, k] : 0 <= i < n and i <= j < i + 5000 and j < n and j <= k < j + 5000 "
        "and k < n }"
    )
    in_bands = sum(min(j + 1, 5000) * min(9000 - j, 5000) for j in range(9000))
    assert count_instances_exactly(band, {"n": 9000}) == in_bands
    wrapped = "[m] -> { [A[i] -> B[j]] : 0 <= i <= j < 70 + m and i mod 100 < 50 }"
    flat = str(isl.Set(wrapped).flatten())
    assert count_instances_exactly(flat, {"m": 500}) == sum(
        570 - i for i in range(570) if i % 100 < 50
    )
    monkeypatch.setattr(point_counts, "_MAX_ROWS_DIRECT", 0)
    for domain in DOMAINS[:5] + IRREGULAR[1:5]:
        given = isl.Set(domain)
        sizes = dict(zip(given.get_var_names(isl.dim_type.param), (150, 97), strict=False))
        plain = at_sizes(given, sizes)
        assert count_instances_exactly(str(plain), {}) == count_points(plain), domain


def test_corners_bound_every_row() -> None:
    """Least and greatest values of rows, against all points."""
    for name in ("lu", "jacobi-2d", "nussinov", "gemm"):
        scop = kernel_scop(name)
        sizes = {p.name: 6 for p in scop.parameters}
        for work in work_of_statements(scop, sizes):
            every = points(scop.statement(work.name).domain, sizes)
            assert work.instances == len(every)
            for row in ((1, 0, 0), (1, 1, -1), (-2, 1, 3)):
                cut = row[: work.depth]
                values = [
                    sum(a * b for a, b in zip(cut, point, strict=True)) + 5 for point in every
                ]
                assert work.row_range(cut, 5) == (min(values), max(values))
                assert work.row_range(cut, 5, 4) == (min(values) // 4, max(values) // 4)


def test_random_programs_are_understood() -> None:
    for seed in range(12):
        scop = parse_text(generate_source(seed))
        for work in work_of_statements(scop, {p.name: 50 for p in scop.parameters}):
            assert work.instances > 0
            assert work.operations > 0
            assert all(row is not None for access in work.accesses for row in access.subscripts)


def test_a_box_of_many_loops_is_counted_at_once() -> None:
    """A convolution has seven loops; a polynomial of that degree would have 3,432 coefficients."""
    text = (
        "[a, b, c, d, e, f, g] -> { S[i0, i1, i2, i3, i4, i5, i6] : 0 <= i0 < a and 0 <= i1 < b "
        "and 0 <= i2 < c and 0 <= i3 < d and 0 <= i4 < e and 0 <= i5 < f and 0 <= i6 < g }"
    )
    sizes = dict(zip("abcdefg", (32, 16, 24, 56, 56, 3, 3), strict=True))
    assert count_instances(text, sizes) == 32 * 16 * 24 * 56 * 56 * 9


def test_a_corner_of_many_loops_takes_no_longer() -> None:
    """No box, and too many coefficients: the share at small sizes is taken."""
    text = (
        "[a, b, c, d, e, f] -> { S[i0, i1, i2, i3, i4, i5] : 0 <= i0 < a and 0 <= i1 < b and "
        "0 <= i2 < c and 0 <= i3 < d and 0 <= i4 < e and 0 <= i5 < f and i0 <= i1 }"
    )
    sizes = dict(zip("abcdef", (400, 500, 600, 700, 800, 900), strict=True))
    exact = (400 * 500 - 400 * 399 // 2) * 600 * 700 * 800 * 900
    assert count_instances_exactly(text, sizes) is None
    assert count_instances(text, sizes) == pytest.approx(exact, rel=0.3)


def test_an_empty_domain_has_no_points() -> None:
    text = "[h, k] -> { S[i, j] : 0 <= i <= h - k and 0 <= j < k }"
    assert count_instances(text, {"h": 10, "k": 3}) == 8 * 3
    assert count_instances(text, {"h": 10, "k": 30}) == 0
