"""The generated initial data: the rule, and the constants that the source gives."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.ir.scop import StorageClass
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs.initial_data import initial_data_program, initial_data_source
from tests.oracles.compiled_runs import random_arrays, run_natively
from tests.oracles.interpreter import allocate, interpret


def filled(outside: str, local: str, value: str) -> dict[str, np.ndarray]:
    """Return what the generated function leaves for a region that reads a value."""
    scop = parse_text(
        f"{outside}\nvoid f(int n, double A[n], long B[n]) {{\n{local}\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) A[i] += B[i] + {value};\n#pragma endscop\n}}"
    )
    source = parse_text(initial_data_source(scop))
    arrays = {a.name: np.array(allocate(source, a, {"n": 4}) + 9) for a in source.arrays}
    interpret(source, {"n": 4}, arrays)
    return arrays


def test_the_rule() -> None:
    arrays = filled("", "", "1")
    assert arrays["A"].tolist() == [2 / 97, 3 / 97, 4 / 97, 5 / 97]
    assert arrays["B"].tolist() == [5, 6, 7, 8]


def test_constants_of_the_source() -> None:
    arrays = filled(
        "static const float k[3][2] = {{0.5, -0.0f}, {0, 0}};",
        "int w[6] = {-1, 2}; double s = -3;",
        "k[i % 3][1] * w[i % 5] + s",
    )
    assert arrays["k"].tolist() == [[0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert np.signbit(arrays["k"]).tolist() == [[False, True], [False, False], [False, False]]
    assert arrays["w"].tolist() == [-1, 2, 0, 0, 0, 0]
    assert arrays["s"] == -3.0


def test_a_large_array_of_zeros_is_a_short_text() -> None:
    scop = parse_text(
        "void f(double A[9]) {\n  double z[200][300] = {1};\n#pragma scop\n"
        "  A[0] = z[1][2];\n#pragma endscop\n}"
    )
    text = initial_data_source(scop)
    assert "z[0][0] = 1.0;" in text
    assert text.count("= 0.0;") == 2
    assert len(text) < 600


def test_compiled_code_sees_the_constants() -> None:
    scop = parse_text(
        "void f(int n, double A[n]) {\n  float w[3][2] = {{-1, 2}, {0.5}};\n#pragma scop\n"
        "  for (int i = 0; i < n; i++) A[i] += w[i % 3][i % 2];\n#pragma endscop\n}"
    )
    compiled = random_arrays(scop, {"n": 8}, np.random.default_rng(0))
    expected = {name: data.copy() for name, data in compiled.items()}
    run_natively(scop, original_schedule(scop), {"n": 8}, compiled)
    del expected["w"]
    interpret(scop, {"n": 8}, expected)
    assert compiled["A"].tolist() == expected["A"].tolist()
    text = print_c(lower(LegalSchedule(scop, original_schedule(scop)), SEQUENTIAL_MAPPING))
    assert "float w[3][2] = {{-1.0f, 2.0f}, {0.5f}};" in text


CHOLESKY = """
for (int i = 0; i < n; i++) {
  for (int j = 0; j < i; j++) {
    for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
    A[i][j] /= A[j][j];
  }
  for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k];
  A[i][i] = sqrt(A[i][i]);
}
"""

# Without pivots: every step divides by what is left of the diagonal.
ELIMINATION = """
for (int k = 0; k < n; k++)
  for (int i = k + 1; i < n; i++)
    for (int j = n - 1; j >= k; j--)
      A[i][j] -= A[i][k] / A[k][k] * A[k][j];
"""


@pytest.mark.parametrize("scalar", ["float", "double"])
@pytest.mark.parametrize("region", [CHOLESKY, ELIMINATION])
@pytest.mark.parametrize("extent", ["n", "n + 3"])
def test_square_matrices_are_well_conditioned(region: str, scalar: str, extent: str) -> None:
    scop = parse_text(
        f"#include <math.h>\nvoid f(int n, {scalar} A[{extent}][{extent}]) {{\n#pragma scop"
        f"{region}#pragma endscop\n}}"
    )
    sizes = {"n": 40}
    source = initial_data_program(scop)
    arrays = {a.name: allocate(source, a, sizes) for a in source.arrays}
    run_natively(source, original_schedule(source), sizes, arrays)
    matrix = arrays["A"].astype(np.float64)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert 1 <= np.linalg.eigvalsh(matrix)[0] <= np.linalg.eigvalsh(matrix)[-1] <= 3
    run_natively(scop, original_schedule(scop), sizes, arrays)
    assert np.isfinite(arrays["A"]).all()
    assert np.abs(arrays["A"]).max() <= 3


AUGMENTED = """
for (int k = 0; k < n; k++)
  for (int i = k + 1; i < n; i++)
    for (int j = n; j >= k; j--)
      A[i][j] -= A[i][k] / A[k][k] * A[k][j];
"""

JORDAN = """
for (int k = 0; k < n; k++)
  for (int i = 0; i < n; i++)
    if (i != k)
      for (int j = 2 * n - 1; j >= k; j--)
        A[i][j] -= A[i][k] / A[k][k] * A[k][j];
"""

OF_TWO_SIZES = """
for (int k = 0; k < n; k++)
  for (int i = k + 1; i < n; i++)
    for (int j = m - 1; j >= k; j--)
      A[i][j] -= A[i][k] / A[k][k] * A[k][j];
"""

STACK = """
for (int b = 0; b < m; b++)
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++)
      for (int j = n - 1; j >= k; j--)
        A[b][i][j] -= A[b][i][k] / A[b][k][k] * A[b][k][j];
"""

# Out of place, by pivots that are copied before.
COPIED = """
for (int i = 0; i < n; i++)
  for (int j = 0; j < m; j++)
    U[i][j] = A[i][j];
for (int k = 0; k < n; k++) {
  *p = U[k][k];
  for (int i = k + 1; i < n; i++)
    for (int j = m - 1; j >= k; j--)
      U[i][j] -= U[i][k] / *p * U[k][j];
}
"""

TRIANGULAR = """
for (int i = 0; i < n; i++) {
  for (int j = 0; j < i; j++) x[i] -= A[i][j] * x[j];
  x[i] /= A[i][i];
}
"""


@pytest.mark.parametrize(
    ("arguments", "region", "sizes"),
    [
        ("double A[n][n + 1]", AUGMENTED, {"n": 120, "m": 120}),
        ("double A[n][2 * n]", JORDAN, {"n": 120, "m": 120}),
        ("double A[n][m]", OF_TWO_SIZES, {"n": 120, "m": 120}),
        ("double A[n][m]", OF_TWO_SIZES, {"n": 120, "m": 150}),
        ("float A[m][n][n]", STACK, {"n": 120, "m": 3}),
        ("double A[n][m], double U[n][m], double *p", COPIED, {"n": 120, "m": 121}),
        ("double A[n][m], double x[n]", TRIANGULAR, {"n": 400, "m": 400}),
    ],
)
def test_matrices_that_are_divided_by_are_well_conditioned(
    arguments: str, region: str, sizes: dict[str, int]
) -> None:
    scop = parse_text(
        f"void f(int n, int m, {arguments}) {{\n  assert(m >= n || m == 3);\n#pragma scop"
        f"{region}#pragma endscop\n}}"
    )
    source = initial_data_program(scop)
    arrays = {a.name: allocate(source, a, sizes) for a in source.arrays}
    run_natively(source, original_schedule(source), sizes, arrays)
    square = arrays["A"][..., : sizes["n"]].astype(np.float64)
    np.testing.assert_array_equal(square, square.swapaxes(-1, -2))
    assert 1 <= np.linalg.eigvalsh(square).min() <= np.linalg.eigvalsh(square).max() <= 3
    plain = arrays["A"][..., sizes["n"] :] * 97
    assert np.all((plain > 0.99) & (plain < 97.01)), "beside it the rule holds"
    run_natively(scop, original_schedule(scop), sizes, arrays)
    for array in arrays.values():
        assert np.isfinite(array).all()
        assert np.abs(array).max() <= 3


@pytest.mark.parametrize(
    "region",
    [
        "A[b][i][j] = (A[b][i][j] + B[i][j]) / 2.0;",
        "A[b][i][j] = A[b][i][j] / n + B[i][j];",
        "{ s[b] += A[b][i][j] * B[i][j]; x[b] = 1.0 / s[b]; }",
    ],
)
def test_what_no_divisor_knows_of_keeps_the_rule(region: str) -> None:
    """Images, weights, stencils: no strong diagonal in them, nor any small numbers."""
    scop = parse_text(
        "void f(int n, double A[n][n][n], double B[n][n + 2], double s[n], double x[n]) {\n"
        "#pragma scop\nfor (int b = 0; b < n; b++) for (int i = 0; i < n; i++)\n"
        f"for (int j = 0; j < n; j++) {region}\n#pragma endscop\n}}"
    )
    source = initial_data_program(scop)
    arrays = {a.name: np.array(allocate(source, a, {"n": 4})) for a in source.arrays}
    interpret(source, {"n": 4}, arrays)
    b, i, j = np.indices((4, 4, 4))
    array = (arrays["A"] * 97).round()
    assert (array - array[0, 0, 0]).tolist() == (b + 3 * i + 5 * j).tolist()


def test_oblong_and_integer_matrices_keep_the_rule() -> None:
    scop = parse_text(
        "void f(int n, double A[n][n + 1], int B[n][n]) {\n#pragma scop\n"
        "A[0][0] += B[0][0];\n#pragma endscop\n}"
    )
    source = initial_data_program(scop)
    arrays = {a.name: np.array(allocate(source, a, {"n": 3})) for a in source.arrays}
    interpret(source, {"n": 3}, arrays)
    assert (arrays["A"] * 97).round().tolist() == [
        [2 + i + 3 * j for j in range(4)] for i in range(3)
    ]
    assert arrays["B"].tolist() == [[5 + i + 3 * j for j in range(3)] for i in range(3)]


def test_a_region_with_arrays_of_its_own_alone_has_nothing_to_fill() -> None:
    scop = parse_text(
        "void f(int n) {\n#pragma scop\ndouble A[n];\n"
        "for (int i = 0; i < n; i++) A[i] = i;\n#pragma endscop\n}"
    )
    source = initial_data_program(scop)
    assert [array.storage_class for array in source.arrays] == [StorageClass.BLOCK]
