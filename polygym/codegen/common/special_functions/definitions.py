"""The functions that the C library has not, of one double; single precision is rounded from them.

Their numbers come from series whose terms are known, and are computed here.

* **sinpi, cospi**: x is taken modulo 2, and to the next multiple of 1/2, both exactly; what is
  left, s with |s| ≤ 1/4, times π has two parts: sin(p + e) = sin(p) + e·cos(p).
* **normcdf(x)** = erfc(-x/√2) / 2. What rounding loses of x/√2 would count x² times as much in the
  result, so it is added by the derivative: erfc(a + e) = erfc(a) - e·2/√π·exp(-a²).
* **erfcx(x)** = exp(x²)·erfc(x), with x² in two parts; above 10 the asymptotic series
  (1 - 1/(2x²) + 1·3/(2x²)² - …) / (x√π), of which 14 terms leave 10⁻¹⁷.
* **erfinv(y)**, in the middle, |y| ≤ 1/2, is Taylor's series in y·√π/2, whose terms fall like
  4⁻ᵏ. Outside it is the x with erfc(x) = c, c = 1 - |y| (exact there). Since
  erfc(x) = exp(-x²)·erfcx(x), that is where g(x) = x² - log(erfcx(x)) + log(c) is 0, which loses
  nothing, however small c is. g'(x) = 2 / (√π·erfcx(x)) and g'' = g'·(g' - 2x), so a step of
  Halley's costs little more than one of Newton's; two of them from a guess that is right in two
  digits are enough.
* **erfcinv(c)** and **normcdfinv(p)** = -√2·erfcinv(2p) are made of the same.
* **cyl_bessel_i0, cyl_bessel_i1**: up to 30 the power series in t = x²/4, all of whose terms have
  one sign. What rounding loses of t counts up to 15 times as much in the result, so it is added by
  the derivative, which is 2 / (ν + √(x² + ν²)) times the series with ν = 1/2 or 3/2, within a
  few percent. Above 30 the asymptotic series times exp(x) / √(2πx), with exp(x) as a square,
  since it overflows before the product does.

What several of the functions are made of.

A constant of twice the digits is a sum of two doubles, ``high + low``. Its product with x is too:
``fma`` gives what the product loses in rounding, exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from math import factorial, inf, pi, sqrt

from polygym.codegen.common.special_functions.operations import (
    OperationList,
    SpecialOperation,
    TracedValue,
)
from polygym.ir.expressions import MathFunction
from polygym.ir.expressions import MathFunction as Function

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


_ERFCX_ASYMPTOTIC = 10.0
"""Above it erfcx is an asymptotic series."""

_SMALLEST_DOUBLE = 5e-324
"""The smallest number above 0."""

_BESSEL_ASYMPTOTIC = 30.0
"""Above it Bessel's functions are asymptotic series."""


def _half_turns(x: TracedValue) -> tuple[TracedValue, TracedValue, TracedValue]:
    """Return q, sin(πs) and cos(πs), where x is q/2 + s modulo 2, and q is -2 to 2."""
    rest = x.call(Function.REMAINDER, 2.0)
    quarter = (rest * 2.0).call(Function.RINT)
    angle, lost = product_with_constant(rest - quarter * 0.5, PI)
    sine, cosine = angle.call(Function.SIN), angle.call(Function.COS)
    return quarter, sine + lost * cosine, cosine - lost * sine


def _sinpi(x: TracedValue) -> TracedValue:
    quarter, sine, cosine = _half_turns(x)
    odd = signed_as(cosine, quarter)
    even = absolute(quarter).select_below(1.0, sine, 0.0 - sine)
    result = _is_odd(quarter, odd, even)
    zero = signed_as(result.constant(0.0), x)
    return absolute(result).select_below(_SMALLEST_DOUBLE, zero, result)


def _cospi(x: TracedValue) -> TracedValue:
    quarter, sine, cosine = _half_turns(x)
    odd = quarter.select_below(0.0, sine, 0.0 - sine)
    even = absolute(quarter).select_below(1.0, cosine, 0.0 - cosine)
    return _is_odd(quarter, odd, even) + 0.0


def _is_odd(quarter: TracedValue, odd: TracedValue, even: TracedValue) -> TracedValue:
    """Choose by whether |q| is 1, or 0 or 2."""
    return absolute(absolute(quarter) - 1.0).select_below(0.5, odd, even)


def _normcdf(x: TracedValue) -> TracedValue:
    at, lost = product_with_constant(0.0 - clamped(x, -40.0, 40.0), ROOT_HALF)
    slope = (0.0 - at * at).call(Function.EXP) * (2.0 / ROOT_PI)
    return (at.call(Function.ERFC) - lost * slope) * 0.5


@cache
def _partial_products(terms: int, factor: Callable[[int], float]) -> tuple[float, ...]:
    """Return the products of the first factors, beginning with none."""
    return tuple(accumulate((factor(k) for k in range(1, terms)), lambda a, b: a * b, initial=1.0))


def _erfcx(x: TracedValue) -> TracedValue:
    near = clamped(x, -30.0, _ERFCX_ASYMPTOTIC)
    square, lost = exact_product(near, near)
    power = square.call(Function.EXP) * (1.0 + lost)  # which may be infinite
    close = power * near.call(Function.ERFC)
    terms = _partial_products(14, _odd_factor)
    distant = polynomial(0.5 / (x * x), terms) * (1.0 / ROOT_PI) / x
    return x.constant(_ERFCX_ASYMPTOTIC).select_below(x, distant, close)


def _odd_factor(k: int) -> float:
    return -(2.0 * k - 1.0)


@cache
def _erfinv_coefficients(terms: int) -> tuple[float, ...]:
    """Return those of erfinv(y) / y in powers of y²."""
    known = [1.0]
    for k in range(1, terms):
        known.append(sum(known[m] * known[k - 1 - m] / ((m + 1) * (2 * m + 1)) for m in range(k)))
    return tuple(known[k] / (2 * k + 1) * (sqrt(pi) / 2) ** (2 * k + 1) for k in range(terms))


def _erfinv_middle(y: TracedValue) -> TracedValue:
    """Return erfinv of a value whose size is 1/2 at most."""
    return y * polynomial(y * y, _erfinv_coefficients(28))


def _erfcinv_tail(c: TracedValue) -> TracedValue:
    """Return the x with erfc(x) = c, where c is 1/2 at most."""
    logarithm = c.call(Function.LOG)
    both = logarithm + (2.0 - c).call(Function.LOG)
    shape = 0.147
    half = both * 0.5 + 2.0 / (pi * shape)
    x = ((half * half - both / shape).call(Function.SQRT) - half).call(Function.SQRT)
    for _ in range(2):
        scaled = _erfcx(x)
        slope = (2.0 / ROOT_PI) / scaled
        step = ((x * x - scaled.call(Function.LOG)) + logarithm) / slope
        x = x - step / (1.0 - step * (slope - 2.0 * x) * 0.5)
    return c.select_below(
        _SMALLEST_DOUBLE, c.select_below(0.0, logarithm, inf), x
    )  # below 0 that is NaN


def _erfinv(y: TracedValue) -> TracedValue:
    size = absolute(y)
    return size.constant(0.5).select_below(
        size, signed_as(_erfcinv_tail(1.0 - size), y), _erfinv_middle(y)
    )


def _erfcinv(c: TracedValue) -> TracedValue:
    return _erfcinv_from_middle(c, 1.0 - c)


def _normcdfinv(p: TracedValue) -> TracedValue:
    twice = p * 2.0
    return _erfcinv_from_middle(twice, 1.0 - twice) * -sqrt(2.0) + 0.0


def _erfcinv_from_middle(c: TracedValue, middle: TracedValue) -> TracedValue:
    """Return erfcinv of c, where ``middle`` is 1 - c."""
    outside = _erfcinv_tail(c.select_below(1.0, c, 2.0 - c))
    outside = c.select_below(1.0, outside, 0.0 - outside)
    return absolute(middle).select_below(0.5, _erfinv_middle(middle), outside)


def _bessel(x: TracedValue, order: int) -> TracedValue:
    """Return the modified Bessel function of the first kind of |x|, of order 0 or 1."""
    size, low = absolute(x), order + 0.5
    near = clamped(size, 0.0, _BESSEL_ASYMPTOTIC)
    series = [1.0 / (factorial(k) * factorial(k + order)) for k in range(48)]
    square, lost = exact_product(near, near)
    close = polynomial(square * 0.25, series)
    close = close + close * (lost * 0.5 / ((near * near + low * low).call(Function.SQRT) + low))
    if order:
        close = close * (near * 0.5)
    distant_at = clamped(size, _BESSEL_ASYMPTOTIC, 800.0)
    terms = _partial_products(26, _even_factor if order == 0 else _uneven_factor)
    root = (distant_at * 0.5).call(Function.EXP)
    scaled = polynomial(1.0 / distant_at, terms) / (distant_at * (2.0 * pi)).call(Function.SQRT)
    return size.constant(_BESSEL_ASYMPTOTIC).select_below(size, root * scaled * root, close)


def _even_factor(k: int) -> float:
    return (2.0 * k - 1.0) ** 2 / (8.0 * k)


def _uneven_factor(k: int) -> float:
    return ((2.0 * k - 1.0) ** 2 - 4.0) / (8.0 * k)


_DEFINITIONS: Mapping[Function, Callable[[TracedValue], TracedValue]] = {
    Function.SINPI: _sinpi,
    Function.COSPI: _cospi,
    Function.NORMCDF: _normcdf,
    Function.NORMCDFINV: _normcdfinv,
    Function.ERFCX: _erfcx,
    Function.ERFINV: _erfinv,
    Function.ERFCINV: _erfcinv,
    Function.BESSEL_I0: lambda x: _bessel(x, 0),
    Function.BESSEL_I1: lambda x: signed_as(_bessel(x, 1), x),
    Function.EXP10: lambda x: x.constant(10.0).call(Function.POW, x),
}

SPECIAL_FUNCTIONS = frozenset(_DEFINITIONS)
"""The functions that have a definition here."""


@cache
def operations_of(function: Function) -> tuple[tuple[SpecialOperation, ...], int]:
    """Return the operations of a function, and the number of the one that is its result."""
    steps = OperationList()
    result = _DEFINITIONS[function](steps.argument)
    return tuple(steps.operations), result.number
