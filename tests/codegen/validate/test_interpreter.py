"""Loops as Python functions: following a statement finds what running all of it finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

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
from polygym.codegen.validate.interpreter import (
    InstanceExecution,
    make_follower,
    make_runner,
    make_sampler,
)

COUNTERS = 3


@st.composite
def bounds(draw: st.DrawFn, around: int, operator: IndexOperator) -> Index:
    """Return a bound of loop number ``around``: numbers, counters outside, and several of both."""
    leaves = [IndexConstant(draw(st.integers(-3, 6))), IndexVariable("n")]
    leaves += [IndexVariable(f"c{place}") for place in range(around)]
    chosen = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=3))
    return chosen[0] if len(chosen) == 1 else IndexOperation(operator, tuple(chosen))


@st.composite
def nests(draw: st.DrawFn, depth: int = 0) -> Node:
    """Return loops of up to three counters around two statements, some under conditions."""
    leaf = Instance(draw(st.sampled_from("ST")), tuple(map(IndexVariable, names(depth))), (), ())
    if depth == COUNTERS or (depth and draw(st.integers(0, 3)) == 0):
        return leaf
    body: Node = draw(nests(depth + 1))
    if draw(st.booleans()):
        condition = IndexOperation(
            IndexOperator.LESS, (IndexVariable(f"c{depth}"), IndexConstant(2))
        )
        body = Guard(condition, body, draw(st.none() | nests(depth + 1)))
    if draw(st.integers(0, 3)) == 0:
        body = Block((body, draw(nests(depth + 1))))
    lower = draw(bounds(depth, IndexOperator.MAXIMUM))
    upper = draw(bounds(depth, IndexOperator.MINIMUM))
    return Loop(f"c{depth}", lower, upper, draw(st.integers(1, 3)), body)


def names(count: int) -> list[str]:
    return [f"c{place}" for place in range(count)]


@settings(max_examples=300, deadline=None)
@given(nests(), st.integers(0, 5), st.lists(st.none() | st.integers(-2, 6), max_size=COUNTERS))
def test_a_follower_finds_what_runs_where_counters_stand(
    body: Node, size: int, at: list[int | None]
) -> None:
    every, _ = make_sampler(body, ["n"])(size)
    points = make_runner(body, ["n"])(size)
    if [point for point, _, _ in every] != points:
        return  # a sample of loops that are too long

    def is_wanted(ran: InstanceExecution) -> bool:
        (name, _), _, counters = ran
        pairs = zip(at, counters, strict=False)
        return name == "S" and all(value is None or value == counter for value, counter in pairs)

    run = make_follower(body, ["n"], "S")
    if run is None:
        assert all(name == "T" for name, _ in points)
        return
    for _ in range(2):  # what it remembers of a pattern changes nothing
        executions = run(size, tuple(at))
        assert executions is not None
        assert [point for point, _, _ in executions] == [
            execution[0] for execution in every if is_wanted(execution)
        ]
        free = run(size, ())
        assert free is not None
        assert [point for point, _, _ in free] == [
            instance_point for instance_point in points if instance_point[0] == "S"
        ]
