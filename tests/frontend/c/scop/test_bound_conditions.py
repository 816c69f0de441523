"""Inequalities that arrays need become conditions of the program, and no more than these."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.poly.evaluation import context_holds
from polygym.programs import load_program

CASES = [
    (
        "double A[100][100]",
        "for (int i = 0; i <= n; i++) for (int j = 0; j <= m; j++) A[i][j] = 0;",
        "n <= 99 && m <= 99",
    ),
    (
        "double x[50], double y[60]",
        "for (int i = 0; i < n; i++) x[i] = 0; for (int j = 0; j < m + k; j++) y[j] = 1;",
        "n <= 50 && k + m <= 60",
    ),
    (
        "double x[n]",
        "for (int i = 0; i < m; i++) x[i] = 0; for (int i = 0; i < k; i++) x[i + 2] = 1;",
        "n >= m && n >= k + 2",
    ),
    (
        # Not m <= 0, under which nothing runs; nor does n >= 200 have to be guessed.
        "double A[100][50], double C[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
        "if (i + j < 200) A[i][j] = A[i][j] + C[j];",
        "n <= 100 && m <= 50 && n >= m",
    ),
    (
        "double x[30], double y[20], double z[10]",
        "for (int i = 0; i < n; i++) x[i] = 0; for (int i = 0; i < n; i++) y[i] = 0; "
        "for (int i = 0; i < n; i++) z[i] = 0;",
        "n <= 10",
    ),
    ("double x[n]", "for (int i = 0; i < 2 * m; i++) x[i] = 0;", "n >= 2 * m"),
    ("double T[9]", "for (int i = 0; i < n; i++) T[i + m] = i;", "m + n <= 9 && m >= 0"),
    ("double T[3][8]", "for (int i = 0; i < n; i++) T[k][i % 8] = i;", "k <= 2 && k >= 0"),
]


def _text(arguments: str, region: str) -> str:
    head = f"void f(int n, int m, int k, {arguments}) {{\n"
    return f"{head}#pragma scop\n{region}\n#pragma endscop\n}}"


@pytest.mark.parametrize(("arguments", "region", "conditions"), CASES)
def test_what_arrays_need_is_a_condition(arguments: str, region: str, conditions: str) -> None:
    scop = parse_text(_text(arguments, region))
    assert set(scop.conditions) == set(conditions.split(" && "))
    assert len(scop.statements) == region.count(" = ") - region.count("int ")


def test_the_condition_of_one_access_is_enough_for_one_that_data_decide_on() -> None:
    region = "for (int i = 0; i < n; i++) if (x[i] > 0) x[i] = 0;"
    scop = parse_text(_text("double x[40]", region))
    assert scop.conditions == ("n <= 40",)
    assert not any(statement.write.gathered for statement in scop.statements)


def test_a_condition_of_nine_arrays() -> None:
    names = ", ".join(f"int p{k}, double A{k}[{10 + k}]" for k in range(9))
    loops = "\n".join(f"for (int i = 0; i < p{k}; i++) A{k}[i] = 1.0;" for k in range(9))
    scop = parse_text(f"void f({names}) {{\n#pragma scop\n{loops}\n#pragma endscop\n}}")
    assert set(scop.conditions) == {f"p{k} <= {10 + k}" for k in range(9)}


@pytest.mark.parametrize(
    ("region", "leaves"),
    [
        # Whether an access leaves its array, by running the loops.
        (
            "for (int i = 0; i < n; i++) for (int j = i; j < m; j++) A[j][i + k] = 1;",
            lambda n, m, k: any(
                not (0 <= j < 4 and 0 <= i + k < 6) for i in range(n) for j in range(i, m)
            ),
        ),
        (
            "for (int i = k; i <= n; i++) { A[i][0] = 1; A[0][m] = 2; }",
            lambda n, m, k: any(not (0 <= i < 4 and 0 <= m < 6) for i in range(k, n + 1)),
        ),
    ],
)
def test_no_values_that_go_wrong_satisfy_the_conditions(region: str, leaves) -> None:  # type: ignore[no-untyped-def]
    scop = parse_text(_text("double A[4][6]", region))
    admitted = 0
    for n, m, k in product(range(-1, 8), range(-1, 8), range(-2, 8)):
        holds = context_holds(scop.context, {"n": n, "m": m, "k": k})
        assert not (holds and leaves(n, m, k)), (n, m, k)
        admitted += holds and n > 0
    assert admitted > 20


@pytest.mark.parametrize(
    ("arguments", "region"),
    [
        ("double x[n]", "for (int i = 0; i < n; i++) x[2 * i] = 0;"),
        ("double x[n]", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i + j] = 0;"),
        (
            "double A[n][m]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[j][i] = 0;",
        ),
        ("double x[n]", "for (int i = 0; i <= n; i++) x[i] = 0;"),
        ("double x[512]", "x[512] = 0; for (int i = 0; i < n; i++) x[i] = 0;"),
    ],
)
def test_a_mistake_is_no_condition(arguments: str, region: str) -> None:
    with pytest.raises(SourceError, match="leaves dimension 1"):
        parse_text(_text(arguments, region))


def test_test_data_have_sizes_inside_the_conditions(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "block.c"
    path.write_text(
        "int grid[256][256];\nvoid block(int r, int c, int b) {\n"
        "  for (int i = 0; i < b; i++)\n    for (int j = 0; j < b; j++)\n"
        "      grid[r + i][c + j] = i * j;\n}\n"
    )
    program = load_program(str(path))
    assert program.parameters == (("r", 128), ("c", 128), ("b", 128))
    assert not isl.Set(program.scop.context).is_empty()
