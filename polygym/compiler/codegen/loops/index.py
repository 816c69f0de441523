"""Arithmetic on indices: building sums, replacing variables, finding coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, neg, sub
from typing import assert_never

from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Lanes,
    Loop,
    Node,
    Number,
    Operation,
    Variable,
)
from polygym.compiler.codegen.loops.linear import as_sum

_OPERATIONS: Mapping[IndexOperator, Callable[..., int]] = {
    IndexOperator.NEGATE: neg,
    IndexOperator.ADD: add,
    IndexOperator.SUBTRACT: sub,
    IndexOperator.MULTIPLY: mul,
    IndexOperator.DIVIDE_EXACT: floordiv,
    IndexOperator.DIVIDE_FLOOR: floordiv,
    IndexOperator.DIVIDE_NONNEGATIVE: floordiv,
    IndexOperator.REMAINDER_NONNEGATIVE: mod,
    IndexOperator.REMAINDER_ZERO_TEST: mod,
    IndexOperator.MINIMUM: min,
    IndexOperator.MAXIMUM: max,
    IndexOperator.SELECT: lambda condition, then, otherwise: then if condition else otherwise,
    IndexOperator.EQUAL: eq,
    IndexOperator.LESS: lt,
    IndexOperator.LESS_EQUAL: le,
    IndexOperator.GREATER: gt,
    IndexOperator.GREATER_EQUAL: ge,
    IndexOperator.AND: lambda *conditions: int(all(conditions)),
    IndexOperator.OR: lambda *conditions: int(any(conditions)),
}


def plus(index: Index, amount: int) -> Index:
    """Return the index plus a number.

    >>> plus(Operation(IndexOperator.ADD, (Variable("i"), Number(2))), -2)
    Variable(name='i')
    """
    match index:
        case _ if amount == 0:
            return index
        case Number(value):
            return Number(value + amount)
        case Operation(IndexOperator.ADD, (first, Number(value))):
            return plus(first, value + amount)
        case Operation(IndexOperator.SUBTRACT, (first, Number(value))):
            return plus(first, amount - value)
        case _ if amount < 0:
            return Operation(IndexOperator.SUBTRACT, (index, Number(-amount)))
        case _:
            return Operation(IndexOperator.ADD, (index, Number(amount)))


def minimum(*indices: Index) -> Index:
    """Return the smallest of indices; of two that differ by a number only one is kept."""
    return _extreme(IndexOperator.MINIMUM, indices)


def maximum(*indices: Index) -> Index:
    """Return the greatest of indices; of two that differ by a number only one is kept."""
    return _extreme(IndexOperator.MAXIMUM, indices)


def _extreme(operator: IndexOperator, indices: tuple[Index, ...]) -> Index:
    flat: list[Index] = []
    for index in indices:
        match index:
            case Operation(inner, operands) if inner is operator:
                flat += operands
            case _:
                flat.append(index)
    kept: dict[frozenset[tuple[Index, int]], tuple[int, Index]] = {}
    for index in flat:
        terms, constant = as_sum(index)
        key = frozenset(terms.items())
        before = kept.get(key)
        better = before is None or (
            constant < before[0] if operator is IndexOperator.MINIMUM else constant > before[0]
        )
        if better:
            kept[key] = (constant, index)
    only, *others = (index for _, index in kept.values())
    return Operation(operator, (only, *others)) if others else only


def pieces(bound: Index, operator: IndexOperator) -> tuple[Index, ...]:
    """Return what a bound is the minimum or maximum of: itself, if it is none."""
    match bound:
        case Operation(found, operands) if found is operator:
            return operands
        case _:
            return (bound,)


def mentions(index: Index, variable: str) -> bool:
    """Whether the index depends on a variable."""
    match index:
        case Number():
            return False
        case Variable(name):
            return name == variable
        case Operation(_, operands):
            return any(mentions(operand, variable) for operand in operands)
        case _:
            assert_never(index)


def coefficient(index: Index, variable: str) -> int | None:
    """Return by how much the index grows when the variable grows by one; None if that varies.

    >>> coefficient(Operation(IndexOperator.SUBTRACT, (Variable("i"), Variable("j"))), "j")
    -1
    """
    match index:
        case Number():
            return 0
        case Variable(name):
            return int(name == variable)
        case Operation(operator, operands):
            parts = [coefficient(operand, variable) for operand in operands]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            if not any(known):
                return 0 if not mentions(index, variable) else None
            match operator:
                case IndexOperator.NEGATE:
                    return -known[0]
                case IndexOperator.ADD:
                    return known[0] + known[1]
                case IndexOperator.SUBTRACT:
                    return known[0] - known[1]
                case IndexOperator.MULTIPLY:
                    match operands:
                        case (Number(value), _):
                            return value * known[1]
                        case (_, Number(value)):
                            return value * known[0]
                    return None
                case _:
                    return None
        case _:
            assert_never(index)


def monotone(index: Index, variable: str) -> bool:
    """Whether the index only grows, or only falls, with the variable."""
    match index:
        case Operation(IndexOperator.DIVIDE_FLOOR, (dividend, Number())):
            return coefficient(dividend, variable) is not None
        case Operation(IndexOperator.ADD | IndexOperator.SUBTRACT, (first, second)) if not (
            mentions(first, variable) and mentions(second, variable)
        ):
            return monotone(first, variable) and monotone(second, variable)
        case Operation(IndexOperator.NEGATE, (operand,)):
            return monotone(operand, variable)
        case Operation(IndexOperator.MULTIPLY, (Number(), operand)):
            return monotone(operand, variable)
        case _:
            return coefficient(index, variable) is not None


def value_at(index: Index, values: Mapping[str, int]) -> int:
    """Return an index's value where its variables have these values; conditions are 0 or 1.

    >>> value_at(minimum(Variable("i"), Operation(IndexOperator.NEGATE, (Variable("j"),))),
    ...          {"i": 3, "j": 5})
    -5
    """
    match index:
        case Number(value):
            return value
        case Variable(name):
            return values[name]
        case Operation(operator, operands):
            first, *others = (value_at(operand, values) for operand in operands)
            return _OPERATIONS[operator](first, *others)
        case _:
            assert_never(index)


def replaced(index: Index, values: Mapping[str, Index]) -> Index:
    """Return the index with variables replaced."""
    match index:
        case Number():
            return index
        case Variable(name):
            return values.get(name, index)
        case Operation(operator, operands):
            parts = tuple(replaced(operand, values) for operand in operands)
            match operator, parts:
                case IndexOperator.ADD, (first, Number(value)):
                    return plus(first, value)
                case IndexOperator.SUBTRACT, (first, Number(value)):
                    return plus(first, -value)
                case _:
                    return Operation(operator, parts)
        case _:
            assert_never(index)


def replaced_in(node: Node, values: Mapping[str, Index]) -> Node:
    """Return a node with variables replaced; the node must not bind any of them."""
    match node:
        case Block(children):
            return Block(tuple(replaced_in(child, values) for child in children))
        case Loop(variable, lower, upper, step, body, annotation):
            assert variable not in values
            return Loop(
                variable,
                replaced(lower, values),
                replaced(upper, values),
                step,
                replaced_in(body, values),
                annotation,
            )
        case Guard(condition, then, otherwise):
            return Guard(
                replaced(condition, values),
                replaced_in(then, values),
                None if otherwise is None else replaced_in(otherwise, values),
            )
        case Instance(statement, iterators, write, reads, lanes):
            return Instance(
                statement,
                tuple(replaced(index, values) for index in iterators),
                tuple(replaced(index, values) for index in write),
                tuple(tuple(replaced(index, values) for index in read) for read in reads),
                None if lanes is None else _replaced_lanes(lanes, values),
            )
        case _:
            assert_never(node)


def _replaced_lanes(lanes: Lanes, values: Mapping[str, Index]) -> Lanes:
    active = None if lanes.active is None else replaced(lanes.active, values)
    return Lanes(lanes.variable, replaced(lanes.base, values), lanes.width, active)
