"""Texts of numbers and functions in comprehensions, in the type of the elements.

Code for ``exp`` runs in vectors, functions of the C library run element by element. In single
precision, ``tanh`` and ``erf`` are therefore written with ``exp``, and with polynomials near zero.
Their error is a few units in the last place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_COMPREHENSION_TYPES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64"}

# tanh(x) = x + x³ P(x²) for |x| < 5/8, erf(x) = x Q(x²) for |x| < 1, 1 - erf(x) = exp(R(x)) for
# 1 ≤ x ≤ 4; beyond 4 erf is 1 in single precision. Polynomials whose largest relative error (of
# erf for R) is least; what is computed by them is within 3e-7 of the value, relatively. Constants
# first.
_TANH = (-0.33333281, 0.13331442, -0.053739704, 0.020639051, -0.0057049496)
_ERF = (
    1.1283791, -0.37612626, 0.11283585, -0.026853811, 0.0051883273, -0.0008010189, 7.8538462e-05,
)  # fmt: skip
_ERFC = (
    -0.00035367231, -1.1270403, -0.63822532, -0.10303767, 0.021805465, -0.0029396450, 0.00018557796,
)  # fmt: skip


def tc_type(dtype: str) -> str:
    """Return a type of elements in the language of comprehensions."""
    return _COMPREHENSION_TYPES[dtype]


def literal_text(value: float, dtype: str) -> str:
    """Return a number as a literal of a type.

    >>> literal_text(0.1, "float32"), literal_text(-2, "int64"), literal_text(-np.inf, "float64")
    ('0.1f', '(-2)', '(-1.0 / 0.0)')
    >>> literal_text(-(2**31), "int32")
    '(-2147483647 - 1)'
    """
    if dtype.startswith("int"):
        least = int(np.iinfo(dtype).min)
        if value == least:
            # Its absolute value is no number of this type.
            return f"({least + 1} - 1)"
        return str(int(value)) if value >= 0 else f"({int(value)})"
    suffix = "f" if dtype == "float32" else ""
    if np.isinf(value):
        return f"({'-' if value < 0 else ''}1.0{suffix} / 0.0{suffix})"
    text = str(np.float32(value) if suffix else np.float64(value))
    text = text if any(mark in text for mark in ".e") else f"{text}.0"
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


@dataclass(frozen=True, slots=True)
class NumberText:
    """Writer of numbers, and of functions that take several operations, in one element type."""

    dtype: str

    def __call__(self, value: float) -> str:
        """Return a number as a literal."""
        return literal_text(float(value), self.dtype)

    def tanh(self, x: str) -> str:
        """Return the hyperbolic tangent of a text."""
        if self.dtype != "float32":
            return f"tanh({x})"
        square = f"({x} * {x})"
        near = f"{x} + {x} * {square} * {_polynomial(_TANH, square)}"
        return f"(abs({x}) < 0.625f ? {near} : 1.0f - 2.0f / (exp(2.0f * {x}) + 1.0f))"

    def erf(self, x: str) -> str:
        """Return the error function of a text."""
        if self.dtype != "float32":
            return f"erf({x})"
        near = f"{x} * {_polynomial(_ERF, f'({x} * {x})')}"
        bounded = f"(abs({x}) > 4.0f ? 4.0f : abs({x}))"  # min would turn NaN into a number
        far = f"1.0f - exp({_polynomial(_ERFC, bounded)})"
        return f"(abs({x}) < 1.0f ? {near} : {x} < 0.0f ? -({far}) : {far})"


def _polynomial(coefficients: Sequence[float], x: str) -> str:
    """Return a polynomial by Horner's rule.

    >>> _polynomial((1.0, 2.0, -3.0), "x")
    '(1.0f + x * (2.0f + x * (-3.0f)))'
    """
    *others, last = coefficients
    result = literal_text(last, "float32")
    for coefficient in reversed(others):
        result = f"({literal_text(coefficient, 'float32')} + {x} * {result})"
    return result
