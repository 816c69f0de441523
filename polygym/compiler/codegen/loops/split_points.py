"""Where a loop's body changes: the values of its counter at which conditions inside turn over.

isl's loops consist of pieces that meet at such values, under guards and in the bounds of loops
further in. Example: in ::

    for (c0 = -20; c0 <= n; c0++)
      if (c0 >= 3 * c1) ...

``c0 >= 3 * c1`` turns at 3 * c1, whatever c1 is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import assert_never

from polygym.compiler.codegen.loops.index import coefficient, mentions, pieces, replaced
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Loop,
    Node,
    Number,
    Operation,
    Variable,
    directly_in,
    loops_in,
)

COMPARISONS = (
    IndexOperator.EQUAL,
    IndexOperator.LESS,
    IndexOperator.LESS_EQUAL,
    IndexOperator.GREATER,
    IndexOperator.GREATER_EQUAL,
)


def split_points(loop: Loop) -> tuple[Index, ...]:
    """Return the turning points of a loop's counter, in terms of the counters around it."""
    found: dict[Index, None] = {}
    inside = counters(loop.body)
    for left, right in _compared(loop.body):
        steps = coefficient(left, loop.variable), coefficient(right, loop.variable)
        if None in steps or steps[0] == steps[1]:
            continue
        if any(mentions(side, name) for side in (left, right) for name in inside):
            continue
        assert steps[0] is not None
        assert steps[1] is not None
        zero = {loop.variable: Number(0)}
        rest = Operation(IndexOperator.SUBTRACT, (replaced(right, zero), replaced(left, zero)))
        found[Operation(IndexOperator.DIVIDE_FLOOR, (rest, Number(steps[0] - steps[1])))] = None
    return tuple(found)


def _compared(node: Node) -> Iterator[tuple[Index, Index]]:
    """Yield the pairs of indices that decide what runs in a node."""
    match node:
        case Loop(_, lower, upper):
            yield from product(
                pieces(lower, IndexOperator.MAXIMUM), pieces(upper, IndexOperator.MINIMUM)
            )
        case Guard(condition):
            yield from _in_condition(condition)
        case Block() | Instance():
            pass
        case _:
            assert_never(node)
    for part in directly_in(node):
        yield from _compared(part)


def _in_condition(condition: Index) -> Iterator[tuple[Index, Index]]:
    match condition:
        case Operation(operator, (left, right)) if operator in COMPARISONS:
            yield left, right
        case Operation(_, operands):
            for operand in operands:
                yield from _in_condition(operand)
        case Number() | Variable():
            return
        case _:
            assert_never(condition)


def counters(node: Node) -> frozenset[str]:
    """Return the counters of the loops in a node."""
    return frozenset(loop.variable for loop in loops_in(node))
