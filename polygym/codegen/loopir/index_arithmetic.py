"""Arithmetic on indices: building sums, replacing variables, finding coefficients."""

from collections.abc import Callable, Mapping, Sequence
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, neg, sub
from typing import assert_never

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.linear_sums import to_linear_sum

_EVALUATORS: Mapping[ir.IndexOperator, Callable[..., int]] = {
    ir.IndexOperator.NEGATE: neg,
    ir.IndexOperator.ADD: add,
    ir.IndexOperator.SUBTRACT: sub,
    ir.IndexOperator.MULTIPLY: mul,
    ir.IndexOperator.DIVIDE_EXACT: floordiv,
    ir.IndexOperator.DIVIDE_FLOOR: floordiv,
    ir.IndexOperator.DIVIDE_NONNEGATIVE: floordiv,
    ir.IndexOperator.REMAINDER_NONNEGATIVE: mod,
    ir.IndexOperator.REMAINDER_ZERO_TEST: mod,
    ir.IndexOperator.MINIMUM: min,
    ir.IndexOperator.MAXIMUM: max,
    ir.IndexOperator.SELECT: lambda condition, then, otherwise: then if condition else otherwise,
    ir.IndexOperator.EQUAL: eq,
    ir.IndexOperator.LESS: lt,
    ir.IndexOperator.LESS_EQUAL: le,
    ir.IndexOperator.GREATER: gt,
    ir.IndexOperator.GREATER_EQUAL: ge,
    ir.IndexOperator.AND: lambda *conditions: int(all(conditions)),
    ir.IndexOperator.OR: lambda *conditions: int(any(conditions)),
}


def add_constant(index: ir.Index, amount: int) -> ir.Index:
    """Return the index plus a number.

    >>> add_constant(ir.IndexOperator.ADD(ir.IndexVariable("i"), ir.IndexConstant(2)), -2)
    IndexVariable(name='i')
    """
    match index:
        case _ if amount == 0:
            return index
        case ir.IndexConstant(value):
            return ir.IndexConstant(value + amount)
        case ir.IndexOperation(ir.IndexOperator.ADD, (first, ir.IndexConstant(value))):
            return add_constant(first, value + amount)
        case ir.IndexOperation(ir.IndexOperator.SUBTRACT, (first, ir.IndexConstant(value))):
            return add_constant(first, amount - value)
        case _ if amount < 0:
            return ir.IndexOperator.SUBTRACT(index, ir.IndexConstant(-amount))
        case _:
            return ir.IndexOperator.ADD(index, ir.IndexConstant(amount))


def minimum(*indices: ir.Index) -> ir.Index:
    """Return the smallest of indices; of two that differ by a number only one is kept."""
    return _min_max(ir.IndexOperator.MINIMUM, indices)


def maximum(*indices: ir.Index) -> ir.Index:
    """Return the greatest of indices; of two that differ by a number only one is kept."""
    return _min_max(ir.IndexOperator.MAXIMUM, indices)


def _min_max(operator: ir.IndexOperator, indices: tuple[ir.Index, ...]) -> ir.Index:
    flat: list[ir.Index] = []
    for index in indices:
        match index:
            case ir.IndexOperation(inner, operands) if inner is operator:
                flat += operands
            case _:
                flat.append(index)
    kept: dict[frozenset[tuple[ir.Index, int]], tuple[int, ir.Index]] = {}
    for index in flat:
        terms, constant = to_linear_sum(index)
        key = frozenset(terms.items())
        before = kept.get(key)
        better = before is None or (
            constant < before[0] if operator is ir.IndexOperator.MINIMUM else constant > before[0]
        )
        if better:
            kept[key] = (constant, index)
    only, *others = (index for _, index in kept.values())
    return operator(only, *others) if others else only


def min_max_operands(bound: ir.Index, operator: ir.IndexOperator) -> tuple[ir.Index, ...]:
    """Return what a bound is the minimum or maximum of: itself, if it is none."""
    match bound:
        case ir.IndexOperation(kind, operands) if kind is operator:
            return operands
        case _:
            return (bound,)


def depends_on(index: ir.Index, variable: str) -> bool:
    """Whether the index depends on a variable."""
    match index:
        case ir.IndexConstant():
            return False
        case ir.IndexVariable(name):
            return name == variable
        case ir.IndexOperation(_, operands):
            return any(depends_on(operand, variable) for operand in operands)
        case _:
            assert_never(index)


def coefficient(index: ir.Index, variable: str) -> int | None:
    """Return by how much the index grows when the variable grows by one; None if that varies.

    >>> coefficient(ir.IndexOperation(ir.IndexOperator.SUBTRACT, (ir.IndexVariable("i"),
    ...     ir.IndexVariable("j"))), "j")
    -1
    """
    match index:
        case ir.IndexConstant():
            return 0
        case ir.IndexVariable(name):
            return int(name == variable)
        case ir.IndexOperation(operator, operands):
            parts = [coefficient(operand, variable) for operand in operands]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            if not any(known):
                return 0 if not depends_on(index, variable) else None
            match operator:
                case ir.IndexOperator.NEGATE:
                    return -known[0]
                case ir.IndexOperator.ADD:
                    return known[0] + known[1]
                case ir.IndexOperator.SUBTRACT:
                    return known[0] - known[1]
                case ir.IndexOperator.MULTIPLY:
                    match operands:
                        case (ir.IndexConstant(value), _):
                            return value * known[1]
                        case (_, ir.IndexConstant(value)):
                            return value * known[0]
                    return None
                case _:
                    return None
        case _:
            assert_never(index)


def strides_along(subscripts: Sequence[ir.Index], variable: str) -> tuple[int, ...] | None:
    """Return the coefficients of a variable in subscripts, None where one of them has none."""
    steps = [coefficient(subscript, variable) for subscript in subscripts]
    known = tuple(step for step in steps if step is not None)
    return known if len(known) == len(steps) else None


def is_monotone(index: ir.Index, variable: str) -> bool:
    """Whether the index only grows, or only falls, with the variable."""
    match index:
        case ir.IndexOperation(ir.IndexOperator.DIVIDE_FLOOR, (dividend, ir.IndexConstant())):
            return coefficient(dividend, variable) is not None
        case ir.IndexOperation(
            ir.IndexOperator.ADD | ir.IndexOperator.SUBTRACT, (first, second)
        ) if not (depends_on(first, variable) and depends_on(second, variable)):
            return is_monotone(first, variable) and is_monotone(second, variable)
        case ir.IndexOperation(ir.IndexOperator.NEGATE, (operand,)):
            return is_monotone(operand, variable)
        case ir.IndexOperation(ir.IndexOperator.MULTIPLY, (ir.IndexConstant(), operand)):
            return is_monotone(operand, variable)
        case _:
            return coefficient(index, variable) is not None


def evaluate_index(index: ir.Index, values: Mapping[str, int]) -> int:
    """Return an index's value where its variables have these values; conditions are 0 or 1.

    >>> evaluate_index(minimum(ir.IndexVariable("i"), ir.IndexOperation(ir.IndexOperator.NEGATE,
    ...     (ir.IndexVariable("j"),))),
    ...          {"i": 3, "j": 5})
    -5
    """
    match index:
        case ir.IndexConstant(value):
            return value
        case ir.IndexVariable(name):
            return values[name]
        case ir.IndexOperation(operator, operands):
            first, *others = (evaluate_index(operand, values) for operand in operands)
            return _EVALUATORS[operator](first, *others)
        case _:
            assert_never(index)


def substitute(index: ir.Index, values: Mapping[str, ir.Index]) -> ir.Index:
    """Return the index with variables replaced."""
    match index:
        case ir.IndexConstant():
            return index
        case ir.IndexVariable(name):
            return values.get(name, index)
        case ir.IndexOperation(operator, operands):
            parts = tuple(substitute(operand, values) for operand in operands)
            match operator, parts:
                case ir.IndexOperator.ADD, (first, ir.IndexConstant(value)):
                    return add_constant(first, value)
                case ir.IndexOperator.SUBTRACT, (first, ir.IndexConstant(value)):
                    return add_constant(first, -value)
                case _:
                    return operator(*parts)
        case _:
            assert_never(index)


def substitute_in(node: ir.Node, values: Mapping[str, ir.Index]) -> ir.Node:
    """Return a node with variables replaced; the node must not bind any of them."""
    match node:
        case ir.Block(children):
            return ir.Block(tuple(substitute_in(child, values) for child in children))
        case ir.Loop(variable, lower, upper, step, body, annotation):
            assert variable not in values
            return ir.Loop(
                variable,
                substitute(lower, values),
                substitute(upper, values),
                step,
                substitute_in(body, values),
                annotation,
            )
        case ir.Guard(condition, then, otherwise):
            return ir.Guard(
                substitute(condition, values),
                substitute_in(then, values),
                None if otherwise is None else substitute_in(otherwise, values),
            )
        case ir.Instance(statement, iterators, write, reads, lanes):
            return ir.Instance(
                statement,
                tuple(substitute(index, values) for index in iterators),
                tuple(substitute(index, values) for index in write),
                tuple(tuple(substitute(index, values) for index in read) for read in reads),
                None if lanes is None else _substitute_in_lanes(lanes, values),
            )
        case _:
            assert_never(node)


def _substitute_in_lanes(lanes: ir.Lanes, values: Mapping[str, ir.Index]) -> ir.Lanes:
    active = None if lanes.active is None else substitute(lanes.active, values)
    return ir.Lanes(lanes.variable, substitute(lanes.base, values), lanes.width, active)
