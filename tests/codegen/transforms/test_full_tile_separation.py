"""Full tiles apart from partial ones, by brute force: the same instances in the same order."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.codegen.common.loop_annotation import UnrollAndJam
from polygym.codegen.loopir.index_arithmetic import add_constant, maximum, minimum
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
    Node,
)
from polygym.codegen.loopir.linear_sums import constant_difference, to_linear_sum
from polygym.codegen.transforms.full_tile_separation import separate_full_tiles
from polygym.codegen.transforms.unroll_and_jam import jam_loops
from tests.oracles.loops import events, value

ROW, COLUMN, T, U, N, M = (IndexVariable(name) for name in "ijtunm")
BODY = Instance("S", (ROW, COLUMN), (ROW, COLUMN), ((ROW, COLUMN),))


def times(number: int, index: Index) -> Index:
    return IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(number), index))


def added(first: Index, second: Index) -> Index:
    return IndexOperation(IndexOperator.ADD, (first, second))


def minus(first: Index, second: Index) -> Index:
    return IndexOperation(IndexOperator.SUBTRACT, (first, second))


def tiled(low: Index, high: Index, shape: tuple[int, int] = (4, 3)) -> Loop:
    """Return loops over tiles of i in 0 .. n - 1 and j in low .. high, around their points."""
    rows, columns = shape
    j = Loop(
        "j",
        maximum(times(columns, U), low),
        minimum(add_constant(times(columns, U), columns - 1), high),
        1,
        BODY,
    )
    i = Loop(
        "i",
        times(rows, T),
        minimum(add_constant(N, -1), add_constant(times(rows, T), rows - 1)),
        1,
        j,
    )
    return Loop("t", IndexConstant(0), N, 1, Loop("u", IndexConstant(-9), added(N, M), 1, i))


def guards(node: Node) -> list[Guard]:
    match node:
        case Block(children):
            return [guard for child in children for guard in guards(child)]
        case Loop():
            return guards(node.body)
        case Guard(_, then, otherwise):
            rest = [] if otherwise is None else guards(otherwise)
            return [node, *guards(then), *rest]
        case Instance():
            return []


def run(node: Node, n: int, m: int) -> list[tuple[int, ...]]:
    return [event.point for event in events(node, {"n": n, "m": m})]


BOUNDS = {
    "rectangle": (IndexConstant(0), add_constant(M, -1)),
    "lower triangle": (IndexConstant(0), ROW),
    "upper triangle": (ROW, add_constant(M, -1)),
    "band": (add_constant(ROW, -2), add_constant(ROW, 2)),
    "skewed": (ROW, add_constant(added(ROW, M), -1)),
    "falling": (minus(IndexConstant(3), ROW), minus(M, ROW)),
    "steep": (times(2, ROW), added(times(2, ROW), M)),
    "two pieces": (
        maximum(IndexConstant(0), add_constant(ROW, -3)),
        minimum(add_constant(M, -1), add_constant(ROW, 5)),
    ),
}


@pytest.mark.rotates
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("shape", [(4, 3), (2, 5), (1, 4)])
def test_the_same_points_in_the_same_order(bounds: str, shape: tuple[int, int]) -> None:
    before = tiled(*BOUNDS[bounds], shape)
    after = separate_full_tiles(before)
    assert len(guards(after)) == 1, "there are full tiles"
    for n, m in [(0, 0), (1, 5), (8, 9), (9, 7), (11, 13)]:
        assert run(after, n, m) == run(before, n, m)


def test_full_tiles_have_the_bounds_of_tiles() -> None:
    (guard,) = guards(separate_full_tiles(tiled(*BOUNDS["rectangle"])))
    assert isinstance(guard.then, Loop)
    assert isinstance(guard.then.body, Loop)
    for loop, size in ((guard.then, 4), (guard.then.body, 3)):
        assert constant_difference(loop.upper, loop.lower) == size - 1
    full = [
        value(guard.condition, {"t": t, "u": u, "n": 9, "m": 7}) for t in range(3) for u in range(3)
    ]
    assert full == [True, True, False, True, True, False, False, False, False]


def test_blocks_that_fill_a_full_tile_have_no_rest() -> None:
    (guard,) = guards(separate_full_tiles(tiled(*BOUNDS["rectangle"])))
    assert isinstance(guard.then, Loop)
    for count, parts in ((2, 1), (4, 1), (3, 2), (8, 1)):
        node = jam_loops(Loop(**{**_fields(guard.then), "annotation": UnrollAndJam(count)}))
        assert isinstance(node, Block)
        assert len(node.children) == parts
        at = {"t": 1, "u": 1, "n": 99, "m": 99}
        expected = sorted(event.point for event in events(guard.then, at))
        assert sorted(event.point for event in events(node, at)) == expected


def _fields(loop: Loop) -> dict[str, object]:
    return {name: getattr(loop, name) for name in ("variable", "lower", "upper", "step", "body")}


def test_loops_without_tiles_stay_as_they_are() -> None:
    inner = Loop(
        "j",
        maximum(IndexConstant(0), add_constant(ROW, -5)),
        minimum(M, add_constant(N, 2)),
        1,
        BODY,
    )
    plain = Loop("i", IndexConstant(0), add_constant(N, -1), 1, inner)
    assert separate_full_tiles(plain) == plain


def test_what_neither_grows_nor_falls_is_left_alone() -> None:
    wave = IndexOperation(IndexOperator.REMAINDER_NONNEGATIVE, (times(7, ROW), IndexConstant(5)))
    before = tiled(IndexConstant(0), wave)
    after = separate_full_tiles(before)
    (guard,) = guards(after)
    assert isinstance(guard.then, Loop)
    assert guard.then.body == tiled(IndexConstant(0), wave).body.body.body  # type: ignore[union-attr]
    assert run(after, 9, 5) == run(before, 9, 5)


def test_only_the_innermost_nests_are_separated() -> None:
    nest = tiled(*BOUNDS["rectangle"])
    outer = Loop("v", IndexConstant(0), IndexConstant(1), 1, Block((nest, nest)))
    node = separate_full_tiles(outer)
    assert isinstance(node, Loop)
    assert len(guards(node)) == 2
    assert all(isinstance(child, Loop) for child in node.body.children)  # type: ignore[union-attr]


INDICES = st.recursive(
    st.integers(-9, 9).map(IndexConstant) | st.sampled_from([ROW, COLUMN, N]),
    lambda inner: st.one_of(
        st.builds(added, inner, inner),
        st.builds(minus, inner, inner),
        st.builds(times, st.integers(-3, 3), inner),
        st.builds(lambda operand: IndexOperation(IndexOperator.NEGATE, (operand,)), inner),
        st.builds(lambda *pair: IndexOperation(IndexOperator.MAXIMUM, pair), inner, inner),
    ),
    max_leaves=8,
)
AT = st.fixed_dictionaries({name: st.integers(-20, 20) for name in "ijn"})


@given(INDICES, AT)
def test_a_sum_is_worth_what_the_index_is(index: Index, at: dict[str, int]) -> None:
    terms, constant = to_linear_sum(index)
    assert all(terms.values())
    total = constant + sum(factor * value(term, at) for term, factor in terms.items())
    assert total == value(index, at)


@given(INDICES, INDICES, AT)
def test_differences_that_are_numbers_hold_everywhere(
    one: Index, other: Index, at: dict[str, int]
) -> None:
    assert constant_difference(add_constant(one, 3), one) == 3
    difference = constant_difference(one, other)
    if difference is not None:
        assert value(one, at) - value(other, at) == difference


@given(st.lists(INDICES, min_size=1, max_size=4), AT)
def test_extremes_keep_one_of_those_that_differ_by_a_number(
    indices: list[Index], at: dict[str, int]
) -> None:
    worth = [value(index, at) for index in indices]
    twice = [*indices, *(add_constant(index, 2) for index in indices)]
    assert value(minimum(*twice), at) == min(worth)
    assert value(maximum(*twice), at) == max(worth) + 2
    for extreme, operator in (
        (minimum(*twice), IndexOperator.MINIMUM),
        (maximum(*twice), IndexOperator.MAXIMUM),
    ):
        merged = isinstance(extreme, IndexOperation) and extreme.operator is operator
        pieces = extreme.operands if isinstance(extreme, IndexOperation) and merged else (extreme,)
        pairs = combinations(pieces, 2)
        assert all(constant_difference(*pair) is None for pair in pairs)
