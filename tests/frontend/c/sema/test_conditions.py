"""Minima, maxima and floors in C's clothing give convex domains, and the right ones."""

import islpy as isl
import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop

PRELUDE = """
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) <= (b) ? (b) : (a))
#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))
#define ceild(n, d) (((n) < 0) ? -((-(n)) / (d)) : ((n) + (d) - 1) / (d))
"""


def scop_of(loop: str) -> Scop:
    return parse_text(
        f"{PRELUDE}void f(int n, int m, int k[1]) {{\nint i;\n#pragma scop\n"
        f"{loop} k[0] += i;\n#pragma endscop\n}}\n"
    )


@pytest.mark.parametrize(
    ("loop", "domain"),
    [
        ("for (i = 0; i < MIN(n, m); i++)", "0 <= i < n and i < m"),
        ("for (i = MAX(0, m - 3); i < n; i++)", "i >= 0 and i >= m - 3 and i < n"),
        ("for (i = 0; i <= floord(m - 9, 4); i++)", "0 <= i and 4i <= m - 9"),
        ("for (i = ceild(m, 3); i < n; i++)", "3i >= m and i < n"),
        (
            "for (i = MAX(MAX(0, m), n - 9); i <= MIN(MIN(n, 2 * m), floord(n + m, 2)); i++)",
            "i >= 0 and i >= m and i >= n - 9 and i <= n and i <= 2m and 2i <= n + m",
        ),
    ],
)
def test_bounds_are_convex(loop: str, domain: str) -> None:
    scop = scop_of(loop)
    instances = isl.Set(scop.statements[0].domain).intersect_params(isl.Set(scop.context))
    expected = isl.Set(f"[n, m] -> {{ S0[i] : {domain} }}").intersect_params(isl.Set(scop.context))
    assert instances.is_equal(expected)
    assert instances.n_basic_set() == 1


def test_a_minimum_that_is_none_keeps_its_pieces() -> None:
    scop = scop_of("for (i = 0; i < (n < 7 ? m : n); i++)")
    instances = isl.Set(scop.statements[0].domain).intersect_params(isl.Set(scop.context))
    expected = isl.Set("[n, m] -> { S0[i] : 0 <= i and (i < m and n < 7 or i < n and n >= 7) }")
    assert instances.is_equal(expected.intersect_params(isl.Set(scop.context)))
