"""Functions of elements as texts of comprehensions, in the type of the elements.

Code for ``exp`` runs in vectors; for single precision ``tanh`` and ``erf`` are written by it, and
by polynomials near zero, to within a few units in the last place: the C library's run element by
element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polygym.errors import InputError
from polygym.graphs.execution.ir.nests import Expression, TextTemplate
from polygym.rewrite.term import Head

__all__ = ["ACTIVATION", "apply_function", "literal_text", "tc_type"]

ACTIVATION = "activation "
"""Before the name of a function: it belongs to the product before it, and never stands alone."""

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

_BINARY_TEXT = {
    "ewadd": "{0} + {1}",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "ewmul": "{0} * {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "minimum": "min({0}, {1})",
    "maximum": "max({0}, {1})",
}


def tc_type(dtype: str) -> str:
    """Return a type of elements in the language of comprehensions."""
    return _COMPREHENSION_TYPES[dtype]


def literal_text(value: float, dtype: str) -> str:
    """Return a number as a literal of a type.

    >>> number(0.1, "float32"), number(-2, "int64"), number(float("-inf"), "float64")
    ('0.1f', '(-2)', '(-1.0 / 0.0)')
    >>> number(-(2**31), "int32")
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


def apply_function(
    head: Head, literals: Sequence[Head], parts: Sequence[Expression], dtype: str
) -> Expression:
    """Return a function of elements.

    Raises:
        InputError: it is none of elements of this type.
    """
    name = str(head).removeprefix(ACTIVATION)
    if name in _BINARY_TEXT:
        return TextTemplate(f"({_BINARY_TEXT[name]})", tuple(parts))
    is_whole = dtype.startswith("int")
    zero, one = literal_text(0, dtype), literal_text(1, dtype)
    values = [float(literal) for literal in literals if name != "cast"]
    match name:
        case "copy":
            return parts[0]
        case "cast":
            return TextTemplate(f"{tc_type(str(literals[0]))}({{0}})", tuple(parts))
        case "less" | "equal":
            sign = "<" if name == "less" else "=="
            return TextTemplate(f"({{0}} {sign} {{1}} ? {one} : {zero})", tuple(parts))
        case "where":
            return TextTemplate(f"({{0}} == {zero} ? {{2}} : {{1}})", tuple(parts))
        case "relu":
            return TextTemplate(f"({{0}} < {zero} ? {zero} : {{0}})", tuple(parts))
        case "neg":
            return TextTemplate("(-{0})", tuple(parts))
        case "abs":
            return TextTemplate("abs({0})", tuple(parts))
        case "clip":
            low, high = (literal_text(value, dtype) for value in values)
            return TextTemplate(f"min(max({{0}}, {low}), {high})", tuple(parts))
    if is_whole:
        raise InputError(f"{name}: expected elements of a floating type, found {dtype}")
    return TextTemplate(_floating(name, values, dtype), tuple(parts))


def _floating(name: str, values: Sequence[float], dtype: str) -> str:
    def n(value: float) -> str:
        return literal_text(value, dtype)

    match name:
        case "tanh":
            return _tanh("{0}", dtype)
        case "sigmoid":
            return f"({n(1)} / ({n(1)} + exp(-{{0}})))"
        case "gelu":
            return f"({n(0.5)} * {{0}} * ({n(1)} + {_erf(f'({{0}} * {n(0.5**0.5)})', dtype)}))"
        case "gelu-tanh":
            # (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y))
            twice = 2 * (2 / np.pi) ** 0.5
            inner = f"{n(twice)} * ({{0}} + {n(0.044715)} * {{0}} * {{0}} * {{0}})"
            return f"({{0}} / ({n(1)} + exp(-({inner}))))"
        case "exp" | "log" | "sqrt" | "sin" | "cos":
            return f"{name}({{0}})"
        case "erf":
            return _erf("{0}", dtype)
        case "reciprocal":
            return f"({n(1)} / {{0}})"
        case "pow":
            return "pow({0}, {1})"
        case "leaky-relu":
            return f"({{0}} < {n(0)} ? {n(values[0])} * {{0}} : {{0}})"
        case "elu":
            return f"({{0}} < {n(0)} ? {n(values[0])} * (exp({{0}}) - {n(1)}) : {{0}})"
    raise InputError(f"{name}: expected a function of elements")


def _tanh(x: str, dtype: str) -> str:
    if dtype != "float32":
        return f"tanh({x})"
    square = f"({x} * {x})"
    near = f"{x} + {x} * {square} * {_polynomial(_TANH, square)}"
    return f"(abs({x}) < 0.625f ? {near} : 1.0f - 2.0f / (exp(2.0f * {x}) + 1.0f))"


def _erf(x: str, dtype: str) -> str:
    if dtype != "float32":
        return f"erf({x})"
    near = f"{x} * {_polynomial(_ERF, f'({x} * {x})')}"
    bounded = f"(abs({x}) > 4.0f ? 4.0f : abs({x}))"  # not min: that would make a number of NaN
    far = f"1.0f - exp({_polynomial(_ERFC, bounded)})"
    return f"(abs({x}) < 1.0f ? {near} : {x} < 0.0f ? -({far}) : {far})"


def _polynomial(coefficients: Sequence[float], x: str) -> str:
    """Return a polynomial by Horner's rule.

    >>> _polynomial((1.0, 2.0, -3.0), "x")
    '(1.0f + x * (2.0f + x * (-3.0f)))'
    """
    *others, last = coefficients
    result = literal_text(last, "float32")
    for one in reversed(others):
        result = f"({literal_text(one, 'float32')} + {x} * {result})"
    return result
