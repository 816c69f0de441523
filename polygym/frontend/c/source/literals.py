"""The constants of C: their values and types.

An integer constant has the first type of ``int``, ``unsigned``, ``long`` and ``unsigned long`` that
holds it and that its suffix allows; decimal ones are unsigned only with a ``u``.
"""

import math
import re
from typing import Any

from pycparser import c_ast

from polygym.ir.expressions import FloatLiteral, IntegerLiteral
from polygym.ir.rounding import round_to_type
from polygym.ir.types import ScalarType

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)([uUlL]*)")
_FLOATING = re.compile(r"(0[xX][0-9a-fA-F.]+[pP][+-]?\d+|[0-9.]+(?:[eE][+-]?\d+)?)([fFlL]?)")
_INTEGERS = (ScalarType.INT, ScalarType.UNSIGNED, ScalarType.LONG, ScalarType.UNSIGNED_LONG)
# One object for all that are no number, so that what holds one is equal to itself.
_NAMED: dict[str | None, tuple[list[str], float, ScalarType]] = {
    f"__builtin_{name}{suffix}": (arguments, value, scalar)
    for name, arguments, value in (
        ("inf", [], math.inf),
        ("huge_val", [], math.inf),
        ("nan", ['""'], math.nan),
    )
    for suffix, scalar in (("", ScalarType.DOUBLE), ("f", ScalarType.FLOAT))
}
ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}
ESCAPES |= {"\\": 92, "'": 39, '"': 34, "?": 63}


def parse_literal(text: str) -> IntegerLiteral | FloatLiteral | str:
    """Return the literal that a constant means, or the sentence that refuses it.

    >>> parse_literal("0x10"), parse_literal("1.5f")
    (IntegerLiteral(value=16, type=<ScalarType.INT: 'int'>), \
FloatLiteral(value=1.5, type=<ScalarType.FLOAT: 'float'>))
    """
    if text.startswith("'"):
        return _character(text)
    if match := _INTEGER.fullmatch(text):
        return _integer(match[1], match[2].lower())
    if match := _FLOATING.fullmatch(text):
        return _floating(match[1], match[2].lower())
    return f"the constant {text} is not supported"


def builtin_literal(call: Any) -> FloatLiteral | None:
    """Return the constant that a call of gcc's stands for (INFINITY, NAN, HUGE_VAL), or None."""
    result = _NAMED.get(getattr(call.name, "name", None))
    given = [getattr(operand, "value", None) for operand in (call.args.exprs if call.args else ())]
    if result is None or result[0] != given:
        return None
    return FloatLiteral(*result[1:])


def integer_value(node: Any) -> int | None:
    """Return the value of an integer constant's node, None for anything else."""
    literal = parse_literal(node.value) if isinstance(node, c_ast.Constant) else None
    return literal.value if isinstance(literal, IntegerLiteral) else None


def _integer(digits: str, suffix: str) -> IntegerLiteral | str:
    """Give an integer constant its type: the first of C's list that holds it."""
    if suffix not in ("", "l", "ll", "u", "ul", "ull", "lu", "llu"):
        return f"the constant {digits}{suffix} is not supported"
    prefix = digits[:2].lower()
    decimal = digits[0] != "0"
    if prefix in ("0x", "0b"):
        value = int(digits, 0)
    else:
        value = int(digits) if decimal else int(digits, 8)
    for scalar in _INTEGERS:
        if "u" in suffix and scalar.is_signed:
            continue
        if not scalar.is_signed and decimal and "u" not in suffix:
            continue
        if "l" in suffix and scalar.size < 8:
            continue
        if value <= scalar.highest:
            return IntegerLiteral(value, scalar)
    return f"the constant {digits} does not fit {'unsigned ' * (not decimal)}long"


def _floating(digits: str, suffix: str) -> FloatLiteral | str:
    """Give a floating constant its type."""
    if suffix == "l":
        return f"the constant {digits}{suffix} is long double, which is not supported"
    scalar = ScalarType.FLOAT if suffix else ScalarType.DOUBLE
    try:
        value = float.fromhex(digits) if digits[:2].lower() == "0x" else float(digits)
    except (ValueError, OverflowError):
        return f"the constant {digits} is not supported"
    return FloatLiteral(round_to_type(value, scalar), scalar)


def _character(text: str) -> IntegerLiteral | str:
    """Return the value of a character constant."""
    body = text[1:-1]
    if len(body) == 1 and ord(body) < 128:
        return IntegerLiteral(ord(body))
    if len(body) == 2 and body[0] == "\\" and body[1] in ESCAPES:
        return IntegerLiteral(ESCAPES[body[1]])
    if match := re.fullmatch(r"\\([0-7]{1,3})", body):
        value = int(match[1], 8)
    elif match := re.fullmatch(r"\\x([0-9a-fA-F]{1,2})", body):
        value = int(match[1], 16)
    else:
        return f"the character constant {text} is not supported"
    # char is signed on the machines that polygym runs on.
    return IntegerLiteral(value - 256 if 128 <= value < 256 else value)
