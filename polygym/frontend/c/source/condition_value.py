"""Values of the conditions of ``#if`` and ``#elif``, as C has them.

All numbers are of 64 bits, ``intmax_t`` or ``uintmax_t``: an operation on both kinds is unsigned.
Division truncates, ``%`` has the sign of the dividend, names that are no macros are 0. What is not
evaluated (behind ``0 &&``, ``1 ||``, the other side of ``?:``) may divide by zero.

    condition_value("-7 % 3 == -1")          1
    condition_value("-1 > 0u")               1, for -1 becomes 2⁶⁴ - 1
    condition_value("1 ? 2 : 1 / 0")         2
    condition_value("0xFFFFFFFFFFFFFFFF > 0")   1, for the constant is unsigned
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polygym.errors import PolygymError
from polygym.frontend.c.source.cpp.names import OPERATORS
from polygym.frontend.c.source.literals import ESCAPES

_BITS = 64
_MODULUS = 1 << _BITS
_LARGEST = _MODULUS // 2 - 1

_TOKEN = re.compile(
    r"\s*(?:(?:\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*)"
    r"|(?:(?:u8|[LuU])?'(?:\\.|[^'\\])+')"
    r"|(?:[A-Za-z_$][\w$]*)"
    r"|(?:<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),]))"
)
_INTEGER = re.compile(
    r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uU]?(?:ll|LL|[lL])?|(?:ll|LL|[lL])[uU])"
)
_ESCAPES = ESCAPES | {"e": 27, "E": 27}


class ConditionError(PolygymError):
    """A condition has no value; the text says why."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class ConditionNumber:
    """An integer of 64 bits; ``value`` is in the range of its kind."""

    value: int
    is_unsigned: bool = False

    @staticmethod
    def of(value: int, is_unsigned: bool) -> ConditionNumber:
        """Return a number, wrapped around into the range of its kind."""
        value %= _MODULUS
        return ConditionNumber(
            value if is_unsigned or value <= _LARGEST else value - _MODULUS, is_unsigned
        )


def condition_value(text: str, *, is_cpp: bool = False) -> int:
    """Return the value of a condition in which macros are expanded.

    Raises:
        ConditionError: it is none of C.
    """
    parser = _ConditionParser(_tokens(text), is_cpp)
    number = parser.comma(is_evaluated=True)
    parser.expect("")
    return number.value


class ConditionEvaluator:
    """What pcpp calls for the value of a condition."""

    def __init__(self, is_cpp: bool) -> None:
        self._is_cpp = is_cpp
        self._value = 0

    def __call__(self, tokens: Sequence[Any], **_: object) -> ConditionEvaluator:
        """Evaluate tokens; names are 0, whatever pcpp would ask about them."""
        text = " ".join(token.value for token in tokens)
        self._value = condition_value(text, is_cpp=self._is_cpp)
        return self

    def value(self) -> int:
        """Return the value of the last condition."""
        return self._value


def _tokens(text: str) -> list[str]:
    result, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ConditionError(f"unexpected {text[at:].strip()[:1]!r}")
        result.append(match[0].strip())
        at = match.end()
    return [*result, ""]


# Operators of two operands by precedence, the loosest first; && and || are apart.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


class _ConditionParser:
    """Recursive descent; what is not evaluated is parsed, and has a kind but no errors."""

    def __init__(self, tokens: list[str], is_cpp: bool) -> None:
        self._tokens = tokens
        self._at = 0
        self._is_cpp = is_cpp

    @property
    def _next(self) -> str:
        token = self._tokens[self._at]
        return OPERATORS.get(token, token) if self._is_cpp else token

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def expect(self, token: str) -> None:
        """Take a token that must be there; the empty one is the end."""
        if self._next != token:
            wanted = f"{token!r}" if token else "the end or an operator"
            raise ConditionError(f"expected {wanted}, found {self._next!r}")
        self._at += 1

    def comma(self, is_evaluated: bool) -> ConditionNumber:
        """Return the last of expressions."""
        number = self._choice(is_evaluated)
        while self._next == ",":
            if is_evaluated:
                raise ConditionError("a comma in a condition")
            self._take()
            number = self._choice(is_evaluated)
        return number

    def _choice(self, is_evaluated: bool) -> ConditionNumber:
        condition = self._either(is_evaluated)
        if self._next != "?":
            return condition
        self._take()
        chosen = self.comma(is_evaluated and condition.value != 0)
        self.expect(":")
        other = self._choice(is_evaluated and condition.value == 0)
        is_unsigned = chosen.is_unsigned or other.is_unsigned
        return ConditionNumber.of((chosen if condition.value else other).value, is_unsigned)

    def _either(self, is_evaluated: bool) -> ConditionNumber:
        number = self._both(is_evaluated)
        while self._next == "||":
            self._take()
            other = self._both(is_evaluated and number.value == 0)
            number = ConditionNumber(int(number.value != 0 or other.value != 0))
        return number

    def _both(self, is_evaluated: bool) -> ConditionNumber:
        number = self._binary(0, is_evaluated)
        while self._next == "&&":
            self._take()
            other = self._binary(0, is_evaluated and number.value != 0)
            number = ConditionNumber(int(number.value != 0 and other.value != 0))
        return number

    def _binary(self, level: int, is_evaluated: bool) -> ConditionNumber:
        if level == len(_LEVELS):
            return self._unary(is_evaluated)
        number = self._binary(level + 1, is_evaluated)
        while self._next in _LEVELS[level]:
            operator = self._take()
            number = _applied(operator, number, self._binary(level + 1, is_evaluated), is_evaluated)
        return number

    def _unary(self, is_evaluated: bool) -> ConditionNumber:
        token = self._take()
        match token:
            case "+":
                return self._unary(is_evaluated)
            case "-":
                number = self._unary(is_evaluated)
                return ConditionNumber.of(-number.value, number.is_unsigned)
            case "~":
                number = self._unary(is_evaluated)
                return ConditionNumber.of(~number.value, number.is_unsigned)
            case "!":
                return ConditionNumber(int(self._unary(is_evaluated).value == 0))
            case "(":
                number = self.comma(is_evaluated)
                self.expect(")")
                return number
            case _:
                return self._primary(token)

    def _primary(self, token: str) -> ConditionNumber:
        if token[-1:] == "'":
            return _character(token)
        if token[:1].isdigit() or token[:1] == ".":
            return _integer(token)
        if token[:1].isalpha() or token[:1] in ("_", "$"):
            if self._next == "(":
                raise ConditionError(f"{token} is no macro, and is called")
            return ConditionNumber(int(self._is_cpp and token == "true"))
        raise ConditionError(f"expected an operand, found {token!r}")


def _applied(
    operator: str, left: ConditionNumber, right: ConditionNumber, is_evaluated: bool
) -> ConditionNumber:
    """Return what an operator of two operands makes of them."""
    if operator in ("<<", ">>"):
        return _shifted(left, right.value if operator == "<<" else -right.value)
    is_unsigned = left.is_unsigned or right.is_unsigned
    a, b = (ConditionNumber.of(number.value, is_unsigned).value for number in (left, right))
    if operator in _COMPARISONS:
        return ConditionNumber(int(_COMPARISONS[operator](a, b)))
    if operator in _ARITHMETIC:
        return ConditionNumber.of(_ARITHMETIC[operator](a, b), is_unsigned)
    if b == 0:
        if is_evaluated:
            raise ConditionError("division by zero")
        return ConditionNumber(0, is_unsigned)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return ConditionNumber.of(quotient if operator == "/" else a - quotient * b, is_unsigned)


def _shifted(number: ConditionNumber, places: int) -> ConditionNumber:
    """Return a number moved to the left, or to the right by negative places."""
    places = max(-_BITS, min(_BITS, places))
    value = number.value << places if places >= 0 else number.value >> -places
    return ConditionNumber.of(value, number.is_unsigned)


def _integer(token: str) -> ConditionNumber:
    """Return the value of an integer constant, which is unsigned where it has to be."""
    match = _INTEGER.fullmatch(token.replace("'", ""))
    if match is None:
        raise ConditionError(f"expected an integer, found {token}")
    digits, suffix = match.groups()
    is_octal = digits[0] == "0" and len(digits) > 1 and digits.isdigit()
    if is_octal and set(digits) & {"8", "9"}:
        raise ConditionError(f"expected octal digits, found {token}")
    value = int(digits, 8) if is_octal else int(digits, 0)
    if value >= _MODULUS:
        raise ConditionError(f"expected an integer of 64 bits, found {token}")
    return ConditionNumber(value, "u" in suffix.lower() or value > _LARGEST)


def _character(token: str) -> ConditionNumber:
    """Return the value of a character constant; several characters are bytes of an ``int``."""
    prefix, _, body = token[:-1].partition("'")
    codes = list(_codes(body))
    if not codes or (prefix and len(codes) > 1) or len(codes) > 4:
        raise ConditionError(f"expected a character, found {token}")
    if prefix:
        return ConditionNumber(codes[0], prefix != "L")
    if len(codes) == 1:
        code = codes[0] % 256 if codes[0] < 256 else -1
        if code < 0:
            raise ConditionError(f"expected a character of one byte, found {token}")
        return ConditionNumber(code - 256 if code > 127 else code)
    value = 0
    for code in codes:
        value = value << 8 | code % 256
    return ConditionNumber(value - (1 << 32) if value >> 31 else value)


def _codes(body: str) -> Sequence[int]:
    """Return the codes of the characters of a constant."""
    result = []
    for match in re.finditer(r"\\x([0-9a-fA-F]+)|\\([0-7]{1,3})|\\(.)|(.)", body, re.DOTALL):
        hexadecimal, octal, escape, plain = match.groups()
        if hexadecimal:
            result.append(int(hexadecimal, 16))
        elif octal:
            result.append(int(octal, 8))
        elif escape:
            result.append(_ESCAPES.get(escape, ord(escape)))
        else:
            result += plain.encode() if ord(plain) > 127 else [ord(plain)]
    return result
