"""Recurrences along rows in lanes: bit for bit what the order of the text leaves, or refused."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.common.loop_annotation import LaneRows, UnrollAndJam
from polygym.codegen.loopir.ir import Loop, LoopProgram, loops_in
from polygym.codegen.loopir.pass_types import CodegenRequest
from polygym.codegen.passes import GENERATE, PLAN
from polygym.codegen.pipeline import lower
from polygym.codegen.recurrences.recurrence_lanes.plan import RowPlan, TilePrefill, plan_rows
from polygym.codegen.recurrences.recurrence_lanes.transform import apply_recurrence_lanes
from polygym.codegen.tree.build import build_tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops, run_natively

ROWS = LaneRows(256, 2, 4)


def program(body: str, arguments: str = "double x[n][m], double y[n][m], double z[n][m]") -> Scop:
    """Return the program of a loop nest over n and m."""
    text = f"void f(int n, int m, {arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}"
    return parse_text(text)


def annotated(scop: Scop, rows: LaneRows = ROWS) -> LoopProgram:
    """Return the loops of the text, the outermost of which are rows."""
    loop_program = lower(LegalSchedule(scop, original_schedule(scop)))
    assert isinstance(loop_program.body, Loop)
    return replace(loop_program, body=replace(loop_program.body, annotation=rows))


def plan_of(body: str, arguments: str | None = None) -> RowPlan | None:
    """Return the plan of the outermost loop."""
    loops = annotated(program(body) if arguments is None else program(body, arguments))
    assert isinstance(loops.body, Loop)
    return plan_rows(loops.body, loops, 128 << 10)


def outcome(scop: Scop, loops: LoopProgram, sizes: dict[str, int]) -> None:
    """Check that loops leave what the text does, and touch nothing that they must not."""
    start = random_arrays(scop, sizes, np.random.default_rng(1))
    expected, arrays, watched = ({k: v.copy() for k, v in start.items()} for _ in range(3))
    run_in_order(scop, sizes, expected)
    run_loops(loops, sizes, arrays)
    run_loops(loops, sizes, watched, is_watched=True)
    for name, array in expected.items():
        assert array.tobytes() == arrays[name].tobytes(), name
        assert array.tobytes() == watched[name].tobytes(), name


FILTER = """
  for (int i = 0; i < n; i++)
    for (int j = 2; j < m; j++)
      y[i][j] = x[i][j] + 0.5 * y[i][j - 1] - 0.25 * y[i][j - 2];
"""
BACK = """
  for (int i = 0; i < n; i++)
    for (int j = m - 2; j >= 0; j--) {
      y[i][j] = x[i][j + 1] - 0.5 * y[i][j + 1];
      z[i][j] = z[i][j] + y[i][j];
    }
"""


def test_an_array_that_is_read_before_it_is_written_fills_its_tile() -> None:
    row_plan = plan_of(FILTER)
    assert row_plan is not None
    filled = {tile.array.name: (tile.prefill, tile.span, tile.written) for tile in row_plan.tiles}
    assert filled == {"x": (TilePrefill.ALL, 0, None), "y": (TilePrefill.IN_FRONT, 2, 2)}


def test_backwards_the_columns_in_front_are_the_last_ones() -> None:
    row_plan = plan_of(BACK)
    assert row_plan is not None
    tiles = {tile.array.name: tile for tile in row_plan.tiles}
    assert [tiles[name].direction for name in "xyz"] == [-1, -1, -1]
    assert tiles["y"].prefill is TilePrefill.IN_FRONT
    assert tiles["z"].prefill is TilePrefill.ALL  # its own old value
    assert (tiles["y"].span, tiles["y"].written) == (1, 0)


def test_what_is_written_and_then_read_is_not_filled() -> None:
    row_plan = plan_of(
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {"
        " y[i][j] = x[i][j]; z[i][j] = y[i][j]; }"
    )
    assert row_plan is not None
    assert {t.array.name: t.prefill for t in row_plan.tiles} == {
        "x": TilePrefill.ALL,
        "y": TilePrefill.NONE,
        "z": TilePrefill.NONE,
    }


STENCIL = """
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m; j++) {
      y[i][j] = -0.5 / (0.25 * y[i][j - 1] + 3.0);
      z[i][j] = (x[i - 1][j] - 2.0 * x[i][j - 1] + x[i + 1][j] - z[i][j - 1]) / y[i][j];
    }
"""


def test_rows_near_each_other_share_a_tile() -> None:
    row_plan = plan_of(STENCIL)
    assert row_plan is not None
    tiles = {tile.array.name: tile for tile in row_plan.tiles}
    assert [(tiles[name].extra_rows, tiles[name].span) for name in "xyz"] == [
        (2, 1),
        (0, 1),
        (0, 1),
    ]
    number = row_plan.tiles.index(tiles["x"])
    rows = [at.row for at in row_plan.reads[1] if at is not None and at.tile == number]
    assert rows == [0, 1, 2]


def test_rows_far_from_each_other_have_tiles_of_their_own() -> None:
    far = "x[i + 99][j] + x[i + 100][j] + x[i + 101][j] - 2.0 * x[i][j - 1]"
    row_plan = plan_of(
        STENCIL.replace("x[i - 1][j] - 2.0 * x[i][j - 1]", far),
        "double x[n+101][m], double y[n][m], double z[n][m]",
    )
    assert row_plan is not None
    # Eight rows run together: rows of two blocks are no less to turn in one tile.
    beyond = [(tile.array.name, tile.extra_rows) for tile in row_plan.tiles]
    assert sorted(beyond) == [("x", 0), ("x", 0), ("x", 2), ("y", 0), ("z", 0)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [("i", [3]), ("n - 1 - i", [3]), ("2 * i", [0, 0, 0])],
)
def test_rows_share_a_tile_if_some_iterations_are_between_them(
    row: str, expected: list[int]
) -> None:
    # Of 2 i, 2 i + 1, 2 i + 3 the last two are one iteration from each other: too few to share.
    row_plan = plan_of(
        "for (int i = 0; i < n; i++) for (int j = 1; j < m; j++)"
        f" y[i][j] = x[{row}][j] + x[{row} + 1][j] + x[{row} + 3][j] - y[i][j - 1];",
        "double x[2*n+3][m], double y[n][m]",
    )
    assert row_plan is not None
    assert sorted(tile.extra_rows for tile in row_plan.tiles if tile.array.name == "x") == expected


REFUSED = {
    "another row of what is written": "y[i][j] = x[i][j] + (i > 0 ? y[i - 1][j] : 0.0);",
    "two columns are written": "y[i][j] = x[i][j]; y[i][j + 1] = z[i][j];",
    "every second column": "y[i][j] = x[i][2 * j];",
    "down and along at once": "y[i][j] = x[i + j][j];",
    "one element for all rows": "y[0][0] = x[i][j];",
    "nothing lies along rows": "y[j][i] = x[j][i];",
    "columns far apart": "y[i][j + 40] = x[i][j] + y[i][j];",
    "no form in lanes": "y[i][j] = x[i][(int)z[i][j]];",
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_go_through_tiles_is_refused_and_jammed(why: str) -> None:
    nest = f"for (int i = 0; i < n; i++) for (int j = 0; j + 40 < m; j++) {{ {REFUSED[why]} }}"
    loops = annotated(program(nest, "double x[2*n+2*m][2*n+2*m], double y[2*n+2*m][2*n+2*m], "
                                    "double z[2*n+2*m][2*n+2*m]"))  # fmt: skip
    assert isinstance(loops.body, Loop)
    assert plan_rows(loops.body, loops, 128 << 10) is None
    turned = apply_recurrence_lanes(loops)
    assert isinstance(turned.body, Loop)
    assert turned.body.annotation == UnrollAndJam(4)
    assert turned.scop == loops.scop


def test_tiles_have_an_end() -> None:
    # Twelve tiles of 128 rows take more than there is room for in all nests together.
    names = [f"a{k}" for k in range(12)]
    arguments = ", ".join(f"double {name}[n][m]" for name in names)
    lines = " ".join(f"{name}[i][j] = {name}[i][j - 1] + 1.0;" for name in names)
    nest = f"for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) {{ {lines} }}"
    turned = apply_recurrence_lanes(annotated(program(nest, arguments), LaneRows(512, 16, 4)))
    assert isinstance(turned.body, Loop)
    assert turned.body.annotation == UnrollAndJam(4)


def test_blocks_are_long_where_more_rows_take_turns_than_a_processor_follows() -> None:
    few, many = plan_of(FILTER), plan_of(STENCIL)
    assert few is not None
    assert many is not None
    assert (few.height, few.columns) == (8, 64)  # of two arrays: 16
    assert (many.height, many.columns) == (8, 256)  # of three, and two rows more: 26
    for room in (24 << 10, 64 << 10):
        loops = annotated(program(STENCIL))
        assert isinstance(loops.body, Loop)
        plan = plan_rows(loops.body, loops, room)
        assert plan is not None
        assert sum(tile.size(plan.height, plan.columns) for tile in plan.tiles) <= room


def test_there_is_room_for_all_recurrences_of_a_row() -> None:
    loop = "for (int j = 1; j < m; j++) {"
    nests = [
        f"{loop} y[i][j] = x[i][j] + {k}.0 * y[i][j - 1]; z[i][j] = y[i][j] - z[i][j - 1]; }}"
        for k in range(6)
    ]
    scop = program(f"for (int i = 0; i < n; i++) {{ {' '.join(nests)} }}")
    loops = apply_recurrence_lanes(annotated(scop, LaneRows(512, 2, 4)))
    tiles = [array for array in loops.scop.arrays if array.storage_class is StorageClass.TILE]
    assert len(tiles) == 18
    assert sum(8 * prod(map(int, tile.c_extents)) for tile in tiles) <= 256 << 10
    outcome(scop, finished(loops), {"n": 21, "m": 170})


@pytest.mark.rotates
@pytest.mark.parametrize("sizes", [(1, 1), (7, 3), (16, 256), (17, 257), (33, 530), (40, 18)])
@pytest.mark.parametrize("body", [FILTER, BACK, STENCIL])
def test_every_remainder_runs(body: str, sizes: tuple[int, int]) -> None:
    scop, (rows, columns) = program(body), sizes
    outcome(scop, finished(apply_recurrence_lanes(annotated(scop))), {"n": rows, "m": columns + 1})


@pytest.mark.parametrize(
    "bounds", [("i", "n - 1"), ("1", "i"), ("n - i", "2 * n - 1 - i"), ("i", "2 * i")]
)
def test_rows_of_different_lengths_share_what_they_can(bounds: tuple[str, str]) -> None:
    low, high = bounds
    scop = program(
        f"for (int i = 1; i < n; i++) for (int j = {low}; j <= {high}; j++) {{"
        " y[i][j] = x[i][j] + 0.5 * y[i][j - 1]; z[i][j] = z[i][j - 1] * y[i][j]; }",
        "double x[n][2*n], double y[n][2*n], double z[n][2*n]",
    )
    loops = apply_recurrence_lanes(annotated(scop))
    assert any(array.storage_class is StorageClass.TILE for array in loops.scop.arrays)
    outcome(scop, finished(loops), {"n": 61, "m": 1})


def finished(loops: LoopProgram) -> LoopProgram:
    """Return loops with vectors, and what is proved of them."""
    from polygym.codegen.transforms.unroll_and_jam import jam_loops
    from polygym.codegen.transforms.vectorization import vectorize
    from polygym.codegen.validate.bounds import with_bounds_proofs

    body = vectorize(jam_loops(loops.body), loops.scop, frozenset())
    return with_bounds_proofs(replace(loops, body=body, mapping=DEFAULT_MAPPING), None)


@st.composite
def recurrences(draw: st.DrawFn) -> tuple[str, str]:
    """Draw statements that wait for what they have computed in earlier columns, and their types."""
    kind = draw(st.sampled_from(["float", "double"]))
    back = draw(st.booleans())
    order = draw(st.integers(1, 3))
    names = draw(st.lists(st.sampled_from("yzw"), min_size=2, max_size=3, unique=True))

    def at(name: str, behind: int) -> str:
        return f"{name}[i][j {'+' if back else '-'} {behind}]" if behind else f"{name}[i][j]"

    def near(row: int, behind: int) -> str:
        place = at("h", behind)
        return place.replace("[i]", f"[{ascent.replace('ROW', str(row))}]")

    # The rows of h, which is exactly as large as what is read of it.
    ascent = draw(st.sampled_from(["i + ROW", "2 * i + ROW", "n + 19 - i - ROW"]))
    others = st.lists(st.sampled_from([0, 1, 2, 3, 8, 20]), max_size=3)
    height = "2 * n + 19" if "2 * i" in ascent else "n + 20"
    lines, before = [], ["x"]
    for name in names:
        terms = [at(draw(st.sampled_from(before)), draw(st.integers(0, 2)))]
        terms += [f"0.5 * {near(row, draw(st.integers(0, 2)))}" for row in draw(others)]
        terms += [f"{draw(st.sampled_from(['0.5', '0.25', '-0.75']))} * {at(name, k)}"
                  for k in range(1, order + 1) if k == 1 or draw(st.booleans())]  # fmt: skip
        if draw(st.booleans()):
            terms.append(
                f"0.125 * {draw(st.sampled_from(['t[j][i]', 'c[i]', 'd[j]', at(name, 0)]))}"
            )
        lines.append(f"{at(name, 0)} = {' + '.join(terms)};")
        if draw(st.booleans()):
            lines.append(f"s[i] = s[i] + {at(name, 0)};")
        before.append(name)
    first = draw(st.sampled_from(["3", "3", "3 + i / 2"]))
    last = draw(st.sampled_from(["m - 4", "m - 4", "m - 4 - i / 3"]))
    head = f"int j = {last}; j >= {first}; j--" if back else f"int j = {first}; j <= {last}; j++"
    arrays = ", ".join(f"{kind} {name}[n][m]" for name in "xyzw")
    arrays += f", {kind} t[m][n], {kind} c[n], {kind} d[m], {kind} s[n], {kind} h[{height}][m]"
    return f"for (int i = 0; i < n; i++)\n for ({head}) {{\n  " + "\n  ".join(
        lines
    ) + "\n }", arrays


@settings(max_examples=20, deadline=None)
@given(
    recurrences(),
    st.integers(1, 50),
    st.one_of(st.integers(7, 60), st.integers(240, 600)),
    st.integers(1, 3),
    st.sampled_from([128, 256, 512, None]),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
)
def test_random_recurrences_are_what_the_text_computes(
    drawn: tuple[str, str],
    rows: int,
    columns: int,
    threads: int,
    bits: int | None,
    vectors: int | None,
    is_known: bool,
) -> None:
    scop, sizes = program(*drawn), {"n": rows, "m": columns}
    mapping = replace(DEFAULT_MAPPING, threads=threads, vector_bits=bits, vector_copies=vectors)
    compare(scop, sizes, mapping, is_known=is_known)
    # In lanes whatever the model says, and watched.
    turned = apply_recurrence_lanes(annotated(scop, LaneRows(bits or 256, vectors or 2, 4)))
    outcome(scop, finished(turned), sizes)


def compare(scop: Scop, sizes: dict[str, int], mapping: Mapping, *, is_known: bool) -> None:
    """Run a program in its order, mapped and not, and compare all bits."""
    start = random_arrays(scop, sizes, np.random.default_rng(2))
    expected, arrays = ({k: v.copy() for k, v in start.items()} for _ in range(2))
    run_in_order(scop, sizes, expected)
    run_natively(scop, original_schedule(scop), sizes, arrays, mapping, is_known=is_known)
    for name, array in expected.items():
        assert array.tobytes() == arrays[name].tobytes(), name


# Whether lanes are worth it depends on their number: vectors are the same on every machine here.
WIDE = replace(DEFAULT_MAPPING, vector_bits=512)


def rows_in(scop: Scop, sizes: dict[str, int] | None = None, mapping: Mapping = WIDE) -> int:
    """Return how many loops over rows run in lanes under a mapping, in the order of the text."""
    legal = LegalSchedule(scop, original_schedule(scop))
    goal = CodegenRequest(legal, mapping, sizes)
    loops = GENERATE.run(PLAN.run(build_tree(legal), goal), goal)
    return sum(isinstance(loop.annotation, LaneRows) for loop in loops_in(loops.body))


TWO = """
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++) {
      y[i][j] = -0.5 / (0.25 * y[i][j - 1] + x[i][j]);
      z[i][j] = (x[i][j] - z[i][j - 1]) / (y[i][j - 1] + 4.0);
    }
"""


def test_two_statements_that_wait_run_in_lanes_and_one_is_left_to_llvm() -> None:
    assert rows_in(program(TWO)) == 1
    assert rows_in(program(FILTER)) == 0


def test_short_rows_few_rows_and_mappings_that_forbid_it_are_jammed() -> None:
    scop = program(TWO)
    assert rows_in(scop, {"n": 100, "m": 100}) == 1
    assert rows_in(scop, {"n": 100, "m": 10}) == 0
    assert rows_in(scop, {"n": 2, "m": 100}) == 0
    assert rows_in(scop, mapping=replace(WIDE, pack=False)) == 0
    assert rows_in(scop, mapping=replace(DEFAULT_MAPPING, vector_bits=0)) == 0


def test_rows_that_wait_for_each_other_never_run_in_lanes() -> None:
    waiting = program(TWO.replace("x[i][j])", "y[i - 1][j])").replace("i = 0", "i = 1"))
    assert rows_in(waiting) == 0
    compare(waiting, {"n": 37, "m": 41}, DEFAULT_MAPPING, is_known=False)
