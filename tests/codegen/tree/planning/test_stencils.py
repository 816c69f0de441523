"""Stencils: rows that run together load what they share once, in tiles that suit the size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.codegen.common.loop_annotation import UnrollAndJam, VectorLoop
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimize
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.analysis.access_strides import repeated_reads
from polygym.codegen.tree.analysis.trip_counts import inner_trip_count
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import BandMember, point_member
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.innermost import innermost_loop
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import isl_schedule
from tests.codegen.tree.tree_members import members_of
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.tuning import use_machine

IN_TIME = """
void f(int t, int n, double A[n][n], double B[n][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        S: B[i][j] = %s;
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        T: A[i][j] = B[i][j] + B[i - 1][j] - B[i + 1][j];
  }
#pragma endscop
}
"""
CROSS = "0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j])"
ROWS = "A[i - 1][j - 1] * 0.5 + A[i - 1][j + 1]"
ONCE = """
void f(int n, double A[n][n], double B[n][n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      S: B[i][j] = %s;
#pragma endscop
}
"""
WIDE = Machine(level_2=1 << 20, vector_bits=512, registers=32)
NARROW = Machine(level_2=1 << 20, vector_bits=256, registers=16)


def planned(text: str, machine: Machine, sizes: dict[str, int], mapping: str) -> list[BandMember]:
    """Return the members of a plan of isl's schedule, the outermost first."""
    scop = parse_text(text)
    legal = LegalSchedule(scop, isl_schedule(scop))
    return list(
        members_of(plan_tree(build_tree(legal), legal, parse_mapping(mapping), machine, sizes))
    )


@pytest.mark.parametrize(
    ("body", "machine", "rows"),
    [(CROSS, WIDE, [8, 8]), (CROSS, NARROW, [4, 4]), (ROWS, WIDE, [8])],
)
def test_rows_run_together_where_they_read_the_same(
    body: str, machine: Machine, rows: list[int]
) -> None:
    members = planned(IN_TIME % body, machine, {"t": 100, "n": 500}, "default")
    jams = [
        band_member.annotation.copies
        for band_member in members
        if isinstance(band_member.annotation, UnrollAndJam)
    ]
    assert jams == rows
    assert sum(isinstance(member.annotation, VectorLoop) for member in members) == 2


@pytest.mark.parametrize(
    ("n", "mapping", "size"),
    [
        (1300, "threads=2", 64),
        (202, "threads=2", 48),
        (1300, "threads=16", 40),
        (50, "default", 32),
    ],
)
def test_tiles_are_larger_where_all_threads_have_two(n: int, mapping: str, size: int) -> None:
    _, parallel, *_ = planned(IN_TIME % CROSS, WIDE, {"t": 500, "n": n}, mapping)
    assert parallel.terms[0].size == size


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=5),
    st.sampled_from([(1, 0), (0, 1)]),
)
def test_repeated_reads_are_those_that_are_seen_by_looking(
    offsets: list[tuple[int, int]], direction: tuple[int, int]
) -> None:
    body = " + ".join(f"A[i + {a}][j + {b}]".replace("+ -", "- ") for a, b in offsets)
    scop = parse_text((ONCE % body).replace("= 1", "= 2").replace("n - 1", "n - 2"))
    (statement,) = scop.statements
    rows = [direction[::-1], direction]
    loop = innermost_loop(statement.domain, rows)
    assert loop is not None
    places = set(offsets)
    later = {(a + direction[0], b + direction[1]) for a, b in places}
    assert repeated_reads(statement, loop) == len(places & later)


@given(st.integers(-4, 4), st.integers(2, 9), st.integers(3, 20))
def test_the_width_of_a_skewed_loop_is_what_one_step_of_time_has(
    skew: int, steps: int, n: int
) -> None:
    scop = parse_text(
        "void f(int t, int n, double A[t][n]) {\n#pragma scop\nfor (int s = 0; s < t; s++)\n"
        "for (int i = 0; i < n; i++)\nS: A[s][i] = 1.0;\n#pragma endscop\n}"
    )
    time = point_member((ScheduleRow((1, 0), (0, 0), 0),), coincident=False)
    space = point_member((ScheduleRow((skew, 1), (0, 0), 3),), coincident=False)
    sizes = {"t": steps, "n": n}
    parameters = tuple(parameter.name for parameter in scop.parameters)
    seen = max(len({skew * s + i for i in range(n)}) for s in range(steps))
    assert inner_trip_count(scop, ("S",), space, time, parameters, sizes) == seen


def test_what_rows_share_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    use_machine(monkeypatch, WIDE)
    scop = parse_text(ONCE % CROSS)
    legal = LegalSchedule(scop, isl_schedule(scop))
    loaded = {}
    for rows in (1, 4):
        program = lower(legal, parse_mapping(f"unroll_jam={rows}"), {"n": 402})
        text = optimize(emit_llvm(program), 2)
        loads, stores = "= load <8 x double>", "store <8 x double>"
        loaded[rows] = max(
            block.count(loads) / block.count(stores)
            for block in text.split("\n\n")
            if stores in block
        )
    # A row of its own loads five vectors; four rows have 4 + 2 down the column, and 2 beside each.
    assert loaded == {1: 5, 4: 14 / 4}


@pytest.mark.parametrize("body", [CROSS, ROWS, "A[i][j + 1] / A[i + 1][j] - A[i - 1][j - 1]"])
@pytest.mark.parametrize("sizes", [{"t": 5, "n": 41}, {"t": 20, "n": 150}, {"t": 3, "n": 4}])
def test_the_same_bits_come_out(
    body: str, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_machine(monkeypatch, WIDE)
    scop = parse_text(IN_TIME % body)
    arrays = random_arrays(scop, sizes, np.random.default_rng(0))
    expected = {key: values.copy() for key, values in arrays.items()}
    run_in_order(scop, sizes, expected)
    schedule = isl_schedule(scop)
    for mapping in ("default", "threads=2", "tile=8 unroll_jam=3 vector_copies=2 vector_bits=128"):
        for is_known in (True, False):
            result = {key: values.copy() for key, values in arrays.items()}
            run_natively(scop, schedule, sizes, result, parse_mapping(mapping), is_known=is_known)
            for key, values in expected.items():
                assert result[key].tobytes() == values.tobytes(), f"{key} under {mapping}"
