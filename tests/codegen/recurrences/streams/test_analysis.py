"""Sums that run through memory row by row: when, in which tiles, and with the same bits."""

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import (
    LaneRows,
    LoopAnnotation,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.codegen.tree.tree_members import members_of
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.tuning import use_machine

COLUMNS = """
void f(int n, int m, double y[m], double x[n], double A[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      S: y[j] += A[i][j] * x[i];
#pragma endscop
}
"""
CLEARED = """
void f(int n, int m, double y[m], double x[n], double A[n][m]) {
#pragma scop
  for (int j = 0; j < m; j++) {
    S: y[j] = 0.0;
    for (int i = 0; i < n; i++)
      T: y[j] += A[i][j] * x[i];
  }
#pragma endscop
}
"""
TRIANGLE = """
void f(int n, int m, double y[m], double x[n], double A[n][m]) {
#pragma scop
  for (int j = 0; j < m; j++)
    for (int i = 0; i < n && i <= j; i++)
      S: y[j] = (y[j] - A[i][j] * x[i]) * 0.75;
#pragma endscop
}
"""
BATCH = """
void f(int n, int m, double y[n][m], double x[n], double A[n][n][m]) {
#pragma scop
  for (int b = 0; b < n; b++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        S: y[b][j] += A[b][i][j] * x[i];
#pragma endscop
}
"""
ORDERS = {
    "columns": (COLUMNS, "[n, m] -> { S[i, j] -> [j, i] }"),
    "cleared": (CLEARED, "[n, m] -> { S[j] -> [j, 0, 0]; T[j, i] -> [j, i, 1] }"),
    "triangle": (TRIANGLE, "[n, m] -> { S[j, i] -> [j, i] }"),
    "batch": (BATCH, "[n, m] -> { S[b, i, j] -> [b, j, i] }"),
}
FEW = {"n": 20, "m": 90}
SMALL = Machine(level_2=1 << 10, vector_bits=512, registers=32)
LARGE = Machine(level_2=1 << 20, vector_bits=512, registers=32)


def mapped(
    name: str, machine: Machine, mapping: str = "default", sizes: dict[str, int] | None = FEW
) -> list[tuple[LoopAnnotation, int]]:
    """Return what the loops of a plan do, and the sizes of their tiles."""
    text, order = ORDERS[name]
    scop = parse_text(text)
    legal = LegalSchedule(scop, parse_schedule(order, scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), machine, sizes)
    return [(member.annotation, member.terms[0].size) for member in members_of(tree)]


@pytest.mark.parametrize("name", ["columns", "triangle", "batch"])
def test_rows_run_together_where_a_cache_does_not_hold_them(name: str) -> None:
    *_, (jam, _), (vector, _) = mapped(name, SMALL)
    assert (jam, vector) == (UnrollAndJam(12), VectorLoop(512, 1))


@pytest.mark.parametrize(
    ("machine", "mapping", "is_known"),
    [(LARGE, "default", True), (SMALL, "default", False)],
)
def test_else_their_sums_stay_in_registers(machine: Machine, mapping: str, is_known: bool) -> None:
    loops = mapped("columns", machine, mapping, FEW if is_known else None)
    assert [type(annotation) for annotation, _ in loops][-2:] == [VectorLoop, ScalarReplacement]


def test_threads_get_two_parts_of_a_row_each_and_one_thread_whole_rows() -> None:
    wide = {"n": 20, "m": 2000}
    assert mapped("columns", SMALL, "threads=2", wide)[0][1] == 504
    assert mapped("columns", SMALL, "threads=4", wide)[0][1] == 256
    assert mapped("columns", SMALL, "default", wide)[0][1] == 2000
    assert mapped("columns", SMALL, "default", {"n": 20, "m": 9000})[0][1] == 2048
    assert mapped("columns", SMALL, "threads=2 tile=40", wide)[0][1] == 40


def test_what_is_used_again_is_not_streamed() -> None:
    text = COLUMNS.replace("A[n][m]", "A[m]").replace("A[i][j]", "A[j]")
    scop = parse_text(text)
    legal = LegalSchedule(scop, parse_schedule("[n, m] -> { S[i, j] -> [j, i] }", scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping("default"), SMALL, FEW)
    assert isinstance(list(members_of(tree))[-1].annotation, ScalarReplacement)


@pytest.mark.rotates
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("sizes", [FEW, {"n": 7, "m": 83}, {"n": 33, "m": 5}])
def test_the_same_bits_come_out(
    name: str, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(level_2=1, vector_bits=512, registers=32)
    use_machine(monkeypatch, machine)
    text, order = ORDERS[name]
    scop: Scop = parse_text(text)
    arrays = random_arrays(scop, sizes, np.random.default_rng(0))
    expected = {key: values.copy() for key, values in arrays.items()}
    run_in_order(scop, sizes, expected)
    for mapping in ("default", "threads=2", "tile=8 unroll_jam=3 vector_copies=2 vector_bits=128"):
        result = {key: values.copy() for key, values in arrays.items()}
        run_natively(
            scop, parse_schedule(order, scop), sizes, result, parse_mapping(mapping), is_known=True
        )
        for key, values in expected.items():
            assert result[key].tobytes() == values.tobytes(), f"{key} under {mapping}"


THROUGH = {
    "map": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) z[i][j] = v[0] * x[i][j];",
    "again": """
for (int t = 0; t < 9; t++) {
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) z[i][j] = v[0] * y[i][j];
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i][j] = z[i][j] * v[1];
}
""",
    "shared": "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) z[i][j] = x[i][j] + v[j];",
    "filter": """
for (int i = 0; i < n; i++)
  for (int j = 0; j < m; j++) {
    y[i][j] = x[i][j] + 0.5f * w[i] + 0.25f * (0.125f * u[i] - 2.0f * q[i]);
    q[i] = u[i];
    u[i] = w[i];
    w[i] = y[i][j];
  }
""",
}
SMALLER, GREATER = {"n": 2000, "m": 4000}, {"n": 2200, "m": 4000}  # 32.0 and 35.2 MB of floats


def given_to(name: str, sizes: dict[str, int]) -> set[LoopAnnotation]:
    """Return what loops of a program in the order of its text are given to do, by default."""
    arrays = "float x[n][m], float y[n][m], float z[n][m], float v[m]"
    state = "float u[n], float w[n], float q[n]"
    scop = parse_text(
        f"void f(int n, int m, {arrays}, {state}) {{\n#pragma scop\n{THROUGH[name]}\n"
        "#pragma endscop\n}"
    )
    legal = LegalSchedule(scop, original_schedule(scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping("default threads=2"), LARGE, sizes)
    return {member.annotation for member in members_of(tree)}


@pytest.mark.parametrize("sizes", [SMALLER, GREATER])
def test_rows_that_share_nothing_run_alone_where_they_come_from_memory(
    sizes: dict[str, int],
) -> None:
    assert (UnrollAndJam(4) in given_to("map", sizes)) == (sizes == SMALLER)
    assert UnrollAndJam(4) in given_to("shared", sizes)
    assert UnrollAndJam(4) in given_to("again", sizes)


def test_recurrences_that_come_from_memory_run_in_one_vector_of_rows() -> None:
    assert LaneRows(512, 2, 4) in given_to("filter", SMALLER)
    assert LaneRows(512, 1, 4) in given_to("filter", GREATER)
