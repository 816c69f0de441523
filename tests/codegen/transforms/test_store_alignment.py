"""Aligned stores of vector loops: what runs stays what it was, and whole vectors are aligned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, UnrollAndJam, VectorLoop
from polygym.codegen.loopir.index_arithmetic import add_constant
from polygym.codegen.loopir.ir import (
    IndexConstant,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
    Node,
    count_instances,
    instances_in,
)
from polygym.codegen.pipeline import compile_program, lower
from polygym.codegen.transforms.store_alignment import known_row_sizes
from polygym.codegen.transforms.unroll_and_jam import jam_loops
from polygym.codegen.transforms.vectorization import vectorize
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.codegen.transforms.test_unroll_and_jam import COLUMN, ROW, SQUARE, M, nest
from tests.oracles.compiled_runs import run_code
from tests.oracles.loops import events

STENCIL = """
void f(int t, int n, double A[n][n], double B[n][n]) {
#pragma scop
for (int s = 0; s < t; s++) {
  for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)
S:  B[i][j] = A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j];
  for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)
T:  A[i][j] += 0.25 * B[i][j];
}
#pragma endscop
}
"""


@given(
    first=st.integers(-3, 20),
    length=st.integers(16, 90),
    shift=st.integers(-9, 9),
    width=st.sampled_from([2, 4, 8]),
    jam=st.sampled_from([1, 2, 4]),
)
def test_whole_vectors_store_at_multiples(
    first: int, length: int, shift: int, width: int, jam: int
) -> None:
    """Whatever the bounds and the subscripts: each iteration once, whole vectors aligned."""
    n, place = IndexVariable("n"), add_constant(COLUMN, shift)
    upper = add_constant(n, first + length - 1)
    instance = Instance("S", (ROW, COLUMN), (ROW, place), ((ROW, place),))
    inner = Loop("j", add_constant(n, first), upper, 1, instance, VectorLoop(64 * width, 1))
    node = jam_loops(Loop("i", IndexConstant(0), IndexConstant(3), 1, inner, UnrollAndJam(jam)))
    vectors = vectorize(node, SQUARE, frozenset(), {"A": (64,)})
    for size in (0, 1, 6):
        sizes = {"n": size, "m": 64}
        plain = sorted(event.point for event in events(node, sizes))
        assert sorted(event.point for event in events(vectors, sizes)) == plain
        if length > 16 * width and jam > 1:
            starts = whole_vector_starts(vectors, sizes, width)
            assert starts
            assert all(start % width == 0 for start in starts)


def whole_vector_starts(node: Node, sizes: dict[str, int], width: int) -> list[int]:
    """Return the columns that the first lanes of vectors write in which all lanes run."""
    columns: dict[int, list[int]] = {}
    for event in events(node, sizes):
        columns.setdefault(event.step, []).append(event.write[-1])
    return [own[0] for own in columns.values() if len(own) == width]


def known_nest(jam: int, low: int, high: int) -> Node:
    return jam_loops(
        nest(UnrollAndJam(jam), VectorLoop(256, 1), IndexConstant(low), IndexConstant(high))
    )


def test_only_what_pays_is_aligned() -> None:
    """Not short loops, those that begin aligned, single rows, nor three rows of 65 at once."""

    def count(jam: int, low: int, high: int, row: int | None) -> int:
        rows = {} if row is None else {"A": (row,)}
        return count_instances(vectorize(known_nest(jam, low, high), SQUARE, frozenset(), rows))

    assert count(2, 1, 20, 64) == count(2, 1, 20, None)
    assert count(2, 4, 90, 64) == count(2, 4, 90, None)
    assert count(1, 1, 90, 64) == count(1, 1, 90, None), "a single row"
    assert count(2, 1, 90, 64) == count(2, 1, 90, None) + 2
    assert count(3, 1, 90, 65) == count(3, 1, 90, None)


def test_lanes_before_the_first_multiple_are_masked() -> None:
    first, *_ = instances_in(vectorize(known_nest(2, 1, 90), SQUARE, frozenset(), {"A": (64,)}))
    assert first.lanes is not None
    assert first.lanes.active is not None


def test_row_sizes_of_a_program() -> None:
    body = nest(SEQUENTIAL_LOOP, SEQUENTIAL_LOOP)
    program = LoopProgram(SQUARE, body, ((IndexVariable("n"), M),), frozenset())
    assert known_row_sizes(program) == {}
    assert known_row_sizes(replace(program, sizes=(("n", 3), ("m", 40)))) == {"A": (40,)}


@pytest.mark.parametrize("n", [5, 68, 81])
@pytest.mark.parametrize("bits", [128, 256])
def test_results_stay_bit_for_bit(n: int, bits: int) -> None:
    """As NumPy computes them, with arrays that begin anywhere, and nothing beside is touched."""
    scop = parse_text(STENCIL)
    legal = LegalSchedule(scop, original_schedule(scop))
    mapping = parse_mapping(f"tile=off unroll_jam=2 vector_bits={bits} vector_copies=1")
    sizes = {"t": 3, "n": n}
    loops = lower(legal, mapping, sizes)
    assert not loops.unproved_accesses
    rng = np.random.default_rng(n)
    codes = [compile_program(loops, is_watched=watched) for watched in (False, True)]
    for begin in (0, 1, 3):
        room = rng.random((2, n * n + 16))
        before = room.copy()
        arrays = {
            name: part[begin : begin + n * n].reshape(n, n)
            for name, part in zip("AB", room, strict=True)
        }
        a, b = (array.copy() for array in arrays.values())
        for _ in range(3):
            b[1:-1, 1:-1] = ((a[1:-1, :-2] + a[1:-1, 2:]) + a[:-2, 1:-1]) + a[2:, 1:-1]
            a[1:-1, 1:-1] += 0.25 * b[1:-1, 1:-1]
        for code in codes:
            room[:] = before
            assert run_code(code, loops, sizes, arrays) == 0
            assert (arrays["A"] == a).all()
            assert (arrays["B"] == b).all()
            assert (room[:, :begin] == before[:, :begin]).all()
            assert (room[:, begin + n * n :] == before[:, begin + n * n :]).all()


def test_skewed_tiles_are_proved_to_stay_in_their_arrays() -> None:
    """The first iterations that are aligned depend on time, and are still known to be in range."""
    scop = parse_text(STENCIL)
    legal = LegalSchedule(scop, original_schedule(scop))
    loops = lower(legal, parse_mapping("tile=2x16x128"), {"t": 6, "n": 400})
    assert not loops.unproved_accesses
