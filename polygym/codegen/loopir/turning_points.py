"""Turning points of a loop: values of its counter at which conditions inside change.

isl's loops consist of pieces that meet at such values, under guards and in the bounds of loops
further in. Example: in ::

    for (c0 = -20; c0 <= n; c0++)
      if (c0 >= 3 * c1) ...

``c0 >= 3 * c1`` turns at 3 * c1, whatever c1 is there.
"""

from collections.abc import Iterator
from itertools import product
from typing import assert_never

from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    min_max_operands,
    substitute,
)
from polygym.codegen.loopir.ir import (
    COMPARISONS,
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
    children_of,
    loops_in,
)


def turning_points_of(loop: Loop) -> tuple[Index, ...]:
    """Return the turning points of a loop's counter, in terms of the counters around it."""
    result: dict[Index, None] = {}
    inside = counters_in(loop.body)
    for left, right in _compared_pairs(loop.body):
        steps = coefficient(left, loop.variable), coefficient(right, loop.variable)
        if None in steps or steps[0] == steps[1]:
            continue
        if any(depends_on(side, name) for side in (left, right) for name in inside):
            continue
        assert steps[0] is not None
        assert steps[1] is not None
        zero = {loop.variable: IndexConstant(0)}
        rest = IndexOperation(
            IndexOperator.SUBTRACT, (substitute(right, zero), substitute(left, zero))
        )
        result[
            IndexOperation(IndexOperator.DIVIDE_FLOOR, (rest, IndexConstant(steps[0] - steps[1])))
        ] = None
    return tuple(result)


def _compared_pairs(node: Node) -> Iterator[tuple[Index, Index]]:
    """Yield the pairs of indices that decide what runs in a node."""
    match node:
        case Loop(_, lower, upper):
            yield from product(
                min_max_operands(lower, IndexOperator.MAXIMUM),
                min_max_operands(upper, IndexOperator.MINIMUM),
            )
        case Guard(condition):
            yield from _pairs_in_condition(condition)
        case Block() | Instance():
            pass
        case _:
            assert_never(node)
    for part in children_of(node):
        yield from _compared_pairs(part)


def _pairs_in_condition(condition: Index) -> Iterator[tuple[Index, Index]]:
    match condition:
        case IndexOperation(operator, (left, right)) if operator in COMPARISONS:
            yield left, right
        case IndexOperation(_, operands):
            for operand in operands:
                yield from _pairs_in_condition(operand)
        case IndexConstant() | IndexVariable():
            return
        case _:
            assert_never(condition)


def counters_in(node: Node) -> frozenset[str]:
    """Return the counters of the loops in a node."""
    return frozenset(loop.variable for loop in loops_in(node))
