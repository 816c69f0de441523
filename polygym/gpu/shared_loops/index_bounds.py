"""Bounds of indices whose variables have ranges: how large a grid has to be.

Example: with ``block.x`` from 0 to ``n - 1``, ``m - block.x`` is at most ``m``. A bound may be
further off than need be, never too near; where there is none, None says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import (
    add_constant,
    depends_on,
    evaluate_index,
    min_max_operands,
    minimum,
)
from polygym.codegen.loopir.linear_sums import (
    add_indices,
    constant_difference,
    from_linear_sum,
    to_linear_sum,
)

Ranges: TypeAlias = Mapping[str, tuple[ir.Index | None, ir.Index | None]]
"""The least and the greatest value of variables, in terms of those that have no range."""


def variables_of(index: ir.Index) -> frozenset[str]:
    """Return the names of an index's variables."""
    match index:
        case ir.IndexConstant():
            return frozenset()
        case ir.IndexVariable(name):
            return frozenset({name})
        case ir.IndexOperation(_, operands):
            return frozenset[str]().union(*map(variables_of, operands))


def folded(index: ir.Index) -> ir.Index:
    """Return an index as a number, where it has no variables."""
    if isinstance(index, ir.IndexConstant) or variables_of(index):
        return index
    return ir.IndexConstant(evaluate_index(index, {}))


def extreme(index: ir.Index, ranges: Ranges, *, greatest: bool) -> ir.Index | None:
    """Return what an index is at most, or at least."""
    if not any(depends_on(index, name) for name in ranges):
        return index
    if isinstance(index, ir.IndexVariable):
        return ranges[index.name][greatest]
    terms, constant = to_linear_sum(index)
    if terms != {index: 1}:
        result: ir.Index = ir.IndexConstant(constant)
        for term, factor in terms.items():
            own = extreme(term, ranges, greatest=greatest if factor > 0 else not greatest)
            if own is None:
                return None
            result = add_indices(result, ir.IndexOperator.MULTIPLY(ir.IndexConstant(factor), own))
        return result
    return _extreme_of_operation(index, ranges, greatest)


def _extreme_of_operation(index: ir.Index, ranges: Ranges, greatest: bool) -> ir.Index | None:
    match index:
        case ir.IndexOperation(
            ir.IndexOperator.MINIMUM | ir.IndexOperator.MAXIMUM as operator, operands
        ):
            own = [extreme(operand, ranges, greatest=greatest) for operand in operands]
            known = [operand for operand in own if operand is not None]
            return operator(*known) if len(known) == len(own) else None
        case ir.IndexOperation(operator, (dividend, ir.IndexConstant() as divisor)) if (
            operator in ir.QUOTIENTS
        ):
            inner = extreme(dividend, ranges, greatest=greatest)
            return None if inner is None else ir.IndexOperator.DIVIDE_FLOOR(inner, divisor)
        case _:
            return None


def trip_count(loop: ir.Loop) -> ir.Index:
    """Return how many iterations a loop has; 0 or less where it has none."""
    length = ir.IndexOperator.SUBTRACT(loop.upper, loop.lower)
    if loop.step == 1:
        return folded(from_linear_sum(to_linear_sum(add_constant(length, 1))))
    quotient = ir.IndexOperator.DIVIDE_FLOOR(length, ir.IndexConstant(loop.step))
    return folded(add_constant(quotient, 1))


def most_iterations(loop: ir.Loop, ranges: Ranges) -> ir.Index | None:
    """Return how many iterations a loop has at most, whatever the values in the ranges."""
    counts = []
    for first in min_max_operands(loop.lower, ir.IndexOperator.MAXIMUM):
        for last in min_max_operands(loop.upper, ir.IndexOperator.MINIMUM):
            part = ir.Loop(loop.variable, first, last, loop.step, loop.body)
            count = extreme(trip_count(part), ranges, greatest=True)
            if count is not None:
                counts.append(folded(count))
    return folded(minimum(*counts)) if counts else None


def negated(condition: ir.Index) -> ir.Index | None:
    """Return the condition that another one does not hold; None where there is no form of it."""
    operator = ir.IndexOperator
    match condition:
        case ir.IndexOperation(operator.LESS, operands):
            return operator.GREATER_EQUAL(*operands)
        case ir.IndexOperation(operator.LESS_EQUAL, operands):
            return operator.GREATER(*operands)
        case ir.IndexOperation(operator.GREATER, operands):
            return operator.LESS_EQUAL(*operands)
        case ir.IndexOperation(operator.GREATER_EQUAL, operands):
            return operator.LESS(*operands)
        case ir.IndexOperation(operator.EQUAL, (left, right)) if not _is_zero_test(left):
            return operator.OR(operator.LESS(left, right), operator.GREATER(left, right))
        case ir.IndexOperation(operator.AND | operator.OR as connective, operands):
            own = [negated(operand) for operand in operands]
            known = [operand for operand in own if operand is not None]
            other = operator.OR if connective is operator.AND else operator.AND
            return other(*known) if len(known) == len(own) else None
        case _:
            return None


def _is_zero_test(index: ir.Index) -> bool:
    """Whether an index holds a remainder of which only 0 has a meaning."""
    match index:
        case ir.IndexOperation(ir.IndexOperator.REMAINDER_ZERO_TEST):
            return True
        case ir.IndexOperation(_, operands):
            return any(map(_is_zero_test, operands))
        case _:
            return False


def other_pieces(bound: ir.Index, operator: ir.IndexOperator, known: ir.Index) -> list[ir.Index]:
    """Return the pieces of a bound that one of them does not imply."""
    pieces = min_max_operands(bound, operator)
    return [piece for piece in pieces if constant_difference(piece, known) != 0]
