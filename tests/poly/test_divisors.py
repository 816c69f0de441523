"""Which arrays a program divides by."""

import pytest

from polygym.frontend.c import parse_text
from polygym.poly.index_ranges import divisor_arrays

HEAD = """
void f(int n, double A[n][n], double U[n][n], double s[n], double x[n], int I[n][n], double *p) {
#pragma scop
for (int k = 0; k < n; k++) for (int i = k + 1; i < n; i++) for (int j = k; j < n; j++) {
"""
TAIL = "}\n#pragma endscop\n}"


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("A[i][j] -= A[i][k] / A[k][k] * A[k][j];", "A"),
        ("U[i][j] = A[i][j]; U[i][j] -= U[i][k] / U[k][k] * U[k][j];", "AU"),
        ("*p = A[k][k]; s[i] = A[i][k] / *p; A[i][j] -= s[i] * A[k][j];", "Aps"),
        ("x[i] -= A[i][k] * x[k]; x[i] /= A[i][i];", "A"),
        ("x[i] = 1.0 / (2.0 * A[i][i] + s[i]);", "As"),
        ("s[i] += U[i][j]; A[i][j] = U[i][j] / s[i];", "s"),
        ("s[i] += U[i][j]; x[i] = sqrt(s[i] / n); A[i][j] = U[i][j] / x[i];", "sx"),
        ("A[i][j] = U[i][j] / 9.0;", ""),
        ("A[i][j] = U[i][j] / n + I[i][j] / (1 + 2 * I[j][i]);", ""),
    ],
)
def test_what_is_divided_by(region: str, expected: str) -> None:
    scop = parse_text(f"#include <math.h>\n{HEAD}{region}{TAIL}")
    assert "".join(sorted(divisor_arrays(scop))) == expected
