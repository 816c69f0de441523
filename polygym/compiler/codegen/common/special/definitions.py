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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from math import factorial, inf, pi, sqrt

from polygym.compiler.codegen.common.special.pieces import (
    PI,
    ROOT_HALF,
    ROOT_PI,
    absolute,
    clamped,
    exact_product,
    polynomial,
    signed_as,
    times,
)
from polygym.compiler.codegen.common.special.steps import Step, Steps, Value
from polygym.compiler.ir.expr import MathFunction as Function

_FAR = 10.0
"""Above it erfcx is an asymptotic series."""

_LEAST = 5e-324
"""The smallest number above 0."""

_LARGE = 30.0
"""Above it Bessel's functions are asymptotic series."""


def _half_turns(x: Value) -> tuple[Value, Value, Value]:
    """Return q, sin(πs) and cos(πs), where x is q/2 + s modulo 2, and q is -2 to 2."""
    rest = x.call(Function.REMAINDER, 2.0)
    quarter = (rest * 2.0).call(Function.RINT)
    angle, lost = times(rest - quarter * 0.5, PI)
    sine, cosine = angle.call(Function.SIN), angle.call(Function.COS)
    return quarter, sine + lost * cosine, cosine - lost * sine


def _sinpi(x: Value) -> Value:
    quarter, sine, cosine = _half_turns(x)
    odd = signed_as(cosine, quarter)
    even = absolute(quarter).below(1.0, sine, 0.0 - sine)
    result = _is_odd(quarter, odd, even)
    zero = signed_as(result.like(0.0), x)
    return absolute(result).below(_LEAST, zero, result)


def _cospi(x: Value) -> Value:
    quarter, sine, cosine = _half_turns(x)
    odd = quarter.below(0.0, sine, 0.0 - sine)
    even = absolute(quarter).below(1.0, cosine, 0.0 - cosine)
    return _is_odd(quarter, odd, even) + 0.0


def _is_odd(quarter: Value, odd: Value, even: Value) -> Value:
    """Choose by whether |q| is 1, or 0 or 2."""
    return absolute(absolute(quarter) - 1.0).below(0.5, odd, even)


def _normcdf(x: Value) -> Value:
    at, lost = times(0.0 - clamped(x, -40.0, 40.0), ROOT_HALF)
    slope = (0.0 - at * at).call(Function.EXP) * (2.0 / ROOT_PI)
    return (at.call(Function.ERFC) - lost * slope) * 0.5


@cache
def _asymptotic(terms: int, factor: Callable[[int], float]) -> tuple[float, ...]:
    """Return the products of the first factors, beginning with none."""
    return tuple(accumulate((factor(k) for k in range(1, terms)), lambda a, b: a * b, initial=1.0))


def _erfcx(x: Value) -> Value:
    near = clamped(x, -30.0, _FAR)
    square, lost = exact_product(near, near)
    power = square.call(Function.EXP) * (1.0 + lost)  # which may be infinite
    close = power * near.call(Function.ERFC)
    terms = _asymptotic(14, _odd_factor)
    distant = polynomial(0.5 / (x * x), terms) * (1.0 / ROOT_PI) / x
    return x.like(_FAR).below(x, distant, close)


def _odd_factor(k: int) -> float:
    return -(2.0 * k - 1.0)


@cache
def _middle_coefficients(terms: int) -> tuple[float, ...]:
    """Return those of erfinv(y) / y in powers of y²."""
    known = [1.0]
    for k in range(1, terms):
        known.append(sum(known[m] * known[k - 1 - m] / ((m + 1) * (2 * m + 1)) for m in range(k)))
    return tuple(known[k] / (2 * k + 1) * (sqrt(pi) / 2) ** (2 * k + 1) for k in range(terms))


def _middle(y: Value) -> Value:
    """Return erfinv of a value whose size is 1/2 at most."""
    return y * polynomial(y * y, _middle_coefficients(28))


def _tail(c: Value) -> Value:
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
    return c.below(_LEAST, c.below(0.0, logarithm, inf), x)  # below 0 that is NaN


def _erfinv(y: Value) -> Value:
    size = absolute(y)
    return size.like(0.5).below(size, signed_as(_tail(1.0 - size), y), _middle(y))


def _erfcinv(c: Value) -> Value:
    return _complement(c, 1.0 - c)


def _normcdfinv(p: Value) -> Value:
    twice = p * 2.0
    return _complement(twice, 1.0 - twice) * -sqrt(2.0) + 0.0


def _complement(c: Value, middle: Value) -> Value:
    """Return erfcinv of c, where ``middle`` is 1 - c."""
    outside = _tail(c.below(1.0, c, 2.0 - c))
    outside = c.below(1.0, outside, 0.0 - outside)
    return absolute(middle).below(0.5, _middle(middle), outside)


def _bessel(x: Value, order: int) -> Value:
    """Return the modified Bessel function of the first kind of |x|, of order 0 or 1."""
    size, low = absolute(x), order + 0.5
    near = clamped(size, 0.0, _LARGE)
    series = [1.0 / (factorial(k) * factorial(k + order)) for k in range(48)]
    square, lost = exact_product(near, near)
    close = polynomial(square * 0.25, series)
    close = close + close * (lost * 0.5 / ((near * near + low * low).call(Function.SQRT) + low))
    if order:
        close = close * (near * 0.5)
    distant_at = clamped(size, _LARGE, 800.0)
    terms = _asymptotic(26, _even_factor if order == 0 else _uneven_factor)
    root = (distant_at * 0.5).call(Function.EXP)
    scaled = polynomial(1.0 / distant_at, terms) / (distant_at * (2.0 * pi)).call(Function.SQRT)
    return size.like(_LARGE).below(size, root * scaled * root, close)


def _even_factor(k: int) -> float:
    return (2.0 * k - 1.0) ** 2 / (8.0 * k)


def _uneven_factor(k: int) -> float:
    return ((2.0 * k - 1.0) ** 2 - 4.0) / (8.0 * k)


_DEFINITIONS: Mapping[Function, Callable[[Value], Value]] = {
    Function.SINPI: _sinpi,
    Function.COSPI: _cospi,
    Function.NORMCDF: _normcdf,
    Function.NORMCDFINV: _normcdfinv,
    Function.ERFCX: _erfcx,
    Function.ERFINV: _erfinv,
    Function.ERFCINV: _erfcinv,
    Function.BESSEL_I0: lambda x: _bessel(x, 0),
    Function.BESSEL_I1: lambda x: signed_as(_bessel(x, 1), x),
    Function.EXP10: lambda x: x.like(10.0).call(Function.POW, x),
}

SPECIAL = frozenset(_DEFINITIONS)
"""The functions that have a definition here."""


@cache
def steps_of(function: Function) -> tuple[tuple[Step, ...], int]:
    """Return the operations of a function, and the number of the one that is its result."""
    steps = Steps()
    result = _DEFINITIONS[function](steps.argument)
    return tuple(steps.listed), result.number
