"""Values that code before the region computes, and that the region reads, are its inputs."""

from __future__ import annotations

import pytest

from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop, Storage

LOOP = "for (int i = 0; i < n; i++) "


def scop_of(before: str, region: str, after: str = "") -> Scop:
    return parse_text(
        f"void f(int n, double alpha, double A[n]) {{\n{before}\n#pragma scop\n{region}\n"
        f"#pragma endscop\n{after}\n}}"
    )


INPUTS = [
    ("double w = 2 * alpha;", LOOP + "A[i] = A[i] * w;", ""),
    ("const double w = alpha * 2;", "A[0] += w;", ""),
    ("double w; w = 1;", "A[0] += w;", ""),
    ("double w; scanf(fmt, &w);", "A[0] += w;", ""),
    ("double w = 1; if (n > 2) w = 2;", "A[0] += w;", ""),
    ("double w[4]; for (int k = 0; k < 4; k++) w[k] = k;", LOOP + "A[i] = w[i % 4];", ""),
    ("double w[4]; fill(w);", "A[0] = w[0];", ""),
    ("double w[4][4]; fill(w[1]);", "A[0] = w[0][1];", ""),
    ("double w[4]; double *p = w + 1; *p = 1;", "A[0] = w[0];", ""),
    ("typedef double row[4]; row w; fill(w);", "A[0] = w[0];", ""),
    ("double w[2] = {1, alpha};", "A[0] = w[0];", ""),
    ("double w[2] = {1, 2}; w[0] = 3;", "A[0] = w[1];", ""),
    ("int w = n * n;", "A[0] = w;", ""),
    ("double w = alpha;", LOOP + "{ if (i > 0) w = i; A[i] = w; }", ""),
    ("double w[3]; w[0] = 1;", "w[1] = 1; w[2] = 1; A[0] = w[1]; A[1] = w[0];", ""),
    ("double w = alpha;", "w += A[0];", ""),
    ("double w; while (n) {", "A[0] = w;", "w = 2; }"),
    ("double w = 0; while (n) {", "w += A[0];", "}"),
]


@pytest.mark.parametrize(("before", "region", "after"), INPUTS)
def test_what_comes_from_before_is_an_input(before: str, region: str, after: str) -> None:
    scop = scop_of(before, region, after)
    w = scop.array("w")
    assert w.storage is (Storage.ARGUMENT if w.rank or w.live_out else Storage.VALUE)
    assert scop.signature == ("n", "alpha", "A", "w")


KEPT = [
    ("double w;", "A[0] += w;"),
    ("double w = alpha;", "w = 1; A[0] += w;"),
    ("double w = alpha;", LOOP + "{ if (i >= 0) w = i; A[i] = w; }"),
    ("double w[4]; fill(w);", "for (int k = 3; k >= 0; k--) w[k] = k; A[0] = w[2];"),
    ("double w[4]; w[0] = 1;", "w[1] = 1; A[0] = w[1];"),
    ("double w[4]; g(sizeof(w), w[1]);", "A[0] = w[0];"),
    ("double w = alpha;", "A[0] = 1; w = A[0];"),
    ("double w; while (alpha) g(w);", "A[0] = w;"),
]


@pytest.mark.parametrize(("before", "region"), KEPT)
def test_what_the_region_writes_first_is_its_own(before: str, region: str) -> None:
    scop = scop_of(before, region)
    assert scop.array("w").storage is Storage.LOCAL
    assert "w" not in scop.signature
