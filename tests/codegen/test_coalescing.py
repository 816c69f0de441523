"""Short loops over neighbouring elements become one loop with the loop around them."""

import islpy as isl
import numpy as np
import pytest

from polygym.codegen.coalescing.transform import coalesce_loops
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import MAPPED_PROGRAMS
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively


def legal_order(body: str, arguments: str) -> LegalSchedule:
    """Return the original order of a function of ``n``."""
    scop = parse_text(f"void f(int n, {arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}")
    return LegalSchedule(scop, original_schedule(scop))


COLOURS = "for (int x = 0; x < n; x++) for (int c = 0; c < 3; c++) "


@pytest.mark.parametrize(
    ("body", "arguments", "domain", "rows"),
    [
        (
            f"{COLOURS} a[x][c] = b[x][c];",
            "double a[n][3], double b[n][3]",
            "S0[x] : 0 <= x < 3n",
            ["0", "x", "0", "0"],
        ),
        (
            "for (int x = 1; x < n; x++) for (int c = 0; c < 3; c++) a[x][c] = a[x - 1][c];",
            "double a[n][3]",
            "S0[x] : 3 <= x < 3n",
            ["0", "x", "0", "0"],
        ),
        (  # a range from 1 on
            "for (int x = 0; x < n; x++) for (int c = 1; c <= 3; c++) a[x][c - 1] = s;",
            "double a[n][3], double s",
            "S0[x] : 0 <= x < 3n",
            ["0", "x", "0", "0"],
        ),
        (  # the loop between them moves outwards
            "for (int x = 0; x < n; x++) for (int y = 0; y < n; y++) for (int c = 0; c < 3; c++)"
            " a[y][x][c] = 2 * a[y][x][c];",
            "float a[n][n][3]",
            "S0[x, y] : 0 <= x < 3n and 0 <= y < n",
            ["0", "y", "x", "0"],
        ),
    ],
)
def test_loops_become_one(body: str, arguments: str, domain: str, rows: list[str]) -> None:
    legal = coalesce_loops(legal_order(body, arguments))
    (statement,) = legal.scop.statements
    assert isl.Set(statement.domain).is_equal(isl.Set(f"[n] -> {{ {domain} }}"))
    texts = [row.text(statement.iterators, ("n",)) for row in legal.schedule.rows("S0")]
    moving = [text for text in texts if text != "0"]
    assert moving == [text for text in rows if text != "0"]
    assert legal.scop.array("a").c_extents[-1] in ("3 * n", "n * 3")


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        (f"{COLOURS} a[x][c] = w[c];", "double a[n][3], double w[3]"),
        (f"{COLOURS} a[x][c] = w[x];", "double a[n][3], double w[n]"),
        (f"{COLOURS} a[x][c] = x;", "double a[n][3]"),
        (f"{COLOURS} a[x][c] = b[c][x];", "double a[n][3], double b[3][n]"),
        (f"{COLOURS} a[x][c] = b[x][c];", "double a[n][4], double b[n][3]"),
        (f"{COLOURS} a[x][c] = b[k[x]][c];", "double a[n][3], double b[n][3], int k[n]"),
        # as many as a vector has, and a length that is no number
        ("for (int x = 0; x < n; x++) for (int c = 0; c < 64; c++) a[x][c] = 1;", "char a[n][64]"),
        ("for (int x = 0; x < n; x++) for (int c = 0; c < n; c++) a[x][c] = 1;", "float a[n][n]"),
        # the short loop is not rectangular
        ("for (int x = 0; x < n; x++) for (int c = 0; c < 3; c++) if (c <= x) a[x][c] = 1;",
         "float a[n][3]"),
    ],
)  # fmt: skip
def test_loops_stay(body: str, arguments: str) -> None:
    legal = legal_order(body, arguments)
    assert coalesce_loops(legal) is legal


def test_an_order_that_breaks_a_dependence_stays() -> None:
    """Element (x, y, c) is that of (x + 1, y - 1, c): y may not move around x."""
    text = """for (int x = 0; x < n - 1; x++) for (int y = 1; y < n; y++)
      for (int c = 0; c < 3; c++)
      a[y][x][c] = a[y - 1][x + 1][c];"""
    legal = legal_order(text, "float a[n][n][3]")
    assert coalesce_loops(legal) is legal


def test_a_skewed_row_keeps_its_skew() -> None:
    text = """for (int t = 0; t < n; t++) for (int x = 1; x < n - 1; x++)
      for (int c = 0; c < 3; c++)
      a[x][c] = a[x - 1][c] + a[x + 1][c];"""
    legal = legal_order(text, "float a[n][3]")
    skewed = parse_schedule("[n] -> { S0[t, x, c] -> [t, x + 2t + n, c] }", legal.scop)
    after = coalesce_loops(LegalSchedule(legal.scop, skewed))
    statement = after.scop.statement("S0")
    rows = [row.text(statement.iterators, ("n",)) for row in after.schedule.rows("S0")]
    assert rows == ["t", "6t + x + 3n", "0"]


@pytest.mark.parametrize("name", ["colours", "points"])
@pytest.mark.parametrize("mapping", ["default", "threads=2 tile=4x5", "vector_bits=512 tile=off"])
@pytest.mark.parametrize("is_isl", [True, False])
def test_results_stay(name: str, mapping: str, is_isl: bool) -> None:
    scop = parse_text(MAPPED_PROGRAMS[name])
    schedule = isl_schedule(scop) if is_isl else original_schedule(scop)
    assert is_isl or coalesce_loops(LegalSchedule(scop, schedule)).scop != scop
    for size in (1, 2, 3, 9, 20):
        sizes = {parameter.name: size for parameter in scop.parameters}
        arrays = random_arrays(scop, sizes, np.random.default_rng(size))
        expected = {key: array.copy() for key, array in arrays.items()}
        run_in_order(scop, sizes, expected)
        run_natively(scop, schedule, sizes, arrays, parse_mapping(mapping), is_known=size > 3)
        for key, array in arrays.items():
            assert array.tobytes() == expected[key].tobytes(), (key, size)


def test_sequential_loops_stay() -> None:
    """They are to be those of the schedule."""
    scop = parse_text(MAPPED_PROGRAMS["colours"])
    legal = LegalSchedule(scop, original_schedule(scop))
    assert lower(legal).scop.array("src").rank == 3
    assert lower(legal, DEFAULT_MAPPING).scop.array("src").rank == 2
