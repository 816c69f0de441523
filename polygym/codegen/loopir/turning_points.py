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

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    min_max_operands,
    substitute,
)


def turning_points_of(loop: ir.Loop) -> tuple[ir.Index, ...]:
    """Return the turning points of a loop's counter, in terms of the counters around it."""
    result: dict[ir.Index, None] = {}
    inside = counters_in(loop.body)
    for left, right in _compared_pairs(loop.body):
        steps = coefficient(left, loop.variable), coefficient(right, loop.variable)
        if None in steps or steps[0] == steps[1]:
            continue
        if any(depends_on(side, name) for side in (left, right) for name in inside):
            continue
        assert steps[0] is not None
        assert steps[1] is not None
        zero = {loop.variable: ir.IndexConstant(0)}
        rest = ir.IndexOperator.SUBTRACT(substitute(right, zero), substitute(left, zero))
        result[ir.IndexOperator.DIVIDE_FLOOR(rest, ir.IndexConstant(steps[0] - steps[1]))] = None
    return tuple(result)


def _compared_pairs(node: ir.Node) -> Iterator[tuple[ir.Index, ir.Index]]:
    """Yield the pairs of indices that decide what runs in a node."""
    match node:
        case ir.Loop(_, lower, upper):
            yield from product(
                min_max_operands(lower, ir.IndexOperator.MAXIMUM),
                min_max_operands(upper, ir.IndexOperator.MINIMUM),
            )
        case ir.Guard(condition):
            yield from _pairs_in_condition(condition)
        case ir.Block() | ir.Instance():
            pass
        case _:
            assert_never(node)
    for part in ir.children_of(node):
        yield from _compared_pairs(part)


def _pairs_in_condition(condition: ir.Index) -> Iterator[tuple[ir.Index, ir.Index]]:
    match condition:
        case ir.IndexOperation(operator, (left, right)) if operator in ir.COMPARISONS:
            yield left, right
        case ir.IndexOperation(_, operands):
            for operand in operands:
                yield from _pairs_in_condition(operand)
        case ir.IndexConstant() | ir.IndexVariable():
            return
        case _:
            assert_never(condition)


def counters_in(node: ir.Node) -> frozenset[str]:
    """Return the counters of the loops in a node."""
    return frozenset(loop.variable for loop in ir.loops_in(node))
