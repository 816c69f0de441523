"""Operators on numbers as C expressions; Integers that are known are computed at once.

Integers have 64 bits and go round, in the term and in C as it is compiled here. A Float is a
``double``. What has a value everywhere needs no check; a division of Integers does, and is written
by :mod:`polygym.terms.code.emitter`.
"""

import operator
from collections.abc import Sequence

from polygym.terms.code.c_values import CScalar, literal
from polygym.terms.language.operators import result_of
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, BaseType

FUNCTIONS = {
    **{name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "pow")},
    "abs": "fabs",
}
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARED = {"eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_LOGIC = {"and": "&&", "or": "||"}
_KNOWN_ORDER = {
    name: getattr(operator, {"gte": "ge", "lte": "le"}.get(name, name)) for name in _COMPARED
}
_SCALAR_OPERATORS = frozenset(
    (*_INFIX, *_COMPARED, *_LOGIC, *FUNCTIONS, "neg", "not", "max", "min", "to_float")
)


def is_scalar_operator(name: str) -> bool:
    """Whether an operator is one of numbers and truth values, if its arguments are."""
    return name in _SCALAR_OPERATORS


def apply_operator(name: str, parts: Sequence[CScalar]) -> CScalar:
    """Return what an operator makes of scalars."""
    known = known_value(name, parts)
    if known is not None:
        return literal(known)
    kind = result_of(name, tuple(part.kind for part in parts))
    assert isinstance(kind, BaseType)
    return CScalar(
        _text(name, parts),
        kind,
        is_affine=_is_fixed(name, parts),
        weight=1 + sum(part.weight for part in parts),
        depth=1 + max(part.depth for part in parts),
    )


def _text(name: str, parts: Sequence[CScalar]) -> str:
    texts = [part.text for part in parts]
    if name in FUNCTIONS:
        return f"{FUNCTIONS[name]}({', '.join(texts)})"
    if name == "neg":
        return f"(-{texts[0]})" if parts[0].kind == FLOAT else f"(0 - {texts[0]})"
    if name == "not":
        return f"(!{texts[0]})"
    if name == "to_float":
        return f"(double)({texts[0]})"
    if name in ("max", "min"):
        # As the interpreter has it: the first of two that are equal, and NaN if one is.
        one, other = texts
        order = ">" if name == "max" else "<"
        return f"(({other} {order} {one} || {other} != {other}) ? {other} : {one})"
    sign = _INFIX.get(name) or _COMPARED.get(name) or _LOGIC[name]
    return f"({texts[0]} {sign} {texts[1]})"


def known_value(name: str, parts: Sequence[CScalar]) -> int | bool | None:
    """Return the value of an operator on Integers or truth values that are known."""
    values = [part.known_value for part in parts]
    if name in _LOGIC and any(value is (name == "or") for value in values):
        return name == "or"
    if any(value is None for value in values):
        return None
    match name, values:
        case "and" | "or", _:
            return name == "and"
        case "not", [bool(value)]:
            return not value
        case "neg", [int(value)]:
            return _wrapped(-value)
        case "add", [int(one), int(other)]:
            return _wrapped(one + other)
        case "sub", [int(one), int(other)]:
            return _wrapped(one - other)
        case "mul", [int(one), int(other)]:
            return _wrapped(one * other)
        case "div", [int(one), int(other)] if other != 0:
            return constant_quotient(one, other)
        case _ if name in _COMPARED:
            return bool(_KNOWN_ORDER[name](int(values[0] or 0), int(values[1] or 0)))
    return None


def constant_quotient(one: int, other: int) -> int:
    """Return the quotient of Integers, without what is behind the point.

    >>> constant_quotient(-7, 2), constant_quotient(-(2**63), -1) == -(2**63)
    (-3, True)
    """
    result = abs(one) // abs(other)
    return _wrapped(result if (one < 0) == (other < 0) else -result)


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _is_fixed(name: str, parts: Sequence[CScalar]) -> bool:
    """Whether isl can follow: affine in counters, and comparisons of what is."""
    if not all(part.is_affine and part.kind in (INTEGER, BOOL) for part in parts):
        return False
    if name == "mul":
        return any(part.known_value is not None for part in parts)
    if name == "div":
        return False
    return name in ("add", "sub", "neg", "not") or name in _COMPARED or name in _LOGIC
