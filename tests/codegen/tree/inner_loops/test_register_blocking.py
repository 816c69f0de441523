"""How many rows run together: those that add to the same vectors, and those with several sums."""

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import UnrollAndJam
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.tree.tree_members import members_of
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.tuning import use_machine

FEW, MANY = Machine(), Machine(vector_bits=512, registers=32)

FILE = "void f(int n, double A[n][n], double B[n][n], double x[n], double y[n], double z[n]) {{\n\
#pragma scop\n{}\n#pragma endscop\n}}\n"
LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
ADDED = LOOPS + "y[j] += A[i][j] * x[i];"
WRITTEN = LOOPS + "B[i][j] = A[i][j] * x[i];"
BOTH_SUMS = LOOPS + "{ y[i] += A[i][j] * x[j]; z[i] += B[i][j] * x[j]; }"
A_SUM_AND_A_LINE = LOOPS + "{ y[i] += A[i][j] * x[j]; B[i][j] = y[i]; }"


def jams(scop: Scop, machine: Machine) -> list[int]:
    legal = LegalSchedule(scop, original_schedule(scop))
    mapping = parse_mapping("threads=2")
    tree = plan_tree(build_tree(legal), legal, mapping, machine, {"n": 2000})
    annotations = (member.annotation for member in members_of(tree))
    return [annotation.copies for annotation in annotations if isinstance(annotation, UnrollAndJam)]


@pytest.mark.parametrize(
    ("body", "many", "few"),
    [(ADDED, [12], [8]), (WRITTEN, [], []), (BOTH_SUMS, [8], [4])],
)
def test_rows_that_run_together(body: str, many: list[int], few: list[int]) -> None:
    scop = parse_text(FILE.format(body))
    assert jams(scop, MANY) == many
    assert jams(scop, FEW) == few


@pytest.mark.rotates
@pytest.mark.parametrize("body", [ADDED, WRITTEN, BOTH_SUMS, A_SUM_AND_A_LINE])
@pytest.mark.parametrize("size", [1, 11, 12, 13, 40, 67])
def test_the_same_bits_come_out(body: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    use_machine(monkeypatch, MANY)
    scop, sizes = parse_text(FILE.format(body)), {"n": size}
    expected = random_arrays(scop, sizes, np.random.default_rng(size))
    result = {key: values.copy() for key, values in expected.items()}
    run_in_order(scop, sizes, expected)
    run_natively(scop, isl_schedule(scop), sizes, result, parse_mapping("threads=2"))
    for key, values in expected.items():
        assert result[key].tobytes() == values.tobytes(), key
