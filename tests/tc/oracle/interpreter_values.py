"""Values and types of expressions at a point of a comprehension.

Integers wrap in the types that C gives to what is computed with them; floating numbers are all
double here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from polygym.frontend.tc.syntax.tree import (
    AssignKind,
    ConditionalExpression,
    ConvertExpression,
    ElementOrCall,
    ElementType,
    Expression,
    InfixExpression,
    InfixOperator,
    NameUse,
    NumberLiteral,
    PrefixExpression,
    PrefixOperator,
    TcDefinition,
)
from tests.tc.oracle.interpreter_state import DTYPES, OutOfRange, State

# The types of what has none of its own: literals and truth values.
WHOLE, REAL, TRUTH = "whole", "real", "truth"
Kind = np.dtype | str
_INT = np.dtype(np.int32)


def declared_type(definition: TcDefinition, name: str) -> np.dtype | None:
    """Return the type of an output that declares one; all floating ones are double here."""
    for tc_output in definition.outputs:
        if tc_output.name == name and tc_output.type is not None:
            return widened(np.dtype(DTYPES[tc_output.type]))
    return None


def widened(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def promoted(operand: Kind) -> Kind:
    """Return the type in which C computes with a type."""
    if operand == TRUTH:
        return _INT
    return (
        _INT
        if isinstance(operand, np.dtype) and operand.kind in "biu" and operand.itemsize < 4
        else operand
    )


def unified(one: Kind, other: Kind) -> Kind:
    """Return C's type of two operands."""
    if one == other:
        return one
    one, other = (_INT if k == TRUTH else k for k in (one, other))
    if isinstance(one, str) or isinstance(other, str):
        strong, weak = (other, one) if isinstance(one, str) else (one, other)
        if isinstance(strong, str):
            return REAL if REAL in (one, other) else WHOLE
        return np.dtype(np.float64) if weak == REAL and strong.kind != "f" else strong
    first, second = promoted(one), promoted(other)
    assert isinstance(first, np.dtype)
    assert isinstance(second, np.dtype)
    order = ("int32", "uint32", "int64", "uint64", "float64")
    return max(first, second, key=lambda dtype: order.index(dtype.name))


def kind(part: Expression, state: State) -> Kind:
    """Return the type of an expression."""
    match part:
        case NumberLiteral(value):
            return WHOLE if isinstance(value, int) else REAL
        case NameUse(name):
            return state.tensors[name].dtype if name in state.tensors else _INT
        case ElementOrCall(name, arguments):
            if name in state.tensors:
                return state.tensors[name].dtype
            result = kind(arguments[0], state)
            for argument in arguments[1:]:
                result = unified(result, kind(argument, state))
            if name == "abs":
                return promoted(result)
            whole = result in (WHOLE, TRUTH) or (
                isinstance(result, np.dtype) and result.kind != "f"
            )
            return np.dtype(np.float64) if whole and name not in ("min", "max") else result
        case ConvertExpression(scalar):
            return widened(np.dtype(DTYPES[scalar]))
        case PrefixExpression(prefix, operand):
            return promoted(kind(operand, state)) if prefix is PrefixOperator.NEGATE else TRUTH
        case InfixExpression(operator, first, second):
            if operator not in ARITHMETIC:
                return TRUTH
            return promoted(unified(kind(first, state), kind(second, state)))
        case ConditionalExpression(_, then, otherwise):
            return unified(kind(then, state), kind(otherwise, state))
        case _:
            assert_never(part)


ARITHMETIC = (
    InfixOperator.ADD,
    InfixOperator.SUBTRACT,
    InfixOperator.MULTIPLY,
    InfixOperator.DIVIDE,
    InfixOperator.REMAINDER,
)


def converted(value: Any, to: Kind) -> Any:
    """Return a value in a type: integers wrap, floating numbers that do not fit saturate."""
    if isinstance(to, str):
        return value
    if to.kind == "f":
        return float(value)
    if to.kind == "b":
        return bool(value)
    info = np.iinfo(to)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        return (
            int(max(info.min, min(info.max, value)))
            if math.isinf(value)
            else max(info.min, min(info.max, math.trunc(value)))
        )
    return (int(value) - info.min) % (info.max - info.min + 1) + info.min


def neutral(assign: AssignKind, dtype: np.dtype) -> Any:
    match assign:
        case AssignKind.ADD:
            return 0
        case AssignKind.MULTIPLY:
            return 1
        case AssignKind.MINIMUM:
            return math.inf if dtype.kind == "f" else largest(dtype)
        case AssignKind.MAXIMUM:
            return (
                -math.inf if dtype.kind == "f" else -largest(dtype) - 1 if dtype.kind == "i" else 0
            )
        case AssignKind.SET:
            raise AssertionError


def largest(dtype: np.dtype) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def combined(assign: AssignKind, before: Any, value: Any) -> Any:
    match assign:
        case AssignKind.SET:
            return value
        case AssignKind.ADD:
            return before + value
        case AssignKind.MULTIPLY:
            return before * value
        case AssignKind.MINIMUM:
            return min(before, value)
        case AssignKind.MAXIMUM:
            return max(before, value)
        case _:
            assert_never(assign)


def free_names(part: Expression, state: State) -> list[str]:
    """Return the indices in an expression, in order, repeats kept."""
    match part:
        case NumberLiteral():
            return []
        case NameUse(name):
            return [] if name in state.tensors or name in state.values else [name]
        case ElementOrCall(arguments=arguments):
            return [n for argument in arguments for n in free_names(argument, state)]
        case ConvertExpression(operand=operand) | PrefixExpression(operand=operand):
            return free_names(operand, state)
        case InfixExpression(_, first, second):
            return free_names(first, state) + free_names(second, state)
        case ConditionalExpression(condition, then, otherwise):
            return [
                n
                for expression in (condition, then, otherwise)
                for n in free_names(expression, state)
            ]
        case _:
            assert_never(part)


def evaluate(part: Expression, at: Mapping[str, int], state: State) -> Any:
    match part:
        case NumberLiteral(value):
            return value
        case NameUse(name):
            if name in at:
                return at[name]
            return state.values[name] if name in state.values else state.tensors[name].item()
        case ElementOrCall(name, arguments):
            values = [evaluate(argument, at, state) for argument in arguments]
            if name in state.tensors:
                tensor = state.tensors[name]
                if not all(0 <= v < n for v, n in zip(values, tensor.shape, strict=True)):
                    raise OutOfRange(f"{name}{values}")
                return state.tensors[name][tuple(values)].item()
            return called(name, values)
        case ConvertExpression(scalar, operand):
            value = evaluate(operand, at, state)
            if scalar in (ElementType.FLOAT, ElementType.DOUBLE):
                return float(DTYPES[scalar](value))
            return converted(value, np.dtype(DTYPES[scalar]))
        case PrefixExpression(PrefixOperator.NEGATE, operand):
            return converted(-evaluate(operand, at, state), kind(part, state))
        case PrefixExpression(PrefixOperator.NOT, operand):
            return int(not evaluate(operand, at, state))
        case InfixExpression(InfixOperator.AND, first, second):
            return int(bool(evaluate(first, at, state)) and bool(evaluate(second, at, state)))
        case InfixExpression(InfixOperator.OR, first, second):
            return int(bool(evaluate(first, at, state)) or bool(evaluate(second, at, state)))
        case InfixExpression(operator, first, second):
            within = promoted(unified(kind(first, state), kind(second, state)))
            left = converted(evaluate(first, at, state), within)
            right = converted(evaluate(second, at, state), within)
            result = computed(operator, left, right)
            return converted(result, within) if operator in ARITHMETIC else result
        case ConditionalExpression(condition, then, otherwise):
            chosen = then if evaluate(condition, at, state) else otherwise
            return converted(evaluate(chosen, at, state), kind(part, state))
        case _:
            assert_never(part)


def computed(operator: InfixOperator, first: Any, second: Any) -> Any:
    match operator:
        case InfixOperator.ADD:
            return first + second
        case InfixOperator.SUBTRACT:
            return first - second
        case InfixOperator.MULTIPLY:
            return first * second
        case InfixOperator.DIVIDE:
            if isinstance(first, int) and isinstance(second, int):
                if not second:
                    return 0
                quotient = abs(first) // abs(second)
                return quotient if (first < 0) == (second < 0) else -quotient
            return first / second
        case InfixOperator.REMAINDER:
            return int(math.fmod(first, second)) if second else 0
        case InfixOperator.LESS:
            return int(first < second)
        case InfixOperator.LESS_EQUAL:
            return int(first <= second)
        case InfixOperator.GREATER:
            return int(first > second)
        case InfixOperator.GREATER_EQUAL:
            return int(first >= second)
        case InfixOperator.EQUAL:
            return int(first == second)
        case InfixOperator.NOT_EQUAL:
            return int(first != second)
        case _:
            raise AssertionError(operator)


def called(name: str, values: list[Any]) -> Any:
    if name in ("max", "maximum", "min", "minimum"):
        nan = next((value for value in values if value != value), None)
        return nan if nan is not None else (max if name.startswith("max") else min)(values)
    if name in ("fmax", "fmaxf", "fmin", "fminf"):
        numbers = [value for value in values if value == value] or values
        return (max if name.startswith("fmax") else min)(numbers)
    if name in ("abs", "fabs", "fabsf"):
        return abs(values[0])
    return getattr(math, name.removesuffix("f") if not hasattr(math, name) else name)(*values)
