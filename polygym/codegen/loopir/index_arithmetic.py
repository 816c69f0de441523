"""Arithmetic on indices: building sums, replacing variables, finding coefficients."""

from collections.abc import Callable, Mapping, Sequence
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, neg, sub
from typing import assert_never

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
    Node,
)
from polygym.codegen.loopir.linear_sums import to_linear_sum

_EVALUATORS: Mapping[IndexOperator, Callable[..., int]] = {
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


def add_constant(index: Index, amount: int) -> Index:
    """Return the index plus a number.

    >>> add_constant(IndexOperation(IndexOperator.ADD, (IndexVariable("i"), IndexConstant(2))), -2)
    IndexVariable(name='i')
    """
    match index:
        case _ if amount == 0:
            return index
        case IndexConstant(value):
            return IndexConstant(value + amount)
        case IndexOperation(IndexOperator.ADD, (first, IndexConstant(value))):
            return add_constant(first, value + amount)
        case IndexOperation(IndexOperator.SUBTRACT, (first, IndexConstant(value))):
            return add_constant(first, amount - value)
        case _ if amount < 0:
            return IndexOperation(IndexOperator.SUBTRACT, (index, IndexConstant(-amount)))
        case _:
            return IndexOperation(IndexOperator.ADD, (index, IndexConstant(amount)))


def minimum(*indices: Index) -> Index:
    """Return the smallest of indices; of two that differ by a number only one is kept."""
    return _min_max(IndexOperator.MINIMUM, indices)


def maximum(*indices: Index) -> Index:
    """Return the greatest of indices; of two that differ by a number only one is kept."""
    return _min_max(IndexOperator.MAXIMUM, indices)


def _min_max(operator: IndexOperator, indices: tuple[Index, ...]) -> Index:
    flat: list[Index] = []
    for index in indices:
        match index:
            case IndexOperation(inner, operands) if inner is operator:
                flat += operands
            case _:
                flat.append(index)
    kept: dict[frozenset[tuple[Index, int]], tuple[int, Index]] = {}
    for index in flat:
        terms, constant = to_linear_sum(index)
        key = frozenset(terms.items())
        before = kept.get(key)
        better = before is None or (
            constant < before[0] if operator is IndexOperator.MINIMUM else constant > before[0]
        )
        if better:
            kept[key] = (constant, index)
    only, *others = (index for _, index in kept.values())
    return IndexOperation(operator, (only, *others)) if others else only


def min_max_operands(bound: Index, operator: IndexOperator) -> tuple[Index, ...]:
    """Return what a bound is the minimum or maximum of: itself, if it is none."""
    match bound:
        case IndexOperation(found, operands) if found is operator:
            return operands
        case _:
            return (bound,)


def depends_on(index: Index, variable: str) -> bool:
    """Whether the index depends on a variable."""
    match index:
        case IndexConstant():
            return False
        case IndexVariable(name):
            return name == variable
        case IndexOperation(_, operands):
            return any(depends_on(operand, variable) for operand in operands)
        case _:
            assert_never(index)


def coefficient(index: Index, variable: str) -> int | None:
    """Return by how much the index grows when the variable grows by one; None if that varies.

    >>> coefficient(IndexOperation(IndexOperator.SUBTRACT, (IndexVariable("i"),
    ...     IndexVariable("j"))), "j")
    -1
    """
    match index:
        case IndexConstant():
            return 0
        case IndexVariable(name):
            return int(name == variable)
        case IndexOperation(operator, operands):
            parts = [coefficient(operand, variable) for operand in operands]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            if not any(known):
                return 0 if not depends_on(index, variable) else None
            match operator:
                case IndexOperator.NEGATE:
                    return -known[0]
                case IndexOperator.ADD:
                    return known[0] + known[1]
                case IndexOperator.SUBTRACT:
                    return known[0] - known[1]
                case IndexOperator.MULTIPLY:
                    match operands:
                        case (IndexConstant(value), _):
                            return value * known[1]
                        case (_, IndexConstant(value)):
                            return value * known[0]
                    return None
                case _:
                    return None
        case _:
            assert_never(index)


def strides_along(subscripts: Sequence[Index], variable: str) -> tuple[int, ...] | None:
    """Return the coefficients of a variable in subscripts, None where one of them has none."""
    steps = [coefficient(subscript, variable) for subscript in subscripts]
    known = tuple(step for step in steps if step is not None)
    return known if len(known) == len(steps) else None


def is_monotone(index: Index, variable: str) -> bool:
    """Whether the index only grows, or only falls, with the variable."""
    match index:
        case IndexOperation(IndexOperator.DIVIDE_FLOOR, (dividend, IndexConstant())):
            return coefficient(dividend, variable) is not None
        case IndexOperation(IndexOperator.ADD | IndexOperator.SUBTRACT, (first, second)) if not (
            depends_on(first, variable) and depends_on(second, variable)
        ):
            return is_monotone(first, variable) and is_monotone(second, variable)
        case IndexOperation(IndexOperator.NEGATE, (operand,)):
            return is_monotone(operand, variable)
        case IndexOperation(IndexOperator.MULTIPLY, (IndexConstant(), operand)):
            return is_monotone(operand, variable)
        case _:
            return coefficient(index, variable) is not None


def evaluate_index(index: Index, values: Mapping[str, int]) -> int:
    """Return an index's value where its variables have these values; conditions are 0 or 1.

    >>> evaluate_index(minimum(IndexVariable("i"), IndexOperation(IndexOperator.NEGATE,
    ...     (IndexVariable("j"),))),
    ...          {"i": 3, "j": 5})
    -5
    """
    match index:
        case IndexConstant(value):
            return value
        case IndexVariable(name):
            return values[name]
        case IndexOperation(operator, operands):
            first, *others = (evaluate_index(operand, values) for operand in operands)
            return _EVALUATORS[operator](first, *others)
        case _:
            assert_never(index)


def substitute(index: Index, values: Mapping[str, Index]) -> Index:
    """Return the index with variables replaced."""
    match index:
        case IndexConstant():
            return index
        case IndexVariable(name):
            return values.get(name, index)
        case IndexOperation(operator, operands):
            parts = tuple(substitute(operand, values) for operand in operands)
            match operator, parts:
                case IndexOperator.ADD, (first, IndexConstant(value)):
                    return add_constant(first, value)
                case IndexOperator.SUBTRACT, (first, IndexConstant(value)):
                    return add_constant(first, -value)
                case _:
                    return IndexOperation(operator, parts)
        case _:
            assert_never(index)


def substitute_in(node: Node, values: Mapping[str, Index]) -> Node:
    """Return a node with variables replaced; the node must not bind any of them."""
    match node:
        case Block(children):
            return Block(tuple(substitute_in(child, values) for child in children))
        case Loop(variable, lower, upper, step, body, annotation):
            assert variable not in values
            return Loop(
                variable,
                substitute(lower, values),
                substitute(upper, values),
                step,
                substitute_in(body, values),
                annotation,
            )
        case Guard(condition, then, otherwise):
            return Guard(
                substitute(condition, values),
                substitute_in(then, values),
                None if otherwise is None else substitute_in(otherwise, values),
            )
        case Instance(statement, iterators, write, reads, lanes):
            return Instance(
                statement,
                tuple(substitute(index, values) for index in iterators),
                tuple(substitute(index, values) for index in write),
                tuple(tuple(substitute(index, values) for index in read) for read in reads),
                None if lanes is None else _substitute_in_lanes(lanes, values),
            )
        case _:
            assert_never(node)


def _substitute_in_lanes(lanes: Lanes, values: Mapping[str, Index]) -> Lanes:
    active = None if lanes.active is None else substitute(lanes.active, values)
    return Lanes(lanes.variable, substitute(lanes.base, values), lanes.width, active)
