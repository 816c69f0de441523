"""Values that code before the region computes, and that the region reads, are its inputs."""

from __future__ import annotations

import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop, StorageClass

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
    ("static double w;", "A[0] += w; w = A[0];", ""),
    ("static int w = 0;", "w = w + 1; " + LOOP + "A[i] = w;", ""),
    ("static double w[4];", LOOP + "if (A[i] > 0) w[i % 4] = A[i]; A[0] = w[2];", ""),
    ("static double w[4] = {1, 2, 3};", "A[0] = w[1]; w[1] = 5;", ""),
    ("static double w[2];", "A[0] = w[0];", "w[0] = 1;"),
    ("static struct { double w[2]; } s;", "A[0] += s.w[1]; s.w[1] = A[0];", ""),
]


@pytest.mark.parametrize(("before", "region", "after"), INPUTS)
def test_what_comes_from_before_is_an_input(before: str, region: str, after: str) -> None:
    scop = scop_of(before, region, after)
    w = next(array for array in scop.arrays if array.name in ("w", "s_w"))
    assert w.storage_class is (
        StorageClass.ARGUMENT if w.rank or w.live_out else StorageClass.VALUE
    )
    assert scop.signature == ("n", "alpha", "A", w.name)


KEPT = [
    ("double w;", "A[0] += w;"),
    ("double w = alpha;", "w = 1; A[0] += w;"),
    ("double w = alpha;", LOOP + "{ if (i >= 0) w = i; A[i] = w; }"),
    ("double w[4]; fill(w);", "for (int k = 3; k >= 0; k--) w[k] = k; A[0] = w[2];"),
    ("double w[4]; w[0] = 1;", "w[1] = 1; A[0] = w[1];"),
    ("double w[4]; g(sizeof(w), w[1]);", "A[0] = w[0];"),
    ("double w = alpha;", "A[0] = 1; w = A[0];"),
    ("double w; while (alpha) g(w);", "A[0] = w;"),
    ("static double w[4];", "for (int k = 0; k < 4; k++) w[k] = k; A[0] = w[2];"),
    ("static double w;", "w = A[0]; A[0] = 2 * w;"),
]


@pytest.mark.parametrize(("before", "region"), KEPT)
def test_what_the_region_writes_first_is_its_own(before: str, region: str) -> None:
    scop = scop_of(before, region)
    assert scop.array("w").storage_class is StorageClass.LOCAL
    assert "w" not in scop.signature


@pytest.mark.parametrize(
    ("before", "after", "live_out"), [("", "", False), ("", "g(w);", True), ("g(w[0]);", "", True)]
)
def test_what_a_static_variable_is_left_with_is_seen_if_somebody_looks(
    before: str, after: str, live_out: bool
) -> None:
    region = "for (int k = 0; k < 4; k++) w[k] = k; A[0] = w[2];"
    assert scop_of(f"static double w[4]; {before}", region, after).array("w").live_out is live_out


@pytest.mark.parametrize(
    ("declared", "initial"),
    [("double w[3]", (0.0, 0.0, 0.0)), ("int w[2] = {4}", (4, 0)), ("const int w[1]", (0,))],
)
def test_a_static_variable_that_nothing_changes_is_a_constant(
    declared: str, initial: tuple[float, ...]
) -> None:
    assert scop_of(f"static {declared};", "A[0] = w[0];").array("w").initial == initial
