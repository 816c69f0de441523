"""Stores past the caches and loads asked for ahead: which they are, and the same bits as ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimize
from polygym.codegen.loopir.index_arithmetic import add_constant, evaluate_index, minimum
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
)
from polygym.codegen.pipeline import lower
from polygym.codegen.recurrences.streams import transform
from polygym.codegen.recurrences.streams.transform import apply_streams
from polygym.codegen.stages import pass_named, stage_after
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops

SIZES = {"n": 48, "m": 1100}
LEAST = 128 << 10  # of 48 by 1100 floats there are 206 KB
WIDE = replace(DEFAULT_MAPPING, vector_bits=512)
X, Y, Z = (f"float {name}[n][m]" for name in "xyz")
V = "float v[m]"


def program(body: str, *arguments: str) -> Scop:
    head = f"void f(int n, int m, {', '.join(arguments)})"
    return parse_text(f"{head} {{\n#pragma scop\n{body}\n#pragma endscop\n}}")


def streamed(
    scop: Scop, sizes: dict[str, int] = SIZES, mapping: Mapping = WIDE, least: int = LEAST
) -> LoopProgram:
    """Return the mapped loops of a program as they would be if a cache had so few bytes."""
    return apply_streams(lower(legal(scop), mapping, sizes), least)


def legal(scop: Scop) -> LegalSchedule:
    """Return the order in which a program runs: that of the text, or columns of their own."""
    text = "[n, m] -> { S[i, j] -> [j, i, 0]; T[i, j] -> [j, i, 1] }"
    return LegalSchedule(
        scop, parse_schedule(text, scop) if scop is COLUMNS else original_schedule(scop)
    )


def written_past(loops: LoopProgram) -> set[str]:
    """Return the arrays that are written past the caches."""
    return {loops.scop.statement(name).write.array for name in loops.nontemporal_stores}


def check(scop: Scop, sizes: dict[str, int], loops: LoopProgram) -> None:
    """Check that loops leave what the text does, bit for bit, watched too."""
    start = random_arrays(scop, sizes, np.random.default_rng(1))
    expected, own, watched = ({k: aligned(v) for k, v in start.items()} for _ in range(3))
    run_in_order(scop, sizes, expected)
    run_loops(loops, sizes, own)
    run_loops(loops, sizes, watched, is_watched=True)
    for name, array in expected.items():
        assert array.tobytes() == own[name].tobytes(), name
        assert array.tobytes() == watched[name].tobytes(), name


def aligned(array: np.ndarray, behind: int = 0) -> np.ndarray:
    """Return a copy that begins so many elements behind a line of the cache."""
    room = np.empty(array.nbytes + 64 + behind * array.itemsize, np.uint8)
    first = -room.ctypes.data % 64 + behind * array.itemsize
    result = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


MAP = program(
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) S: z[i][j] = x[i][j] + y[i][j];",
    X, Y, Z,
)  # fmt: skip
COLUMNS = program(
    """
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      S: y[i][j] = x[i][j] + 0.5f * v[j];
      T: v[j] = y[i][j];
    }
""",
    X, Y, V,
)  # fmt: skip
ROWS = """
  for (int i = 0; i < n; i++) {
    for (int j = JFIRST; JTEST; JSTEP) {
      S: y[i][j] = x[i][j] + 0.5f * w[i] + 0.25f * (0.125f * u[i] - 2.0f * q[i]);
      T: q[i] = u[i];
      U: u[i] = w[i];
      V: w[i] = y[i][j];
    }
  }
"""
STATE = tuple(f"float {name}[n]" for name in "uwq")
FORWARD = program(
    ROWS.replace("JFIRST", "0").replace("JTEST", "j < m").replace("JSTEP", "j++"), X, Y, *STATE
)
BACKWARD = program(
    ROWS.replace("JFIRST", "m - 1").replace("JTEST", "j >= 0").replace("JSTEP", "j--"), X, Y, *STATE
)
PAST = {
    "map": (MAP, "z"),
    "columns": (COLUMNS, "y"),
    "forward": (FORWARD, "y"),
    "backward": (BACKWARD, "y"),
}


@pytest.mark.parametrize("name", PAST)
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_written_once_and_never_read_goes_past_the_caches(name: str, threads: int) -> None:
    scop, array = PAST[name]
    loop_program = streamed(scop, mapping=replace(WIDE, threads=threads))
    assert written_past(loop_program) == {array}
    text = emit_llvm(loop_program)
    assert "!nontemporal" in text
    # At the end of the kernel and of each task, and before others begin with a task.
    regions = text.count('define internal void @"region')
    assert text.count('call void @"llvm.x86.sse.sfence"()') == 1 + 2 * regions
    check(scop, SIZES, loop_program)
    mapping = replace(WIDE, threads=threads)
    small = streamed(scop, mapping=mapping, least=1 << 20)
    assert small == lower(legal(scop), mapping, SIZES)
    assert "sfence" not in emit_llvm(small)


@pytest.mark.parametrize(
    "body",
    [
        # It is read in the nest: in place, the row before, the row behind, in a loop of its own.
        "S: y[i][j] = 0.5f * y[i][j] + x[i][j];",
        "S: y[i][j] = x[i][j] + (i > 0 ? y[i - 1][j] : 0.5f);",
        # Two statements write it.
        "{ S: y[i][j] = x[i][j]; T: y[i][j] = y[i][j] + v[j]; }",
        # No vector is of neighbours, none is whole.
        "S: y[j < n && i < m ? j : i][j < n && i < m ? i : j] = x[i][j];",
        # Under a condition.
        "if (x[i][j] > 1.0f) S: y[i][j] = x[i][j];",
    ],
)  # fmt: skip
def test_what_is_read_or_written_otherwise_stays_in_the_caches(body: str) -> None:
    loops = f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {body}"
    scop = program(loops, X, Y, V)
    loop_program = streamed(scop)
    assert written_past(loop_program) == set()
    check(scop, SIZES, loop_program)


def test_what_is_written_again_and_again_stays_in_the_caches() -> None:
    scop = program(
        """
  for (int t = 0; t < 4; t++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < m; j++)
        S: y[i][j] = x[i][j] + t;
""",
        X, Y,
    )  # fmt: skip
    loop_program = streamed(scop)
    assert not loop_program.nontemporal_stores
    assert not loop_program.prefetches
    check(scop, SIZES, loop_program)


def test_a_statement_of_two_nests_goes_past_the_caches_in_both_or_in_none() -> None:
    """Cut in two, a half of the loops reads what the other half has written."""
    scop = program(
        """
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      S: y[i][j] = x[i][j] + 1.0f;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      T: z[i][j] = y[i][j] + x[i][j];
""",
        X, Y, Z,
    )  # fmt: skip
    apart = streamed(scop)
    assert written_past(apart) == {"y", "z"}
    check(scop, SIZES, apart)
    twice = replace(
        apart,
        body=Block((apart.body, apart.body)),
        nontemporal_stores=frozenset(),
        prefetches=frozenset(),
    )
    assert written_past(apply_streams(twice, LEAST)) == {"y", "z"}
    assert isinstance(apart.body, Block)
    first, second = apart.body.children
    assert isinstance(second, Loop)
    mixed = replace(second, body=Block((second.body, first)))
    both = replace(twice, body=Block((first, mixed)))
    assert written_past(apply_streams(both, LEAST)) == {"z"}


def test_loads_are_asked_for_where_pieces_do_not_go_on_in_memory() -> None:
    whole = streamed(COLUMNS, mapping=replace(WIDE, threads=1))
    assert not whole.prefetches, "rows as they lie in memory"
    pieces = streamed(COLUMNS, mapping=replace(WIDE, threads=2))
    (prefetch,) = pieces.prefetches
    assert (prefetch.statement, prefetch.read, prefetch.distance) == ("S", 0, 2)  # 2 KB each
    turned = streamed(BACKWARD)
    (block,) = turned.prefetches
    assert block.distance == 256, "the next block, of 16 KB"
    assert "llvm.prefetch" in emit_llvm(turned)


def test_what_has_gone_past_the_caches_is_not_loaded_again() -> None:
    """What a statement has just stored has a value, which those after it use."""
    text = optimize(emit_llvm(streamed(COLUMNS)), 2)
    loads, stores = (text.count(f" {word} <16 x float>") for word in ("load", "store"))
    assert 2 * stores == 3 * loads > 0, "x and v are loaded, y in two ways and v are stored"


def test_overlapping_vectors_are_not_taken_for_what_was_stored_before() -> None:
    """S writes x[k] to y[i] twice, the second time a vector that overlaps the first."""
    scop = parse_text(
        """
void f(int n, double x[n], double y[n], double z[n]) {
#pragma scop
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      S: y[i] = x[k];
  for (int i = 0; i < n; i++)
    T: z[i] = y[i];
#pragma endscop
}
"""
    )
    loops = lower(LegalSchedule(scop, original_schedule(scop)), sizes={"n": 16})
    c = IndexVariable("c")

    def set_from(base: Index, element: int) -> Instance:
        lanes = Lanes("l", base, 4, None)
        return Instance(
            "S",
            (IndexConstant(element), IndexVariable("l")),
            (IndexVariable("l"),),
            ((IndexConstant(element),),),
            lanes,
        )

    lanes = Lanes("l", c, 4, None)
    taken = Instance(
        "T", (IndexVariable("l"),), (IndexVariable("l"),), ((IndexVariable("l"),),), lanes
    )
    first, second = set_from(c, 0), set_from(add_constant(c, 2), 1)

    def twice(node: Node) -> Node:
        return Loop("d", IndexConstant(0), IndexConstant(1), 1, node)

    x = random_arrays(scop, {"n": 16}, np.random.default_rng(3))["x"]
    mixed, behind = (np.array([x[0], x[0], *(x[k], x[k])]) for k in (1, 0))
    for inside, expected in (
        (Block((first, second, taken)), mixed),
        (Block((first, set_from(add_constant(c, 4), 1), taken)), behind),
        (Block((first, twice(second), taken)), mixed),
        (Block((first, twice(Block((taken, second))))), mixed),
        (Block((first, Guard(IndexConstant(1), second, None), taken)), mixed),
    ):
        body = Loop("c", IndexConstant(0), IndexConstant(8), 8, inside)
        loop_program = replace(
            loops, body=body, nontemporal_stores=frozenset({"S"}), prefetches=frozenset()
        )
        start = random_arrays(scop, {"n": 16}, np.random.default_rng(3))
        arrays = {name: aligned(array) for name, array in start.items()}
        run_loops(loop_program, {"n": 16}, arrays)
        for at in (0, 8):
            assert arrays["z"][at : at + 4].tobytes() == expected.tobytes(), inside


@settings(deadline=None, max_examples=25)
@given(
    name=st.sampled_from(sorted(PAST)),
    rows=st.integers(1, 40),
    columns=st.integers(1, 70),
    behind=st.integers(0, 7),
    bits=st.sampled_from([128, 256, 512]),
    threads=st.sampled_from([1, 2]),
)
def test_the_bits_are_those_of_the_text_wherever_arrays_begin(
    name: str, rows: int, columns: int, behind: int, bits: int, threads: int
) -> None:
    """Rows of any length, at any address, in vectors of any width."""
    (scop, _), sizes = PAST[name], {"n": rows, "m": columns}
    loop_program = streamed(
        scop, sizes, replace(DEFAULT_MAPPING, vector_bits=bits, threads=threads), least=1
    )
    start = random_arrays(scop, sizes, np.random.default_rng(2))
    expected, own = ({k: aligned(v, behind) for k, v in start.items()} for _ in range(2))
    run_in_order(scop, sizes, expected)
    run_loops(loop_program, sizes, own)
    for array, values in expected.items():
        assert values.tobytes() == own[array].tobytes(), array


def test_the_c_says_what_goes_past_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transform, "apply_streams", lambda loops: apply_streams(loops, LEAST))
    stage = stage_after(pass_named("streams"), legal(COLUMNS), replace(WIDE, threads=2), SIZES)
    assert stage.changed
    assert "/* past the caches; asks for x at " in stage.text


A, B = IndexVariable("i"), IndexVariable("j")
NEGATED = IndexOperation(IndexOperator.NEGATE, (A,))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (IndexOperation(IndexOperator.DIVIDE_FLOOR, (NEGATED, IndexConstant(2))), -4),
        (IndexOperation(IndexOperator.REMAINDER_NONNEGATIVE, (A, IndexConstant(4))), 3),
        (minimum(A, B, IndexConstant(5)), -3),
        (
            IndexOperation(
                IndexOperator.SELECT, (IndexOperation(IndexOperator.LESS, (A, B)), A, B)
            ),
            -3,
        ),
        (
            IndexOperation(
                IndexOperator.AND, (IndexOperation(IndexOperator.GREATER, (A, B)), IndexConstant(1))
            ),
            1,
        ),
        (
            IndexOperation(
                IndexOperator.OR, (IndexOperation(IndexOperator.EQUAL, (A, B)), IndexConstant(0))
            ),
            0,
        ),
    ],
)
def test_indices_have_values(index: Index, expected: int) -> None:
    assert evaluate_index(index, {"i": 7, "j": -3}) == expected
