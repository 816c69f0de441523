"""Values that code before the region computes must not be read in it."""

from __future__ import annotations

import pytest

from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.errors import SourceError

LOOP = "for (int i = 0; i < n; i++) "


def scop_of(before: str, region: str, after: str = "") -> Scop:
    return parse_text(
        f"void f(int n, double alpha, double A[n]) {{\n{before}\n#pragma scop\n{region}\n"
        f"#pragma endscop\n{after}\n}}"
    )


LOST = [
    ("double w = 2 * alpha;", LOOP + "A[i] = A[i] * w;", "", 43),
    ("const double w = alpha * 2;", "A[0] += w;", "", 9),
    ("double w; w = 1;", "A[0] += w;", "", 9),
    ("double w; scanf(fmt, &w);", "A[0] += w;", "", 9),
    ("double w = 1; if (n > 2) w = 2;", "A[0] += w;", "", 9),
    ("double w[4]; for (int k = 0; k < 4; k++) w[k] = k;", LOOP + "A[i] = w[i % 4];", "", 36),
    ("double w[4]; fill(w);", "A[0] = w[0];", "", 8),
    ("double w[4][4]; fill(w[1]);", "A[0] = w[0][1];", "", 8),
    ("double w[4]; double *p = w + 1; *p = 1;", "A[0] = w[0];", "", 8),
    ("typedef double row[4]; row w; fill(w);", "A[0] = w[0];", "", 8),
    ("double w[2] = {1, alpha};", "A[0] = w[0];", "", 8),
    ("double w[2] = {1, 2}; w[0] = 3;", "A[0] = w[1];", "", 8),
    ("int w = n * n;", "A[0] = w;", "", 8),
    ("double w = alpha;", LOOP + "{ if (i > 0) w = i; A[i] = w; }", "", 56),
    ("double w[3]; w[0] = 1;", "w[1] = 1; w[2] = 1; A[0] = w[1]; A[1] = w[0];", "", 41),
    ("double w = alpha;", "w += A[0];", "", 1),
    ("double w; while (n) {", "A[0] = w;", "w = 2; }", 8),
    ("double w = 0; while (n) {", "w += A[0];", "}", 1),
]


@pytest.mark.parametrize(("before", "region", "after", "column"), LOST)
def test_lost_values_are_refused(before: str, region: str, after: str, column: int) -> None:
    with pytest.raises(SourceError) as caught:
        scop_of(before, region, after)
    error = caught.value
    assert error.message == "w gets its value before the region, by code that is not part of it"
    assert error.hint == "move that code into the region, or make w an argument"
    assert (error.place.line, error.place.column) == (4, column)


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
def test_what_the_region_writes_first_is_accepted(before: str, region: str) -> None:
    assert "w" in {array.name for array in scop_of(before, region).arrays}
