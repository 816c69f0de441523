"""Values and types of expressions at a point of a comprehension.

Integers wrap in the types that C gives to what is computed with them; floating numbers are all
double here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from polygym.compiler.frontend.tc.syntax import (
    Assign,
    Choice,
    Convert,
    Definition,
    Element,
    Expression,
    Infix,
    Name,
    Number,
    Operator,
    Prefix,
    Prefixed,
    Scalar,
)
from tests.tc.interpreter_state import DTYPES, OutOfRange, State

# The types of what has none of its own: literals and truth values.
WHOLE, REAL, TRUTH = "whole", "real", "truth"
Kind = np.dtype | str
_INT = np.dtype(np.int32)


def declared_type(definition: Definition, name: str) -> np.dtype | None:
    """Return the type of an output that declares one; all floating ones are double here."""
    for one in definition.outputs:
        if one.name == name and one.type is not None:
            return widened(np.dtype(DTYPES[one.type]))
    return None


def widened(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64) if dtype.kind == "f" else dtype


def promoted(one: Kind) -> Kind:
    """Return the type in which C computes with a type."""
    if one == TRUTH:
        return _INT
    return _INT if isinstance(one, np.dtype) and one.kind in "biu" and one.itemsize < 4 else one


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
        case Number(value):
            return WHOLE if isinstance(value, int) else REAL
        case Name(name):
            return state.tensors[name].dtype if name in state.tensors else _INT
        case Element(name, arguments):
            if name in state.tensors:
                return state.tensors[name].dtype
            found = kind(arguments[0], state)
            for argument in arguments[1:]:
                found = unified(found, kind(argument, state))
            if name == "abs":
                return promoted(found)
            whole = found in (WHOLE, TRUTH) or (isinstance(found, np.dtype) and found.kind != "f")
            return np.dtype(np.float64) if whole and name not in ("min", "max") else found
        case Convert(scalar):
            return widened(np.dtype(DTYPES[scalar]))
        case Prefixed(prefix, operand):
            return promoted(kind(operand, state)) if prefix is Prefix.NEGATE else TRUTH
        case Infix(operator, first, second):
            if operator not in ARITHMETIC:
                return TRUTH
            return promoted(unified(kind(first, state), kind(second, state)))
        case Choice(_, then, otherwise):
            return unified(kind(then, state), kind(otherwise, state))
        case _:
            assert_never(part)


ARITHMETIC = (
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.DIVIDE,
    Operator.REMAINDER,
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


def neutral(assign: Assign, dtype: np.dtype) -> Any:
    match assign:
        case Assign.ADD:
            return 0
        case Assign.MULTIPLY:
            return 1
        case Assign.MINIMUM:
            return math.inf if dtype.kind == "f" else largest(dtype)
        case Assign.MAXIMUM:
            return (
                -math.inf if dtype.kind == "f" else -largest(dtype) - 1 if dtype.kind == "i" else 0
            )
        case Assign.SET:
            raise AssertionError


def largest(dtype: np.dtype) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def combined(assign: Assign, before: Any, value: Any) -> Any:
    match assign:
        case Assign.SET:
            return value
        case Assign.ADD:
            return before + value
        case Assign.MULTIPLY:
            return before * value
        case Assign.MINIMUM:
            return min(before, value)
        case Assign.MAXIMUM:
            return max(before, value)
        case _:
            assert_never(assign)


def free_names(part: Expression, state: State) -> list[str]:
    """Return the indices in an expression, in order, repeats kept."""
    match part:
        case Number():
            return []
        case Name(name):
            return [] if name in state.tensors or name in state.values else [name]
        case Element(arguments=arguments):
            return [n for argument in arguments for n in free_names(argument, state)]
        case Convert(operand=operand) | Prefixed(operand=operand):
            return free_names(operand, state)
        case Infix(_, first, second):
            return free_names(first, state) + free_names(second, state)
        case Choice(condition, then, otherwise):
            return [n for one in (condition, then, otherwise) for n in free_names(one, state)]
        case _:
            assert_never(part)


def evaluate(part: Expression, at: Mapping[str, int], state: State) -> Any:
    match part:
        case Number(value):
            return value
        case Name(name):
            if name in at:
                return at[name]
            return state.values[name] if name in state.values else state.tensors[name].item()
        case Element(name, arguments):
            values = [evaluate(argument, at, state) for argument in arguments]
            if name in state.tensors:
                tensor = state.tensors[name]
                if not all(0 <= v < n for v, n in zip(values, tensor.shape, strict=True)):
                    raise OutOfRange(f"{name}{values}")
                return state.tensors[name][tuple(values)].item()
            return called(name, values)
        case Convert(scalar, operand):
            value = evaluate(operand, at, state)
            if scalar in (Scalar.FLOAT, Scalar.DOUBLE):
                return float(DTYPES[scalar](value))
            return converted(value, np.dtype(DTYPES[scalar]))
        case Prefixed(Prefix.NEGATE, operand):
            return converted(-evaluate(operand, at, state), kind(part, state))
        case Prefixed(Prefix.NOT, operand):
            return int(not evaluate(operand, at, state))
        case Infix(Operator.AND, first, second):
            return int(bool(evaluate(first, at, state)) and bool(evaluate(second, at, state)))
        case Infix(Operator.OR, first, second):
            return int(bool(evaluate(first, at, state)) or bool(evaluate(second, at, state)))
        case Infix(operator, first, second):
            within = promoted(unified(kind(first, state), kind(second, state)))
            left = converted(evaluate(first, at, state), within)
            right = converted(evaluate(second, at, state), within)
            found = computed(operator, left, right)
            return converted(found, within) if operator in ARITHMETIC else found
        case Choice(condition, then, otherwise):
            chosen = then if evaluate(condition, at, state) else otherwise
            return converted(evaluate(chosen, at, state), kind(part, state))
        case _:
            assert_never(part)


def computed(operator: Operator, first: Any, second: Any) -> Any:
    match operator:
        case Operator.ADD:
            return first + second
        case Operator.SUBTRACT:
            return first - second
        case Operator.MULTIPLY:
            return first * second
        case Operator.DIVIDE:
            if isinstance(first, int) and isinstance(second, int):
                if not second:
                    return 0
                quotient = abs(first) // abs(second)
                return quotient if (first < 0) == (second < 0) else -quotient
            return first / second
        case Operator.REMAINDER:
            return int(math.fmod(first, second)) if second else 0
        case Operator.LESS:
            return int(first < second)
        case Operator.LESS_EQUAL:
            return int(first <= second)
        case Operator.GREATER:
            return int(first > second)
        case Operator.GREATER_EQUAL:
            return int(first >= second)
        case Operator.EQUAL:
            return int(first == second)
        case Operator.NOT_EQUAL:
            return int(first != second)
        case _:
            raise AssertionError(operator)


def called(name: str, values: list[Any]) -> Any:
    if name in ("max", "fmax", "fmaxf"):
        return max(values)
    if name in ("min", "fmin", "fminf"):
        return min(values)
    if name in ("abs", "fabs", "fabsf"):
        return abs(values[0])
    return getattr(math, name.removesuffix("f") if not hasattr(math, name) else name)(*values)
