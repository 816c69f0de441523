"""What several of the functions are made of.

A constant of twice the digits is a sum of two doubles, ``high + low``. Its product with x is too:
``fma`` gives what the product loses in rounding, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.compiler.codegen.common.special.steps import Value
from polygym.compiler.ir.expr import MathFunction

PI = (3.141592653589793, 1.2246467991473532e-16)
ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)
ROOT_PI = 1.7724538509055159


def exact_product(value: Value, other: Value | float) -> tuple[Value, Value]:
    """Return a rounded product and what rounding has lost of it."""
    product = value * other
    return product, value.call(MathFunction.FMA, other, 0.0 - product)


def times(value: Value, constant: tuple[float, float]) -> tuple[Value, Value]:
    """Return the product with a constant of twice the digits, in two parts."""
    high, low = constant
    product, lost = exact_product(value, high)
    return product, lost + value * low


def polynomial(value: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of coefficient times power, the constant one first, by Horner's rule."""
    result = value.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * value + coefficient
    return result


def clamped(value: Value, least: float, greatest: float) -> Value:
    """Return a value no smaller and no larger than two limits; NaN stays NaN."""
    value = value.below(least, least, value)
    return value.like(greatest).below(value, greatest, value)


def absolute(value: Value) -> Value:
    """Return the absolute value."""
    return value.call(MathFunction.FABS)


def signed_as(value: Value, other: Value) -> Value:
    """Return a value with another's sign."""
    return value.call(MathFunction.COPYSIGN, other)
