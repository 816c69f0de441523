"""Operators to whole numbers, and division of integers.

Integers are divided as in C, truncated; nothing traps: by 0 the result is 0, and the least number
by -1 wraps.
"""

from collections.abc import Callable

import numpy as np

from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.definition import Array, GraphOperator, NumberText, OnnxMapping
from polygym.graphs.operators.elementwise import FUNCTION_COST, pair, unary


def _whole(
    name: str, doc: str, kind: str, reference: Callable[[Array], Array], text: str
) -> GraphOperator:
    """Define a function to whole numbers."""
    return unary(name, doc, kind, reference, text, operations=1)


def _is_floating(n: NumberText) -> bool:
    return n.dtype.startswith("float")


def _guarded_division(n: NumberText, sign: str) -> str:
    """Return the text of an integer division that never traps: by 0, or of the least by -1."""
    zero, one, minus = n(0), n(1), n(-1)
    by_minus_one = f"({zero} - {{0}})" if sign == "/" else zero
    safe = f"({{1}} == {zero} || {{1}} == {minus} ? {one} : {{1}})"
    return f"({{1}} == {zero} ? {zero} : {{1}} == {minus} ? {by_minus_one} : {{0}} {sign} {safe})"


def _quotient(x: Array, y: Array) -> Array:
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    with np.errstate(over="ignore"):
        whole = x // safe + ((x % safe != 0) & ((x < 0) != (safe < 0)))
    return np.where(y == 0, 0, whole).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    safe = np.where((y == 0) | (y == -1), 1, y).astype(y.dtype)
    return np.where(y == 0, 0, np.fmod(x, safe)).astype(x.dtype)


OPERATORS = (
    _whole("floor", "the largest whole number up to x", "Floor", np.floor, "floor({0})"),
    _whole("ceil", "the smallest whole number from x on", "Ceil", np.ceil, "ceil({0})"),
    _whole("round", "the nearest whole number; of two the even one", "Round", np.rint, "rint({0})"),
    pair(
        "quotient",
        "x / y of integers, truncated, broadcast; 0 where y is 0",
        "Div",
        _quotient,
        lambda n: _guarded_division(n, "/"),
        torch=lambda torch, *_: lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        onnx=OnnxMapping("Div"),
        infer=shapes.integer_pair,
        operations=FUNCTION_COST,
        is_inexact=True,
    ),
    pair(
        "remainder",
        "remainder of x / y with the sign of x, broadcast; of integers 0 where y is 0",
        "Mod",
        _remainder,
        lambda n: "fmod({0}, {1})" if _is_floating(n) else _guarded_division(n, "%"),
        torch="fmod",
        onnx=OnnxMapping("Mod", fixed={"fmod": 1}),
        operations=FUNCTION_COST,
        is_inexact=True,
    ),
)
