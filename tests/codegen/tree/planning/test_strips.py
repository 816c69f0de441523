"""Strips of rows in the tiles of a stencil: they run through all times of a tile, rows in cache."""

import numpy as np
import pytest

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import FlooredRow
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.codegen.tree.tree_members import members_of
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively

NINE_POINTS = """
void f(int t, int n, double A[n][n], double B[n][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        B[i][j] = 0.1 * (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j]
                       + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = B[i][j] - 0.3 * (B[i - 1][j] + B[i + 1][j]);
  }
#pragma endscop
}
"""
FIELDS = """
void f(int t, int n, double x[n][n], double y[n][n], double z[n][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int j = 0; j < n; j++)
      y[0][j] = s;
    for (int i = 1; i < n; i++)
      for (int j = 0; j < n; j++)
        y[i][j] = y[i][j] - 0.5 * (z[i][j] - z[i - 1][j]);
    for (int i = 0; i < n; i++)
      for (int j = 1; j < n; j++)
        x[i][j] = x[i][j] - 0.5 * (z[i][j] - z[i][j - 1]);
    for (int i = 0; i < n - 1; i++)
      for (int j = 0; j < n - 1; j++)
        z[i][j] = z[i][j] - 0.7 * (x[i][j + 1] - x[i][j] + y[i + 1][j] - y[i][j]);
  }
#pragma endscop
}
"""
BLOCKS = """
void f(int t, int n, float A[n][n][n], float B[n][n][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          B[i][j][k] = 0.2f * (A[i + 1][j][k] + A[i - 1][j][k] + A[i][j + 1][k] + A[i][j - 1][k])
                     + A[i][j][k + 1] - A[i][j][k - 1];
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          A[i][j][k] = B[i][j][k] + 0.1f * (B[i][j - 1][k] + B[i][j + 1][k]);
  }
#pragma endscop
}
"""
PRODUCT = """
void f(int n, double C[n][n], double A[n][n], double B[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""
NARROW = Machine(level_2=1 << 20, vector_bits=256, registers=16)


def strips(text: str, mapping: str, *, in_order: bool = False) -> list[int]:
    """Return the sizes of all tiles of rows that are at most eight rows high."""
    scop = parse_text(text)
    legal = LegalSchedule(scop, isl_schedule(scop))
    tree = plan_tree(
        build_tree(legal), legal, parse_mapping(mapping), NARROW, keep_order_in_tiles=in_order
    )
    terms = [term for member in members_of(tree) for term in member.terms]
    return [term.size for term in terms if isinstance(term, FlooredRow) and 1 < term.size <= 8]


@pytest.mark.parametrize(
    ("text", "mapping", "heights"),
    [
        (NINE_POINTS, "threads=2", [4]),
        (NINE_POINTS, "default", [4]),
        (NINE_POINTS, "unroll_jam=8", [8]),
        (NINE_POINTS, "unroll_jam=1", []),
        (NINE_POINTS, "tile=16x64x256", []),
        (FIELDS, "threads=2", [4]),
        (PRODUCT, "threads=2", []),
    ],
)
def test_strips_have_the_rows_of_a_block(text: str, mapping: str, heights: list[int]) -> None:
    assert strips(text, mapping) == heights


def test_plan_that_keeps_the_order_in_tiles_has_no_strips() -> None:
    assert strips(NINE_POINTS, "threads=2", in_order=True) == []


@pytest.mark.parametrize(
    ("text", "times", "size", "is_known"),
    [
        (NINE_POINTS, 40, 66, True),
        (NINE_POINTS, 17, 3, True),
        (NINE_POINTS, 7, 269, True),
        (NINE_POINTS, 33, 131, False),
        (FIELDS, 37, 67, True),
        (FIELDS, 5, 262, False),
        (BLOCKS, 18, 21, True),
        (BLOCKS, 3, 35, True),
    ],
)
@pytest.mark.parametrize("mapping", ["threads=2", "unroll_jam=3"])
def test_strips_keep_the_results(
    text: str, times: int, size: int, is_known: bool, mapping: str
) -> None:
    scop, sizes = parse_text(text), {"t": times, "n": size}
    expected = random_arrays(scop, sizes, np.random.default_rng(size))
    arrays = {name: values.copy() for name, values in expected.items()}
    run_in_order(scop, sizes, expected)
    run_natively(scop, isl_schedule(scop), sizes, arrays, parse_mapping(mapping), is_known=is_known)
    for name, values in expected.items():
        assert np.array_equal(arrays[name], values), name
