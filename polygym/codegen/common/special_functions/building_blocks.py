"""What several of the functions are made of.

A constant of twice the digits is a sum of two doubles, ``high + low``. Its product with x is too:
``fma`` gives what the product loses in rounding, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.codegen.common.special_functions.operations import TracedValue
from polygym.ir.expressions import MathFunction

PI = (3.141592653589793, 1.2246467991473532e-16)
ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)
ROOT_PI = 1.7724538509055159


def exact_product(
    value: TracedValue, other: TracedValue | float
) -> tuple[TracedValue, TracedValue]:
    """Return a rounded product and what rounding has lost of it."""
    product = value * other
    return product, value.call(MathFunction.FMA, other, 0.0 - product)


def product_with_constant(
    value: TracedValue, constant: tuple[float, float]
) -> tuple[TracedValue, TracedValue]:
    """Return the product with a constant of twice the digits, in two parts."""
    high, low = constant
    product, lost = exact_product(value, high)
    return product, lost + value * low


def polynomial(value: TracedValue, coefficients: Sequence[float]) -> TracedValue:
    """Return the sum of coefficient times power, the constant one first, by Horner's rule."""
    result = value.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * value + coefficient
    return result


def clamped(value: TracedValue, least: float, greatest: float) -> TracedValue:
    """Return a value no smaller and no larger than two limits; NaN stays NaN."""
    value = value.select_below(least, least, value)
    return value.constant(greatest).select_below(value, greatest, value)


def absolute(value: TracedValue) -> TracedValue:
    """Return the absolute value."""
    return value.call(MathFunction.FABS)


def signed_as(value: TracedValue, other: TracedValue) -> TracedValue:
    """Return a value with another's sign."""
    return value.call(MathFunction.COPYSIGN, other)
