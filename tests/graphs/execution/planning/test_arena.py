"""Memory plans: nothing that is needed at the same time overlaps, and much is used again."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.graphs.execution import compile_model
from polygym.graphs.execution.planning.arena import ALIGNMENT, ArenaBlock, plan_arena
from polygym.graphs.ir.build import binary, concat, graph_input, matmul, relu, split, tanh, weight
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check, model_of

_BLOCKS = st.lists(
    st.builds(
        lambda size, first, length: ArenaBlock(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 12),
        st.integers(0, 6),
    ),
    max_size=25,
)


@given(_BLOCKS)
@settings(max_examples=200, deadline=None)
def test_no_two_live_blocks_overlap(blocks: list[ArenaBlock]) -> None:
    plan = plan_arena(blocks)
    assert len(plan.offsets) == len(blocks)
    for step in range(20):
        # Byte by byte, the simplest way there is.
        owners: dict[int, int] = {}
        for number, (block, offset) in enumerate(zip(blocks, plan.offsets, strict=True)):
            if not block.first_step <= step <= block.last_step:
                continue
            assert offset % ALIGNMENT == 0
            assert 0 <= offset <= offset + block.bytes <= plan.bytes
            for byte in range(offset, offset + block.bytes):
                assert owners.setdefault(byte, number) == number
    assert plan.bytes <= plan.bytes_without_reuse


def test_a_chain_needs_two_blocks() -> None:
    blocks = [ArenaBlock(1000, step, step + 1) for step in range(10)]
    plan = plan_arena(blocks)
    assert plan.bytes == 2 * 1024
    assert plan.bytes_without_reuse == 10 * 1024


def test_the_smallest_gap_that_is_large_enough_is_taken() -> None:
    # Between the first two there is a gap of 128, behind them all one without end.
    blocks = [
        ArenaBlock(640, 0, 9),
        ArenaBlock(512, 0, 1),
        ArenaBlock(256, 5, 9),
        ArenaBlock(64, 5, 9),
    ]
    offsets = plan_arena(blocks).offsets
    assert offsets[2] == 640
    assert offsets[3] == 640 + 256


def _layers(x: Term, count: int) -> Term:
    for number in range(count):
        x = matmul(x, weight(f"w{number}", 32, 32), "relu")
    return x


def test_intermediate_results_share_memory() -> None:
    compiled = check(_layers(graph_input("x", 16, 32), 6))
    assert len(compiled.steps) == 6
    assert compiled.memory.bytes == 2 * 16 * 32 * 4
    assert compiled.memory.bytes_without_reuse == 5 * 16 * 32 * 4


def test_an_elementwise_operation_works_in_place() -> None:
    x = graph_input("x", 16, 32)
    # Two results of products are needed at once, so that their sum cannot be fused into both.
    once = matmul(x, weight("w", 32, 32))
    compiled = check(matmul(tanh(once), weight("v", 32, 32)), fuse=False)
    assert [description.label for description in compiled.steps] == ["matmul", "tanh", "matmul"]
    assert compiled.memory.bytes == 16 * 32 * 4


def test_what_is_needed_later_is_not_written_over() -> None:
    x = graph_input("x", 16, 32)
    once = matmul(x, weight("w", 32, 32))
    check(matmul(tanh(once), weight("v", 32, 32)), relu(once), fuse=False)
    check(binary("add", relu(once), tanh(once)), fuse=False)
    check(binary("mul", relu(once), once), fuse=False)


def test_parts_of_a_concatenation_are_written_where_they_belong() -> None:
    x = graph_input("x", 1, 4, 8)
    parts = [relu(x), tanh(x), concat(1, [binary("add", x, x), relu(tanh(x))])]
    compiled = check(matmul(concat(1, parts), weight("w", 8, 2)))
    assert "copy" not in {description.label for description in compiled.steps}
    # An input is moved, and what stands there twice is so once.
    again = relu(x)
    compiled = check(matmul(concat(1, [x, again, again]), weight("w", 8, 2)))
    assert [step_description.label for step_description in compiled.steps].count("copy") == 2


def test_views_move_nothing() -> None:
    first, second = split(0, 2, graph_input("x", 5, 6))
    compiled = check(relu(first), tanh(second))
    assert [description.label for description in compiled.steps] == ["relu", "tanh"]
    columns = split(1, 2, relu(graph_input("x", 5, 6)))
    compiled = check(matmul(columns[1], weight("w", 4, 3)))
    assert [step_description.label for step_description in compiled.steps] == ["relu", "matmul"]


def test_constants_are_computed_once_ahead() -> None:
    x, w, v = graph_input("x", 3, 4), weight("w", 4, 5), weight("v", 4, 2)
    compiled = check(matmul(x, concat(1, [w, tanh(v)])))
    assert [description.label for description in compiled.steps] == ["matmul"]


def test_memory_is_aligned_and_results_are_fresh() -> None:
    compiled = compile_model(model_of(_layers(graph_input("x", 3, 32), 2)))
    assert compiled._base % ALIGNMENT == 0
    x = np.ones((3, 32), np.float32)
    one, other = compiled(x), compiled(2 * x)
    assert not np.shares_memory(one, other)
    np.testing.assert_allclose(2 * one, other, rtol=1e-5)


@st.composite
def _graphs(draw: st.DrawFn) -> list[Term]:
    """Graphs in which memory is used in every way: products, sums, parts, joins, views."""
    known: list[Term] = [graph_input("x", 4, 4), graph_input("y", 4, 4)]
    for _ in range(draw(st.integers(1, 8))):
        term, other = (known[draw(st.integers(0, len(known) - 1))] for _ in range(2))
        kind = draw(st.sampled_from(["matmul", "add", "relu", "join", "part"]))
        match kind:
            case "matmul":
                known.append(tanh(matmul(term, other)))
            case "add":
                known.append(binary("add", term, other))
            case "relu":
                known.append(relu(term))
            case "join":
                known.append(split(0, 4, concat(0, [term, other]))[draw(st.integers(0, 1))])
            case "part":
                halves = split(1, 2, term)
                known.append(concat(1, [halves[1], split(1, 2, other)[0]]))
    count = draw(st.integers(1, 3))
    return known[-count:]


@given(_graphs(), st.booleans())
@settings(max_examples=12, deadline=None)
def test_random_graphs_compute_what_pytorch_does(outputs: list[Term], fuse: bool) -> None:
    check(*outputs, fuse=fuse)
