"""Work, gain and a word for small programs whose answers are known."""

from __future__ import annotations

import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.estimates.benefit import benefit, estimated_gain
from polygym.poly.estimates.patterns import pattern_of
from polygym.poly.estimates.work import estimated_work, sizes_near


def scop_of(arguments: str, body: str) -> Scop:
    return parse_text(f"void f(int n, {arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")


FOR_I, FOR_J, FOR_K = (f"for (int {c} = 0; {c} < n; {c}++)" for c in "ijk")
SQUARES = "double A[n][n], double B[n][n], double C[n][n]"
PATTERNS = {
    "matrix product": (SQUARES, f"{FOR_I} {FOR_J} {FOR_K} C[i][j] += A[i][k] * B[k][j];"),
    "matrix-vector product": (
        f"{SQUARES}, double x[n], double y[n]",
        f"{FOR_I} {FOR_J} y[i] += A[i][j] * x[j];",
    ),
    "dot product": ("double x[n], double y[n], double s[1]", f"{FOR_I} s[0] += x[i] * y[i];"),
    "stencil": ("double x[n + 2], double y[n]", f"{FOR_I} y[i] = x[i] + x[i + 1] + x[i + 2];"),
    "convolution": (
        "double x[2 * n], double y[n], double w[n]",
        f"{FOR_I} {FOR_J} y[i] += w[j] * x[i + j];",
    ),
    "reduction": ("double x[n], double s[1]", f"{FOR_I} s[0] += x[i];"),
    "transposition": (SQUARES, f"{FOR_I} {FOR_J} A[i][j] = B[j][i];"),
    "copy": (SQUARES, f"{FOR_I} {FOR_J} A[i][j] = B[i][j];"),
    "initialization": (SQUARES, f"{FOR_I} {FOR_J} A[i][j] = i + j;"),
    "elementwise": (SQUARES, f"{FOR_I} {FOR_J} A[i][j] = B[i][j] * C[i][j];"),
    "recurrence": ("double x[n + 1]", f"{FOR_I} x[i + 1] = x[i] * 0.5;"),
    "gather": ("double x[n], double y[n], int m[n]", f"{FOR_I} y[i] = x[m[i]];"),
    "histogram": ("double x[n], int m[n]", f"{FOR_I} x[m[i]] += 1;"),
}


@pytest.mark.parametrize("word", PATTERNS)
def test_a_word_for_a_program(word: str) -> None:
    scop = scop_of(*PATTERNS[word])
    assert pattern_of(scop, sizes_near(scop, 100, {})).value == word


def test_work_counts_operations_and_accesses() -> None:
    scop = scop_of(*PATTERNS["matrix product"])
    # A multiplication, an addition, three reads, a write.
    assert estimated_work(scop, {"n": 100}) == 6 * 100**3


def test_work_of_a_triangle_is_about_half_of_the_square() -> None:
    scop = scop_of("double A[n][n]", f"{FOR_I} for (int j = 0; j < i; j++) A[i][j] = 0;")
    exact = 1000 * 999 / 2
    assert exact <= estimated_work(scop, {"n": 1000}) <= 1.3 * exact


def test_sizes_stay_moderate_and_admissible() -> None:
    scop = scop_of(
        "int m, double A[n][n][m]", f"{FOR_I} {FOR_J} for (int k = 0; k < m; k++) A[i][j][k] = 0;"
    )
    assert sizes_near(scop, 1024, {"m": 3}) == {"m": 3, "n": 322}


def test_column_order_gains_more_than_row_order() -> None:
    row = scop_of(SQUARES, f"{FOR_I} {FOR_J} A[i][j] += B[i][j];")
    column = scop_of(SQUARES, f"{FOR_J} {FOR_I} A[i][j] += B[i][j];")
    sizes = {"n": 100}
    assert estimated_gain(row, sizes) < estimated_gain(column, sizes)
    assert benefit(row) < benefit(column)
