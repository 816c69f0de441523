"""Simple values of operations: constants, and operands themselves."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polygym.codegen.c.kernel.values import POINTER, TRUTH, Constant, Kind, Value

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "ashr": operator.rshift,
}
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}


def folded(name: str, kind: Kind, operands: Sequence[Value], data: Any) -> Value | None:
    """Return the simple value of an operation, None if it has none."""
    if name == "splat":
        value = operands[0]
        if isinstance(value, Constant) and value.value is not None:
            return Constant(kind, (value.value,) * (kind.lanes or 1))
        return None
    if name == "address" and kind is POINTER and _is(operands[1], 0):
        return operands[0]
    if name == "select" and isinstance(operands[0], Constant) and operands[0].kind == TRUTH:
        return operands[1] if operands[0].value else operands[2]
    if name == "icmp" and kind == TRUTH:
        never = {"ugt": operands[0], "ult": operands[1]}.get(data)
        always = {"ule": operands[0], "uge": operands[1]}.get(data)
        if never is not None and _is(never, 0):
            return Constant(kind, 0)
        if always is not None and _is(always, 0):
            return Constant(kind, 1)
    if len(operands) != 2:
        return _folded_single(name, kind, operands)
    left, right = operands
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _folded_constants(name, kind, left, right, data)
    if kind.base != "i" or kind.lanes is not None:
        return None
    return _folded_scalar(name, kind, left, right, data)


def _folded_scalar(name: str, kind: Kind, left: Value, right: Value, data: Any) -> Value | None:
    """Return the simple value of an operation of integers of which one may be a constant."""
    if name in ("add", "or", "xor") and _is(left, 0):
        return right
    if name in ("add", "sub", "or", "xor", "shl", "ashr", "lshr") and _is(right, 0):
        return left
    if name in ("mul", "sdiv", "udiv") and _is(right, 1):
        return left
    if name == "mul" and _is(left, 1):
        return right
    if name in ("mul", "and") and (_is(left, 0) or _is(right, 0)):
        return Constant(kind, 0)
    if name == "and" and kind == TRUTH:
        if _is(left, 1):
            return right
        if _is(right, 1):
            return left
    if name == "or" and kind == TRUTH and (_is(left, 1) or _is(right, 1)):
        return Constant(kind, 1)
    return None


def _folded_single(name: str, kind: Kind, operands: Sequence[Value]) -> Value | None:
    if name in ("zext", "sext", "trunc") and isinstance(operands[0], Constant):
        value, source = operands[0].value, operands[0].kind
        if isinstance(value, int):
            if name == "zext" and value < 0:
                value += 1 << source.bits
            if kind.bits == 1:
                return Constant(kind, value & 1)
            half = 1 << (kind.bits - 1)
            return Constant(kind, (value + half) % (2 * half) - half)
    return None


def _folded_constants(
    name: str, kind: Kind, left: Constant, right: Constant, data: Any
) -> Value | None:
    if left.kind.base != "i" or left.value is None or right.value is None:
        return None
    if name == "icmp" and kind == TRUTH and data in _COMPARISONS:
        return Constant(kind, int(_COMPARISONS[data](left.value, right.value)))
    if name in ("min", "max"):
        return Constant(kind, (min if name == "min" else max)(left.value, right.value))
    if name == "sdiv" and kind.lanes is None and right.value > 0:
        quotient = abs(left.value) // right.value
        return Constant(kind, quotient if left.value >= 0 else -quotient)
    if name not in _ARITHMETIC:
        return None
    compute = _ARITHMETIC[name]
    half = 1 << (kind.bits - 1)

    def wrapped(first: int, second: int) -> int:
        if kind.bits == 1:
            return compute(first, second) & 1
        return (compute(first, second) + half) % (2 * half) - half

    if kind.lanes is None:
        return Constant(kind, wrapped(left.value, right.value))
    pairs = zip(left.value, right.value, strict=True)
    return Constant(kind, tuple(wrapped(*pair) for pair in pairs))


def _is(value: Value, number: int) -> bool:
    return isinstance(value, Constant) and value.kind.lanes is None and value.value == number
