"""Tiles that are packed: which ones, where, and that nothing else changes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
    Node,
)
from polygym.codegen.loopir.nests import perfect_nest, wrap_in_loops
from polygym.codegen.pipeline import lower
from polygym.codegen.transforms.tile_packing import pack_tiles
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import StorageClass
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.codegen.c.test_function import call_c, compile_c, needs_compiler
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.loops import events
from tests.oracles.threads import every_loop_shared

PRODUCT = """
void f(int b, int n, int m, int k, float C[b][n][m], float A[b][n][k], float B[b][m][k]) {
#pragma scop
  for (int h = 0; h < b; h++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        for (int l = 0; l < k; l++)
          C[h][i][j] += A[h][i][l] * B[h][j][l];
#pragma endscop
}
"""
SIZES = {"b": 3, "n": 40, "m": 35, "k": 50}


def lowered(text: str, mapping: str = "default", **sizes: int) -> LoopProgram:
    scop = parse_text(text)
    return lower(
        LegalSchedule(scop, original_schedule(scop)), parse_mapping(mapping), sizes or None
    )


def tiles(program: LoopProgram) -> dict[str, tuple[str, ...]]:
    return {
        a.name: a.c_extents for a in program.scop.arrays if a.storage_class is StorageClass.TILE
    }


def fills(node: Node, around: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the loops around everything that fills a tile."""
    match node:
        case Block(children):
            for child in children:
                yield from fills(child, around)
        case Guard(_, then, _):
            yield from fills(then, around)
        case Loop():
            yield from fills(node.body, (*around, node.variable))
        case Instance():
            if node.statement.endswith("_tile"):
                yield around


def same_results(text: str, mapping: str, sizes: dict[str, int], *, is_known: bool) -> None:
    scop = parse_text(text)
    arrays = random_arrays(scop, sizes, np.random.default_rng(5))
    expected = {name: values.copy() for name, values in arrays.items()}
    run_in_order(scop, sizes, expected)
    with every_loop_shared():
        way = parse_mapping(mapping)
        run_natively(scop, original_schedule(scop), sizes, arrays, way, is_known=is_known)
    for name, values in expected.items():
        assert arrays[name].tobytes() == values.tobytes(), name


def test_a_tile_is_made_inside_of_what_it_depends_on() -> None:
    program = lowered(PRODUCT, "tile=off vector_bits=256", **SIZES)
    # 35 elements take three lines of a cache, and 50 rows four blocks of 16.
    assert tiles(program) == {"B_tile": ("64", "48")}
    (around,) = fills(program.body)
    assert len(around) == 5, "the batch, and two loops over blocks around two in them"


@pytest.mark.rotates
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    "mapping",
    ["default", "threads=2", "tile=off", "tile=1x16x16x20 threads=2", "separate=on tile=1x32x7x9"],
)
@pytest.mark.parametrize("sizes", [SIZES, {"b": 1, "n": 17, "m": 1, "k": 1}])
def test_no_result_changes(mapping: str, sizes: dict[str, int], is_known: bool) -> None:
    same_results(PRODUCT, mapping, sizes, is_known=is_known)


def test_a_copy_reads_what_the_tile_reads_and_nothing_else() -> None:
    program = lowered(
        PRODUCT, "tile=1x16x16x20 vector_bits=off scalar_replacement=off unroll_jam=1", **SIZES
    )
    assert not tiles(program), "nothing to gain without vectors"
    sizes = {"b": 2, "n": 20, "m": 35, "k": 30}
    program = lowered(PRODUCT, "tile=1x40x16x20", **sizes)
    assert tiles(program) == {"B_tile": ("32", "16")}
    copied: dict[tuple[int, ...], tuple[int, ...]] = {}
    literal = 0
    for event in events(program.body, {}):
        if event.statement == "B_tile":
            copied[event.write] = event.reads[0]
        elif event.statement == "S0_packed":
            h, _, j, k = event.point
            assert copied[event.reads[2]] == (h, j, k)
            literal += 1
    assert literal == 2 * 20 * 35 * 30


@pytest.mark.parametrize(
    ("change", "sizes"),
    [
        # written in the same loops
        (("B[h][j][l];", "B[h][j][l] + C[h][j][l - l];"), SIZES),
        (("float B[b][m][k]", "float B[b][m][k + m]"), {**SIZES, "n": 15}),  # read 15 times
        (("B[h][j][l]", "B[h][j + l][l]"), SIZES),  # no box
        (("l < k", "l < j"), SIZES),  # no box either
        (("B[h][j][l]", "B[h][j][2 * l]"), {**SIZES, "k": 20}),
    ],
)
def test_what_is_not_packed(change: tuple[str, str], sizes: dict[str, int]) -> None:
    before, after = change
    text = PRODUCT.replace(before, after)
    assert text != PRODUCT
    if "[2 * l]" in text:
        text = text.replace("float B[b][m][k]", "float B[b][m][2 * k]")
    if "[j + l]" in text:
        text = text.replace("float B[b][m][k]", "float B[b][m + k][k]")
    if "l < j" in text:
        text = text.replace("[k]", "[k + m]")
    if "C[h][j]" in text:
        text = text.replace("C[b][n][m]", "C[b][n + m][m]")
    assert tiles(lowered(text, "tile=off", **sizes)) == {}
    assert tiles(lowered(PRODUCT, "tile=off pack=off", **SIZES)) == {}


def test_tiles_that_many_others_need_come_from_a_copy_of_the_whole() -> None:
    """With tiles of 16 rows of 40 a copy would be made three times, of 20 twice."""
    assert tiles(lowered(PRODUCT, "tile=1x16x16x20", **SIZES)) == {}
    assert tiles(lowered(PRODUCT, "tile=1x20x16x20", **SIZES)) == {"B_tile": ("32", "16")}


def test_tiles_together_leave_room_on_the_stack() -> None:
    factors = " * ".join(f"B{number}[h][j][l]" for number in range(12))
    arrays = ", ".join(f"float B{number}[b][m][k]" for number in range(12))
    text = PRODUCT.replace("B[h][j][l]", factors).replace("float B[b][m][k]", arrays)
    program = lowered(text, "tile=off", b=2, n=64, m=256, k=200)
    total = sum(4 * int(rows) * int(row) for rows, row in tiles(program).values())
    assert 0 < len(tiles(program)) < 12
    assert total <= 512 << 10


def test_nothing_is_copied_where_the_loops_inside_do_not_run() -> None:
    """Batches from the 20th on have no rows in the first tile of rows."""
    text, mapping = PRODUCT.replace("int i = 0", "int i = h"), "tile=1x20x16x10"
    sizes = {"b": 23, "n": 40, "m": 16, "k": 10}
    program = lowered(text, mapping, **sizes)
    assert tiles(program) == {"B_tile": ("10", "16")}
    copied = [event.reads[0] for event in events(program.body, {}) if event.statement == "B_tile"]
    elements = sizes["m"] * sizes["k"]
    assert len(copied) == elements * (20 * 2 + 3 * 1)
    same_results(text, mapping, sizes, is_known=True)


@pytest.mark.parametrize("place", range(4))
def test_loops_that_never_run_need_no_tile(place: int) -> None:
    scop = parse_text(PRODUCT)
    legal, mapping = LegalSchedule(scop, original_schedule(scop)), parse_mapping("tile=off")
    tree = plan_tree(build_tree(legal), legal, mapping, Machine(vector_bits=512), SIZES)
    program = generate_loops(tree, legal, SIZES)
    assert isinstance(program.body, Loop)
    loops = list(perfect_nest(program.body))
    assert tiles(pack_tiles(program))
    assert len(loops) == 4
    inside = loops[-1].body
    loops[place] = replace(loops[place], upper=IndexConstant(-1))
    packed = pack_tiles(replace(program, body=wrap_in_loops(loops, inside)))
    assert bool(tiles(packed)) == (place == 0), "only the batches are not part of the box"
    assert "define" in emit_llvm(packed)
    assert not list(events(packed.body, {}))


def test_programs_without_vectors_are_left_as_they_are() -> None:
    program = lowered(PRODUCT, "sequential", **SIZES)
    assert pack_tiles(program) == program


@needs_compiler
def test_the_printed_c_packs_tiles_too(tmp_path: Path) -> None:
    scop = parse_text(PRODUCT)
    program = lowered(PRODUCT, "tile=1x20x16x20", **SIZES)
    assert tiles(program)
    arrays = random_arrays(scop, SIZES, np.random.default_rng(6))
    expected = {name: values.copy() for name, values in arrays.items()}
    run_in_order(scop, SIZES, expected)
    call_c(compile_c(print_c(program), tmp_path, "tiled"), scop, SIZES, arrays)
    np.testing.assert_allclose(arrays["C"], expected["C"], rtol=1e-5)


@pytest.mark.rotates
@pytest.mark.parametrize("kind", ["float", "double", "int", "long"])
@pytest.mark.parametrize("rows", [1, 8, 15, 16, 17, 33])
def test_blocks_turned_in_registers_are_the_same_elements(kind: str, rows: int) -> None:
    text = PRODUCT.replace("float", kind)
    sizes = {"b": 2, "n": 20, "m": rows, "k": rows + 3}
    program = lowered(text, "tile=off", **sizes)
    assert bool(tiles(program)) == (rows > 1)
    if rows > 1:
        assert "shufflevector" in emit_llvm(program)
    same_results(text, "tile=off", sizes, is_known=True)


def test_arrays_of_three_dimensions_in_a_tile() -> None:
    text = """
void f(int n, int m, int k, double C[n][m], double A[n][k][k], double B[m][k][k]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
          C[i][j] += A[i][a][b] * B[j][a][b];
#pragma endscop
}
"""
    sizes = {"n": 30, "m": 21, "k": 11}
    same_results(text, "default", sizes, is_known=True)
    same_results(text, "tile=40x21 threads=2", sizes, is_known=True)


@pytest.mark.parametrize(
    "mapping", ["default", "unroll_jam=4", "unroll_jam=2 threads=2", "unroll_jam=1"]
)
def test_iterations_that_run_together_do_not_share_a_tile(mapping: str) -> None:
    """X is read 25 times for each i, but the copies of a jammed i are at different rows of it."""
    text = """
void f(int y, int x, int c, int p, int q, float O[y][x], float X[y][x][c], float W[c][p][q]) {
#pragma scop
  for (int i = 0; i < y; i++)
    for (int j = 0; j < x; j++)
      for (int a = 0; a < c; a++)
        for (int b = 0; b < p; b++)
          for (int d = 0; d < q; d++)
            O[i][j] += X[i][j][a] * W[a][b][d];
#pragma endscop
}
"""
    same_results(text, mapping, {"y": 8, "x": 20, "c": 6, "p": 5, "q": 5}, is_known=True)


BATCHES = """
void f(int n, int c, int w, int r, float O[n][c][w], float I[n][c][w + r], float K[c][c][r]) {
#pragma scop
  for (int a = 0; a < n; a++)
    for (int f = 0; f < c; f++)
      for (int x = 0; x < w; x++) {
        O[a][f][x] = 0.0f;
        for (int b = 0; b < c; b++)
          for (int q = 0; q < r; q++)
            O[a][f][x] += I[a][b][x + q] * K[f][b][q];
      }
#pragma endscop
}
"""
TOGETHER = (
    "[n, c, w, r] -> { S0[a, f, x] -> [a, f, x, 0, 0, 0]; S1[a, f, x, b, q] -> [a, f, x, b, q, 1] }"
)
SHORT_ROWS = {"n": 9, "c": 19, "w": 5, "r": 3}


def fused(text: str, mapping: str, **sizes: int) -> LoopProgram:
    scop = parse_text(text)
    return lower(LegalSchedule(scop, parse_schedule(TOGETHER, scop)), parse_mapping(mapping), sizes)


def test_a_tile_that_all_batches_need_is_made_before_them() -> None:
    """K is turned once, though another statement runs in the batches too; three rows are three."""
    program = fused(BATCHES, "vector_bits=512", **SHORT_ROWS)
    assert tiles(program) == {"K_tile": ("19", "3", "32")}
    (around,) = fills(program.body)
    assert len(around) == 5, "19 times three rows in blocks: nothing but its own loops"
    assert "shufflevector" in emit_llvm(program)


def test_threads_have_tiles_of_their_own_or_share_a_copy_of_the_whole() -> None:
    """A tile before the loop over batches would be on one thread's stack."""
    program = fused(BATCHES, "vector_bits=512 threads=2", **SHORT_ROWS)
    assert not tiles(program)
    assert any(a.storage_class is StorageClass.SCRATCH for a in program.scop.arrays)


def test_no_tile_is_made_outside_of_a_condition() -> None:
    scop = parse_text(BATCHES)
    legal, mapping = (
        LegalSchedule(scop, parse_schedule(TOGETHER, scop)),
        parse_mapping("vector_bits=512"),
    )
    tree = plan_tree(build_tree(legal), legal, mapping, Machine(vector_bits=512), SHORT_ROWS)
    program = generate_loops(tree, legal, SHORT_ROWS)
    assert isinstance(program.body, Loop)
    assert next(fills(pack_tiles(program).body))[0] != program.body.variable
    never = IndexOperation(
        IndexOperator.LESS, (IndexVariable(program.body.variable), IndexConstant(0))
    )
    guarded = replace(program.body, body=Guard(never, program.body.body, None))
    packed = pack_tiles(replace(program, body=guarded))
    assert not list(events(packed.body, {}))


@pytest.mark.rotates
@pytest.mark.parametrize(
    "mapping", ["default", "vector_bits=512 threads=2", "vector_bits=256 unroll_jam=2"]
)
@pytest.mark.parametrize("kind", ["float", "double", "int"])
@pytest.mark.parametrize("sizes", [SHORT_ROWS, {"n": 3, "c": 40, "w": 2, "r": 1}])
def test_vectors_across_rows_give_the_same_bits(
    kind: str, mapping: str, sizes: dict[str, int]
) -> None:
    same_results(BATCHES.replace("float", kind), mapping, sizes, is_known=True)


@pytest.mark.parametrize(("rows", "is_scattered"), [(2, True), (3, True), (4, False), (20, False)])
def test_sums_across_rows_are_turned_before_they_are_stored(rows: int, is_scattered: bool) -> None:
    text = emit_llvm(
        fused(BATCHES, "vector_bits=512", **{**SHORT_ROWS, "w": rows, "n": 64, "c": 32})
    )
    assert ("masked.scatter" in text) == is_scattered


@pytest.mark.parametrize(
    "mapping", ["vector_bits=512", "vector_bits=256 threads=2", "vector_bits=128 unroll_jam=7"]
)
def test_rows_that_are_not_there_are_not_stored(mapping: str) -> None:
    """How many channels there are depends on the batch, and so how many lanes exist."""
    text = BATCHES.replace("f = 0", "f = a")
    assert text != BATCHES
    for kind in ("float", "double"):
        for sizes in (SHORT_ROWS, {"n": 40, "c": 33, "w": 7, "r": 2}):
            same_results(text.replace("float", kind), mapping, sizes, is_known=True)
