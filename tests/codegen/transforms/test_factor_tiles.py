"""Factors that all vectors of a sum share: computed once for a tile, and the same bits."""

import numpy as np
import pytest

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.loopir.ir import LoopProgram, Node, children_of
from polygym.codegen.transforms.factor_tiles import precompute_factors
from polygym.codegen.transforms.reduction_init import sink_reduction_init
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively

SIZES = {"n": 40, "m": 37, "l": 33}
MAPPING = "tile=16x32x16 vector_bits=256 unroll_jam=4"


def source(body: str) -> str:
    return f"""
void f(int n, int m, int l, double C[n][m], double A[n][l], double D[n][l], double E[l][n],
       double B[l][m], double alpha) {{
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
    legal = LegalSchedule(scop, original_schedule(scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), Machine(), SIZES)
    return precompute_factors(generate_loops(tree, legal, SIZES))


FACTORS = [
    "C[i][j] += alpha * A[i][k] * B[k][j];",
    "C[i][j] += 2.0 * A[i][k] * B[k][j];",
    "C[i][j] -= B[k][j] * (A[i][k] + alpha * D[i][k]);",
    "C[i][j] += (A[i][k] / D[i][k]) * B[k][j] + B[k][j];",
    "C[i][j] += -(alpha * A[i][k]) * A[i][k] * B[k][j];",
    "C[i][j] += (alpha + A[i][k]) * B[k][j];",
    "C[i][j] += (A[i][k] * A[i][k]) * B[k][j];",
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
    for less in ("vector_bits=off", "unroll_jam=1", "scalar_replacement=off"):
        names = {array.name for array in terms(FACTORS[0], f"{MAPPING} {less}").scop.arrays}
        assert "A_term" not in names


@pytest.mark.rotates
@pytest.mark.parametrize("body", FACTORS)
@pytest.mark.parametrize("mapping", [MAPPING, "tile=off unroll_jam=3", "tile=8x8x64 threads=2"])
def test_results_are_the_same_bits(body: str, mapping: str) -> None:
    scop = parse_text(source(body))
    arrays = random_arrays(scop, SIZES, np.random.default_rng(1))
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, SIZES, expected)
    run_natively(
        scop, original_schedule(scop), SIZES, arrays, parse_mapping(mapping), is_known=True
    )
    assert arrays["C"].tobytes() == expected["C"].tobytes()


def lengths(program: LoopProgram) -> list[int]:
    """Return the lengths of the tile of a factor."""
    names = [array.name for array in program.scop.arrays]
    return [getattr(index, "value", 0) for index in program.extents[names.index("A_term")]]


@pytest.mark.parametrize(
    ("element", "mapping", "expected"),
    [
        ("double", MAPPING, [16, 8]),  # a line, two blocks of rows that run together
        ("double", f"{MAPPING} unroll_jam=8", [16, 8]),
        ("float", f"{MAPPING} unroll_jam=8", [16, 16]),  # all rows of a tile
        ("float", f"{MAPPING} tile=32x32x20", [32, 16]),  # sums in whole blocks
        ("double", f"{MAPPING} tile=32x32x5", [5, 8]),
        ("double", f"{MAPPING} unroll_jam=3", [16, 16]),  # three rows are no part of a line
        ("double", f"{MAPPING} tile=8x32x16", [16, 8]),
    ],
)
def test_a_tile_has_the_rows_of_a_line(element: str, mapping: str, expected: list[int]) -> None:
    scop = parse_text(source(FACTORS[0]).replace("double", element))
    legal = LegalSchedule(scop, original_schedule(scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), Machine(), SIZES)
    assert lengths(precompute_factors(generate_loops(tree, legal, SIZES))) == expected


SCALED = """
void f(int n, int m, int l, double C[n][m], double A[n][l], double D[n][l], double B[l][m],
       double alpha, double beta) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      C[i][j] *= beta;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < l; k++)
        C[i][j] += alpha * A[i][k] * B[k][j];
#pragma endscop
}
"""


def runs_beside(node: Node, first: str, second: str) -> bool:
    """Whether an instance of a statement stands in a block beside the loops of another."""
    parts = tuple(children_of(node))
    beside = [getattr(part, "statement", "") for part in parts]
    if first in beside and any(second in str(part) for part in parts):
        return True
    return any(runs_beside(part, first, second) for part in parts)


def test_what_sets_an_element_still_moves_before_its_terms() -> None:
    scop = parse_text(SCALED)
    legal = LegalSchedule(scop, original_schedule(scop))
    mapping = parse_mapping("tile=off vector_bits=256 unroll_jam=8")
    tree = plan_tree(build_tree(legal), legal, mapping, Machine(), SIZES)
    program = precompute_factors(generate_loops(tree, legal, SIZES))
    assert lengths(program) == [40, 8]
    moved = sink_reduction_init(program.body, program.scop, frozenset())
    assert not runs_beside(program.body, "S0", "S1_packed")
    assert runs_beside(moved, "S0", "S1_packed")


BODIES = [
    *FACTORS,
    "C[i][j] += alpha * E[k][i] * B[k][j];",  # neighbours along the rows
    "C[i][j] += alpha * A[i][l - 1 - k] * B[k][j];",  # backwards along the sum
    "C[i][j] += alpha * A[i][k] * E[k][i] * B[k][j];",
    "C[i][j] += (A[i][k] - D[0][0]) * B[k][j];",
]


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(40))
def test_results_are_the_same_bits_whatever_the_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = str(rng.choice(BODIES))
    text = source(body).replace("double", str(rng.choice(["double", "float"])))
    sizes = {name: int(rng.integers(1, 45)) for name in ("n", "m", "l")}
    order = ", ".join(rng.permutation(["i", "j", "k"]))
    mapping = " ".join(
        [
            "tile=" + "x".join(str(size) for size in rng.choice([5, 8, 16, 24, 48], 3)),
            f"unroll_jam={rng.choice([2, 3, 4, 8])}",
            f"vector_bits={rng.choice([128, 256, 512])}",
            f"threads={rng.integers(1, 4)}",
            f"separate={rng.choice(['on', 'off'])}",
        ]
    )
    scop = parse_text(text)
    arrays = random_arrays(scop, sizes, rng)
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, sizes, expected)
    schedule = parse_schedule(f"[n, m, l] -> {{ S0[i, j, k] -> [{order}] }}", scop)
    run_natively(scop, schedule, sizes, arrays, parse_mapping(mapping), is_known=True)
    for name, array in arrays.items():
        assert array.tobytes() == expected[name].tobytes(), (body, sizes, order, mapping)
