"""Sums over several loops: what is arranged, what is refused, and what registers then hold."""

import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import ScalarReplacement, UnrollAndJam, VectorLoop
from polygym.codegen.common.packing_candidates import PackingCandidates
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.analysis.default_sizes import RegisterBlock, reduction_block
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.trip_counts import row_trip_count
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.inner_loops.nested_reduction import NestedReduction, plan_nested_reduction
from polygym.codegen.tree.ir import Band, SequenceNode
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.distance import all_pairs
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import ScheduleRow, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.codegen.mapped_programs import scop_of
from tests.codegen.transforms.test_tile_packing import BATCHES
from tests.codegen.transforms.test_tile_packing import TOGETHER as BATCHES_TOGETHER
from tests.codegen.tree.tree_members import members_of
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.tuning import use_machine

SIZES = {"g": 2, "c": 4, "w": 40, "r": 3}
MACHINE = Machine(vector_bits=512, registers=32)
TOGETHER = (
    "[g, c, w, r] -> { S0[a, f, x] -> [a, f, x, 0, 0, 0]; S1[a, f, x, b, q] -> [a, f, x, b, q, 1] }"
)


def found(
    scop: Scop,
    schedule: str,
    sizes: dict[str, int] | None,
    mapping: str = "default",
    machine: Machine = MACHINE,
) -> NestedReduction | None:
    order = parse_schedule(schedule, scop)
    band = build_tree(LegalSchedule(scop, order))
    assert isinstance(band, Band)
    names = tuple(part.statement for part in order.statements)
    around = LoopContext(all_pairs(scop), {name: () for name in names}, order.parameters)
    options = parse_mapping(mapping)
    packing = PackingCandidates(scop, None, (frozenset(names),))
    return plan_nested_reduction(
        band, around, PlannerContext(scop, options, machine, packing, sizes)
    )


def test_statements_part_ways_and_the_sum_is_held_in_all_of_its_loops() -> None:
    made = found(scop_of("grouped"), TOGETHER, SIZES)
    assert made is not None
    assert made.places == (0, 1, 2)
    assert made.annotated_members == {1, 2}, "copies along f, which share I, and vectors along x"
    outer = made.tree
    assert isinstance(outer, Band)
    assert [m.rows[0].iterators[:3] for m in outer.members] == [(1, 0, 0)]
    assert isinstance(outer.child, SequenceNode)
    first, second = outer.child.branches
    assert (first.statements, second.statements) == (("S0",), ("S1",))
    annotations = [type(member.annotation) for member in members_of(second.child)]
    assert annotations == [UnrollAndJam, VectorLoop, ScalarReplacement, ScalarReplacement]
    jam, vector, *_ = (member.annotation for member in members_of(second.child))
    assert jam == UnrollAndJam(4)
    assert vector == VectorLoop(512, 3)


@pytest.mark.parametrize(
    ("sizes", "mapping", "machine"),
    [
        (None, "default", MACHINE),
        (SIZES, "scalar_replacement=off", MACHINE),
        (SIZES, "vector_bits=off", MACHINE),
        ({**SIZES, "c": 40_000}, "default", MACHINE),
        (SIZES, "default", replace(MACHINE, level_2=1 << 9)),
    ],
)
def test_what_is_refused(sizes: dict[str, int] | None, mapping: str, machine: Machine) -> None:
    assert found(scop_of("grouped"), TOGETHER, sizes, mapping, machine) is None


def test_statements_that_wait_for_each_other_stay_together() -> None:
    scop = parse_text(
        "void f(int n, int m, double C[n][m], double D[n][m], double A[n][n][m]) {\n"
        "#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)\n"
        " for (int k = 0; k < n; k++) for (int l = 0; l < n; l++) {\n"
        "S: C[i][j] += A[k][l][j] * D[i][j];\n"
        "T: D[i][j] += A[l][k][j] * C[i][j];\n"
        "}\n#pragma endscop\n}\n"
    )
    schedule = "[n, m] -> { S[i, j, k, l] -> [i, j, k, l, 0]; T[i, j, k, l] -> [i, j, k, l, 1] }"
    assert found(scop, schedule, {"n": 4, "m": 40}) is None


def test_what_something_else_touches_is_not_held() -> None:
    text = (
        "void f(int n, int m, double C[n][m], double A[n][n][m]) {\n#pragma scop\n"
        "for (int i = 1; i < n; i++) for (int j = 0; j < m; j++)\n"
        " for (int k = 0; k < n; k++) for (int l = 0; l < n; l++)\n"
        "S: C[i][j] += A[k][l][j] * C[READ][j];\n#pragma endscop\n}\n"
    )
    schedule = "[n, m] -> { S[i, j, k, l] -> [i, j, k, l] }"
    sizes = {"n": 4, "m": 40}
    made = found(parse_text(text.replace("READ", "i - 1")), schedule, sizes)
    assert made is not None, "i, which waits for itself, runs outside"
    assert isinstance(made.tree, Band)
    assert [m.rows[0].iterators for m in made.tree.members] == [(1, 0, 0, 0)]
    everything = parse_text(text.replace("READ", "k"))
    order = "[n, m] -> { S[i, j, k, l] -> [j, i, k, l] }"
    assert found(everything, order, sizes) is None


def test_explicit_copies_are_honoured() -> None:
    made = found(
        scop_of("grouped"), TOGETHER, SIZES, "unroll_jam=2 vector_copies=1 vector_bits=256"
    )
    assert made is not None
    annotations = {member.annotation for member in members_of(made.tree)}
    assert {UnrollAndJam(2), VectorLoop(256, 1)} <= annotations


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ScheduleRow((1, 0), (0,), 0), 40),
        (ScheduleRow((1, 1), (0,), 0), 42),
        (ScheduleRow((0, -2), (3,), 1), 5),
    ],
)
def test_trips(row: ScheduleRow, expected: int) -> None:
    scop = parse_text(
        "void f(int n, double A[n][3]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++)\nS: A[i][j] = 1.0;\n"
        "#pragma endscop\n}\n"
    )
    assert row_trip_count(scop.statements[0], row, ("n",), {"n": 40}) == expected
    assert row_trip_count(scop.statements[0], row, ("n",), {"n": 0}) == 0


@pytest.mark.rotates
@pytest.mark.parametrize("registers", [16, 32])
@pytest.mark.parametrize("rows", [1, 3, 4, 16, 100])
@pytest.mark.parametrize("columns", [1, 5, 12, 16, 26, 54, 1000])
@pytest.mark.parametrize("streams", [1, 2, 3])
def test_blocks_fit_the_registers_and_the_sum(
    registers: int, rows: int, columns: int, streams: int
) -> None:
    chosen = reduction_block(rows, columns, 16, Machine(registers=registers), streams=streams)
    sums = chosen.unroll_jam * chosen.vector_copies
    assert sums + streams * (chosen.vector_copies + 1) + (streams > 1) <= registers
    assert chosen.unroll_jam <= rows
    assert 16 * (chosen.vector_copies - 1) < columns or chosen == RegisterBlock(1, 1)


def stores_inside(text: str) -> int:
    """Return how many blocks of a kernel both add products up and store."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("declare"))
    blocks = re.split(r"\n(?=[\w.\"]+:)", text)
    adds = re.compile(r"\bfadd\b|llvm\.fmuladd")
    return sum(bool(adds.search(block)) and "store " in block for block in blocks)


@pytest.mark.parametrize("name", ["grouped", "triangular_sum"])
def test_sums_are_stored_once_they_are_complete(name: str) -> None:
    scop = scop_of(name)
    sizes = {parameter.name: 17 for parameter in scop.parameters}
    legal = LegalSchedule(scop, original_schedule(scop))
    held = emit_llvm(lower(legal, parse_mapping("vector_bits=256"), sizes))
    without = emit_llvm(
        lower(legal, parse_mapping("vector_bits=256 scalar_replacement=off"), sizes)
    )
    assert stores_inside(without) > 0
    assert stores_inside(held) == 0


@pytest.mark.rotates
@pytest.mark.parametrize("name", ["grouped", "triangular_sum", "contraction"])
@pytest.mark.parametrize("size", [1, 2, 9, 17])
def test_the_same_bits_come_out(name: str, size: int) -> None:
    """Loops of a sum that do not run at all leave what was there."""
    scop = scop_of(name)
    sizes = {p.name: size + place % 3 for place, p in enumerate(scop.parameters)}
    arrays = random_arrays(scop, sizes, np.random.default_rng(size))
    expected = {key: values.copy() for key, values in arrays.items()}
    run_in_order(scop, sizes, expected)
    for text in (
        "default",
        "vector_bits=256 vector_copies=2 unroll_jam=3",
        "tile=4 vector_bits=128",
        "separate=on",
    ):
        result = {key: values.copy() for key, values in arrays.items()}
        run_natively(
            scop, original_schedule(scop), sizes, result, parse_mapping(text), is_known=True
        )
        for key, values in expected.items():
            assert result[key].tobytes() == values.tobytes(), f"{key} under {text}"


NEAR = {"n": 12, "c": 24, "w": 9, "r": 3}
SMALL = Machine(level_2=8 << 10)


def outermost(sizes: dict[str, int], machine: Machine, mapping: str = "default") -> list[int]:
    """Return the tile sizes of the outermost loops that a plan has, 1 for a loop over points."""
    scop = parse_text(BATCHES)
    legal = LegalSchedule(scop, parse_schedule(BATCHES_TOGETHER, scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), machine, sizes)
    return [member.terms[0].size for member in islice(members_of(tree), 3)]


def test_vectors_that_all_rows_need_are_tiled_so_that_they_stay_near() -> None:
    """A vector of weights has 72 terms, 2.3 KB; those of 24 channels 6.9 KB, more than 4."""
    assert outermost(NEAR, SMALL) == [8, 1, 1]
    assert outermost(NEAR, Machine()) == [1, 1, 1]
    assert outermost(NEAR, SMALL, "threads=3") == [8, 1, 1]
    assert outermost(NEAR, SMALL, "threads=4") == [1, 1, 1], "three tiles are too few for four"
    assert outermost(NEAR, SMALL, "tile=off") == [1, 1, 1]
    assert outermost(NEAR, SMALL, "tile=4") == [4, 4, 4]


@pytest.mark.parametrize("sizes", [NEAR, {"n": 9, "c": 21, "w": 9, "r": 2}])
def test_the_same_bits_come_out_of_tiles_that_keep_vectors_near(
    sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_machine(monkeypatch, SMALL)
    scop = parse_text(BATCHES)
    arrays = random_arrays(scop, sizes, np.random.default_rng(0))
    expected = {key: values.copy() for key, values in arrays.items()}
    run_in_order(scop, sizes, expected)
    for text in ("default", "threads=2"):
        result = {key: values.copy() for key, values in arrays.items()}
        order = parse_schedule(BATCHES_TOGETHER, scop)
        run_natively(scop, order, sizes, result, parse_mapping(text), is_known=True)
        for key, values in expected.items():
            assert result[key].tobytes() == values.tobytes(), f"{key} under {text}"
