"""Operators of expressions on NumPy scalars: integers wrap, floats round as their type says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.ir.expressions import BinaryOperator, MathFunction
from polygym.ir.types import ScalarType

NUMPY_TYPES: dict[ScalarType, type[np.generic]] = {
    ScalarType.BOOL: np.bool_,
    ScalarType.BYTE: np.int8,
    ScalarType.UNSIGNED_BYTE: np.uint8,
    ScalarType.SHORT: np.int16,
    ScalarType.UNSIGNED_SHORT: np.uint16,
    ScalarType.INT: np.int32,
    ScalarType.UNSIGNED: np.uint32,
    ScalarType.LONG: np.int64,
    ScalarType.UNSIGNED_LONG: np.uint64,
    ScalarType.HALF: np.float16,
    ScalarType.FLOAT: np.float32,
    ScalarType.DOUBLE: np.float64,
}
"""The types of NumPy's scalars; bfloat16 has none."""


def numpy_type(scalar: ScalarType) -> type[np.generic]:
    """Return the type of NumPy's scalars.

    Raises:
        InputError: it is bfloat16.
    """
    if scalar not in NUMPY_TYPES:
        raise InputError(f"emulator: expected a type of NumPy, found {scalar.value}")
    return NUMPY_TYPES[scalar]


def converted(scalar: ScalarType, value: Any) -> Any:
    """Return a value as C converts it; what fits no integer becomes the least one."""
    kind: Any = numpy_type(scalar)
    if scalar is ScalarType.BOOL:
        return np.bool_(value != 0)
    if scalar.is_floating:
        return kind(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        if not math.isfinite(number) or not scalar.lowest <= math.trunc(number) <= scalar.highest:
            return kind(scalar.lowest)
        return kind(math.trunc(number))
    return wrapped(scalar, int(value))


def wrapped(scalar: ScalarType, value: int) -> Any:
    """Return an integer cut off to a type."""
    kind: Any = numpy_type(scalar)
    size = 1 << scalar.bits
    return kind((value - scalar.lowest) % size + scalar.lowest)


def binary(operator: BinaryOperator, scalar: ScalarType) -> Callable[[Any, Any], Any]:
    """Return an operator on two values of a type."""
    if scalar.is_floating:
        kind: Any = numpy_type(scalar)
        operation = _FLOATING[operator]
        return lambda left, right: kind(operation(left, right))
    whole = _INTEGER[operator]
    return lambda left, right: wrapped(scalar, whole(int(left), int(right), scalar.bits))


_FLOATING: dict[BinaryOperator, Callable[[Any, Any], Any]] = {
    BinaryOperator.ADD: lambda left, right: left + right,
    BinaryOperator.SUBTRACT: lambda left, right: left - right,
    BinaryOperator.MULTIPLY: lambda left, right: left * right,
    BinaryOperator.DIVIDE: lambda left, right: left / right,
}


def _quotient(left: int, right: int, _: int) -> int:
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


_INTEGER: dict[BinaryOperator, Callable[[int, int, int], int]] = {
    BinaryOperator.ADD: lambda left, right, _: left + right,
    BinaryOperator.SUBTRACT: lambda left, right, _: left - right,
    BinaryOperator.MULTIPLY: lambda left, right, _: left * right,
    BinaryOperator.DIVIDE: _quotient,
    BinaryOperator.REMAINDER: lambda left, right, bits: left - right * _quotient(left, right, bits),
    BinaryOperator.SHIFT_LEFT: lambda left, right, bits: left << (right % bits),
    BinaryOperator.SHIFT_RIGHT: lambda left, right, bits: left >> (right % bits),
    BinaryOperator.BIT_AND: lambda left, right, _: left & right,
    BinaryOperator.BIT_OR: lambda left, right, _: left | right,
    BinaryOperator.BIT_XOR: lambda left, right, _: left ^ right,
}


def _each(routine: Callable[..., float]) -> Callable[..., float]:
    return lambda *values: routine(*map(float, values))


_FUNCTIONS: dict[MathFunction, Callable[..., Any]] = {
    MathFunction.SQRT: np.sqrt,
    MathFunction.CBRT: np.cbrt,
    MathFunction.EXP: np.exp,
    MathFunction.EXPONENTIAL: np.exp,
    MathFunction.EXP2: np.exp2,
    MathFunction.EXP10: lambda value: np.power(10.0, value),
    MathFunction.EXPM1: np.expm1,
    MathFunction.LOG: np.log,
    MathFunction.LOG2: np.log2,
    MathFunction.LOG10: np.log10,
    MathFunction.LOG1P: np.log1p,
    MathFunction.POW: np.power,
    MathFunction.HYPOT: np.hypot,
    MathFunction.SIN: np.sin,
    MathFunction.COS: np.cos,
    MathFunction.TAN: np.tan,
    MathFunction.ASIN: np.arcsin,
    MathFunction.ACOS: np.arccos,
    MathFunction.ATAN: np.arctan,
    MathFunction.ATAN2: np.arctan2,
    MathFunction.SINH: np.sinh,
    MathFunction.COSH: np.cosh,
    MathFunction.TANH: np.tanh,
    MathFunction.ASINH: np.arcsinh,
    MathFunction.ACOSH: np.arccosh,
    MathFunction.ATANH: np.arctanh,
    MathFunction.ERF: _each(math.erf),
    MathFunction.ERFC: _each(math.erfc),
    MathFunction.TGAMMA: _each(math.gamma),
    MathFunction.LGAMMA: _each(math.lgamma),
    MathFunction.FABS: np.fabs,
    MathFunction.FLOOR: np.floor,
    MathFunction.CEIL: np.ceil,
    MathFunction.TRUNC: np.trunc,
    MathFunction.ROUND: lambda value: np.copysign(np.floor(np.fabs(value) + 0.5), value),
    MathFunction.RINT: np.rint,
    MathFunction.FMOD: np.fmod,
    MathFunction.REMAINDER: _each(math.remainder),
    MathFunction.FDIM: lambda left, right: np.fmax(left - right, 0),
    MathFunction.NEXTAFTER: np.nextafter,
    MathFunction.FMIN: np.fmin,
    MathFunction.FMAX: np.fmax,
    MathFunction.MINIMUM: np.minimum,
    MathFunction.MAXIMUM: np.maximum,
    MathFunction.FMA: lambda left, right, term: np.float64(left) * right + term,
    MathFunction.COPYSIGN: np.copysign,
    MathFunction.NORMCDF: lambda value: 0.5 * math.erfc(-float(value) / math.sqrt(2)),
}


def called(function: Any, scalar: ScalarType) -> Callable[..., Any]:
    """Return a function that returns a type.

    Raises:
        InputError: NumPy has none of it.
    """
    if function is MathFunction.ABS:
        return lambda value: wrapped(scalar, abs(int(value)))
    if function not in _FUNCTIONS:
        raise InputError(f"emulator: expected a function of NumPy, found {function}")
    routine, kind = _FUNCTIONS[function], numpy_type(scalar)
    return lambda *values: kind(routine(*values))
