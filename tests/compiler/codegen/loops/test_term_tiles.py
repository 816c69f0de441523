"""Factors that all vectors of a sum share: computed once for a tile, and the same bits."""

import numpy as np
import pytest

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.loops.generate import generate_loops
from polygym.compiler.codegen.loops.ir import LoopProgram
from polygym.compiler.codegen.loops.term_tiles import compute_tiles
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.legality import LegalSchedule
from tests.oracles.native import random_arrays, run_in_order, run_natively

SIZES = {"n": 40, "m": 37, "l": 33}
MAPPING = "tile=16x32x16 vector_bits=256 unroll_jam=4"


def source(body: str) -> str:
    return f"""
void f(int n, int m, int l, double C[n][m], double A[n][l], double D[n][l], double B[l][m],
       double alpha) {{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < l; k++)
        {body}
#pragma endscop
}}
"""


def terms(body: str, mapping: str = MAPPING) -> LoopProgram:
    scop = parse_text(source(body))
    legal = LegalSchedule(scop, original(scop))
    tree = plan(build_tree(legal), legal, parse_mapping(mapping), Machine(), SIZES)
    return compute_tiles(generate_loops(tree, legal, SIZES))


FACTORS = [
    "C[i][j] += alpha * A[i][k] * B[k][j];",
    "C[i][j] += 2.0 * A[i][k] * B[k][j];",
    "C[i][j] -= B[k][j] * (A[i][k] + alpha * D[i][k]);",
    "C[i][j] += (A[i][k] / D[i][k]) * B[k][j] + B[k][j];",
    "C[i][j] += -(alpha * A[i][k]) * A[i][k] * B[k][j];",
]
OTHERS = [
    "C[i][j] += A[i][k] * B[k][j];",  # nothing is computed
    "C[i][j] += alpha * B[k][j] * A[i][k];",  # along the vectors
    "C[i][j] += alpha * A[i][k];",  # a term: rounded together with the sum
    "C[i][j] += alpha * alpha * B[k][j];",  # the same all along the sum
    "C[i][j] += fmin(alpha, A[i][k]) * B[k][j];",  # a call
]


@pytest.mark.parametrize("body", FACTORS)
def test_factors_have_tiles(body: str) -> None:
    names = {array.name for array in terms(body).scop.arrays}
    assert "A_term" in names


@pytest.mark.parametrize("body", OTHERS)
def test_other_things_have_none(body: str) -> None:
    names = {array.name for array in terms(body).scop.arrays}
    assert "A_term" not in names
    assert "B_term" not in names


def test_without_vectors_or_copies_there_are_none() -> None:
    for less in ("vector_bits=off", "unroll_jam=1", "registers=off"):
        names = {array.name for array in terms(FACTORS[0], f"{MAPPING} {less}").scop.arrays}
        assert "A_term" not in names


@pytest.mark.parametrize("body", FACTORS)
@pytest.mark.parametrize("mapping", [MAPPING, "tile=off unroll_jam=3", "tile=8x8x64 threads=2"])
def test_results_are_the_same_bits(body: str, mapping: str) -> None:
    scop = parse_text(source(body))
    arrays = random_arrays(scop, SIZES, np.random.default_rng(1))
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, SIZES, expected)
    run_natively(scop, original(scop), SIZES, arrays, parse_mapping(mapping), is_known=True)
    assert arrays["C"].tobytes() == expected["C"].tobytes()
