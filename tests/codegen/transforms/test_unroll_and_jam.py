"""Unroll-and-jam and vectors, by brute force: loops are run and every instance accounted for."""

from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.coalescing.transform import coalesce_loops
from polygym.codegen.common.loop_annotation import (
    SEQUENTIAL_LOOP,
    LoopAnnotation,
    ParallelLoop,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.loopir.index_arithmetic import add_constant
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    Index,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Loop,
    LoopProgram,
    Node,
)
from polygym.codegen.pipeline import lower
from polygym.codegen.transforms.unroll_and_jam import jam_loops
from polygym.codegen.transforms.vectorization import vectorize
from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import StorageClass
from polygym.mapping.mapping import Mapping
from polygym.poly.legality import LegalSchedule
from tests.codegen.mapped_programs import PROGRAMS, random_mapping, scop_of
from tests.codegen.tree.planning.test_plan import small_run, some_schedule
from tests.oracles.loops import check_loops, events
from tests.oracles.mapped_trees import Run

SQUARE = parse_text(
    "void f(int n, int m, double A[n][m]) {\n#pragma scop\n"
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)\nS: A[i][j] += 1.0;\n"
    "#pragma endscop\n}\n"
)
ROW, COLUMN, N, M = (IndexVariable(name) for name in "ijnm")
ZERO = IndexConstant(0)


def nest(
    outer: LoopAnnotation,
    inner: LoopAnnotation,
    low: Index = ZERO,
    high: Index | None = None,
    step: int = 1,
) -> Node:
    """Return two loops around S[i, j], with bounds of the inner one that may depend on i."""
    high = add_constant(M, -1) if high is None else high
    body = Instance("S", (ROW, COLUMN), (ROW, COLUMN), ((ROW, COLUMN),))
    return Loop(
        "i",
        IndexConstant(0),
        add_constant(N, -1),
        1,
        Loop("j", low, high, step, body, inner),
        outer,
    )


def points(node: Node, n: int, m: int) -> list[tuple[int, ...]]:
    return [event.point for event in events(node, {"n": n, "m": m})]


def added(first: Index, second: Index) -> Index:
    return IndexOperation(IndexOperator.ADD, (first, second))


def subtracted(first: Index, second: Index) -> Index:
    return IndexOperation(IndexOperator.SUBTRACT, (first, second))


def floored(first: Index, divisor: int) -> Index:
    return IndexOperation(IndexOperator.DIVIDE_FLOOR, (first, IndexConstant(divisor)))


def least(*indices: Index) -> Index:
    return IndexOperation(IndexOperator.MINIMUM, indices)


def greatest(*indices: Index) -> Index:
    return IndexOperation(IndexOperator.MAXIMUM, indices)


BOUNDS: dict[str, tuple[Index, Index]] = {
    "rectangle": (IndexConstant(0), add_constant(M, -1)),
    "lower triangle": (IndexConstant(0), ROW),
    "upper triangle": (ROW, add_constant(M, -1)),
    "band": (add_constant(ROW, -2), add_constant(ROW, 3)),
    "falling": (subtracted(IndexConstant(5), ROW), subtracted(add_constant(M, 3), ROW)),
    "bounds that cross": (ROW, subtracted(M, ROW)),
    "maximum and minimum": (
        greatest(IndexConstant(1), add_constant(ROW, -1)),
        least(add_constant(M, -1), added(ROW, N)),
    ),
    "minimum below": (least(IndexConstant(3), ROW), add_constant(M, -1)),
    "maximum above": (IndexConstant(0), greatest(IndexConstant(2), ROW)),
    "halves": (floored(ROW, 2), floored(added(ROW, M), 2)),
    "steep": (IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(3), ROW)), added(ROW, M)),
    "product": (IndexConstant(0), IndexOperation(IndexOperator.MULTIPLY, (ROW, ROW))),
    "empty": (IndexConstant(5), IndexConstant(2)),
}
SIZES = [(0, 3), (1, 1), (2, 5), (5, 0), (7, 4), (8, 9), (17, 6)]


@pytest.mark.rotates
@pytest.mark.parametrize("count", [2, 3, 4, 5, 16])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_copies_run_what_the_loop_ran(bounds: str, count: int) -> None:
    low, high = BOUNDS[bounds]
    node = nest(UnrollAndJam(count), SEQUENTIAL_LOOP, low, high)
    jammed = jam_loops(node)
    assert jammed != node
    for n, m in SIZES:
        plain, copied = points(node, n, m), points(jammed, n, m)
        assert sorted(copied) == sorted(plain)
        # What one iteration of the jammed loop does stays in its order.
        for i in range(n):
            assert [p for p in copied if p[0] == i] == [p for p in plain if p[0] == i]


@pytest.mark.rotates
@pytest.mark.parametrize(("bits", "count"), [(128, 1), (128, 3), (256, 2), (512, 1)])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_lanes_run_what_the_loop_ran(bounds: str, bits: int, count: int) -> None:
    low, high = BOUNDS[bounds]
    node = nest(VectorLoop(bits, count), SEQUENTIAL_LOOP, low, high)
    lanes = vectorize(node, SQUARE, frozenset())
    for n, m in SIZES:
        plain, vectorized = points(node, n, m), points(lanes, n, m)
        assert sorted(vectorized) == sorted(plain)
        for i in range(n):
            assert [p for p in vectorized if p[0] == i] == [p for p in plain if p[0] == i]


@pytest.mark.rotates
@pytest.mark.parametrize("bounds", BOUNDS)
def test_copies_of_vectors(bounds: str) -> None:
    low, high = BOUNDS[bounds]
    node = nest(UnrollAndJam(3), VectorLoop(256, 2), low, high)
    both = vectorize(jam_loops(node), SQUARE, frozenset())
    for n, m in SIZES:
        assert sorted(points(both, n, m)) == sorted(points(node, n, m))


def test_copies_are_interleaved_where_bounds_are_shared() -> None:
    jammed = jam_loops(nest(UnrollAndJam(2), SEQUENTIAL_LOOP))
    assert points(jammed, 3, 2) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


def test_a_triangle_runs_its_own_part_apart() -> None:
    """Rows 4 and 5 of ``j = i .. 6``: 4 alone at 4, then both from 5 on."""
    jammed = jam_loops(nest(UnrollAndJam(2), SEQUENTIAL_LOOP, ROW, IndexConstant(6)))
    assert [p for p in points(jammed, 6, 0) if p[0] >= 4] == [
        (4, 4), (4, 5), (5, 5), (4, 6), (5, 6),
    ]  # fmt: skip


def test_a_guard_on_the_copy_runs_one_copy_after_the_other() -> None:
    inner = Instance("S", (ROW, COLUMN), (ROW, COLUMN), ((ROW, COLUMN),))
    odd = IndexOperation(IndexOperator.REMAINDER_NONNEGATIVE, (ROW, IndexConstant(2)))
    body = Guard(IndexOperation(IndexOperator.EQUAL, (odd, IndexConstant(0))), inner, None)
    node = Loop(
        "j",
        IndexConstant(0),
        IndexConstant(1),
        1,
        Loop("i", IndexConstant(0), IndexConstant(6), 1, body, UnrollAndJam(3)),
    )
    assert points(jam_loops(node), 0, 0) == points(node, 0, 0)


@pytest.mark.parametrize("annotation", [UnrollAndJam(1), UnrollAndJam(4)])
def test_loops_with_a_stride_are_not_jammed(annotation: UnrollAndJam) -> None:
    node = nest(SEQUENTIAL_LOOP, annotation, step=2)
    assert jam_loops(node) == nest(SEQUENTIAL_LOOP, SEQUENTIAL_LOOP, step=2)


def test_other_annotations_stay() -> None:
    node = nest(ParallelLoop(is_dynamic=True), UnrollAndJam(2))
    match jam_loops(node):
        case Loop(
            annotation=ParallelLoop(is_dynamic=True), body=Block((Loop(step=2), Loop(step=1)))
        ):
            pass
        case other:
            pytest.fail(f"the parallel loop is gone: {other}")


@pytest.mark.parametrize(
    "body",
    ["A[i] = A[i] / B[i]", "A[i] = A[i] % 5", "A[i] = A[i] << 2", "A[i] = (int)(x[i] * 3.0)"],
)
def test_what_has_no_lanes_stays_a_loop(body: str) -> None:
    scop = parse_text(
        "void f(int n, int A[n], int B[n], double x[n]) {\n#pragma scop\n"
        f"for (int i = 0; i < n; i++)\nS: {body};\n#pragma endscop\n}}\n"
    )
    reads = tuple((ROW,) for _ in scop.statement("S").reads)
    node = Loop(
        "i",
        IndexConstant(0),
        add_constant(N, -1),
        1,
        Instance("S", (ROW,), (ROW,), reads),
        VectorLoop(256, 1),
    )
    assert vectorize(node, scop, frozenset()) == replace(node, annotation=SEQUENTIAL_LOOP)


def test_guarded_reads_have_no_lanes() -> None:
    node = nest(SEQUENTIAL_LOOP, VectorLoop(256, 1))
    assert vectorize(node, SQUARE, frozenset({"S"})) == nest(SEQUENTIAL_LOOP, SEQUENTIAL_LOOP)


@pytest.mark.rotates
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"time_tiled"}))
def test_loops_of_random_mappings(name: str) -> None:
    scop = scop_of(name)
    for seed in range(2):
        generator = np.random.default_rng([seed, 77, len(name)])
        legal = coalesce_loops(LegalSchedule(scop, some_schedule(scop, generator)))
        mapping = replace(random_mapping(generator, scop), threads=2)
        loops = lowered(legal, mapping)
        if any(array.storage_class is StorageClass.TILE for array in loops.scop.arrays):
            # What goes through tiles has statements of its own: test_turn_rows compares its bits.
            loops = lowered(legal, replace(mapping, pack=False))
        check_loops(loops, small_run(legal.scop))


def lowered(legal: LegalSchedule, mapping: Mapping) -> LoopProgram:
    try:
        return lower(legal, mapping)
    except LimitError:
        return lower(legal)


def test_the_oracle_notices_lanes_that_depend_on_each_other() -> None:
    scop = parse_text(
        "void f(int n, double A[n]) {\n#pragma scop\nfor (int i = 1; i < n; i++)\n"
        "S: A[i] = A[i - 1] + 1.0;\n#pragma endscop\n}\n"
    )
    run = Run.of(scop, {"n": 9})
    instance = Instance("S", (ROW,), (ROW,), ((add_constant(ROW, -1),),))
    good = LoopProgram(
        scop, Loop("i", IndexConstant(1), add_constant(N, -1), 1, instance), ((N,),), frozenset()
    )
    check_loops(good, run)
    for annotation, said in (
        (VectorLoop(256, 1), "lanes"),
        (ParallelLoop(is_dynamic=False), "threads"),
    ):
        marked = replace(good.body, annotation=annotation)
        wrong = replace(good, body=vectorize(marked, scop, frozenset()))
        with pytest.raises(AssertionError, match=said):
            check_loops(wrong, run)


def test_jammed_loops_as_c() -> None:
    body = jam_loops(nest(UnrollAndJam(2), SEQUENTIAL_LOOP, ROW, add_constant(M, -1)))
    text = print_c(LoopProgram(SQUARE, body, ((N, M),), frozenset()))
    assert "i += 2" in text
    assert "A[i + 1][j]" in text
