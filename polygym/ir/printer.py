"""C text of expressions, readable and compilable.

Used wherever people or compilers are shown a program: the C printer, messages, ``polygym show``.
Parentheses stand only where C's precedences need them, so ``a * (b + c) - d`` comes back as
written. The text has the expression's meaning exactly: casts are all explicit, constants carry
their type's suffix, the least integers are written so that they do not overflow on the way.
"""

import math
from collections.abc import Callable
from typing import assert_never

from polygym.ir import expressions
from polygym.ir.rounding import bit_pattern, round_to_type
from polygym.ir.types import ScalarType

# How tightly C's operators bind; a larger number binds more tightly.
_CONDITIONAL, _UNARY, _PRIMARY = 1, 11, 12
_BINARY = {
    expressions.BinaryOperator.BIT_OR: 3,
    expressions.BinaryOperator.BIT_XOR: 4,
    expressions.BinaryOperator.BIT_AND: 5,
    expressions.BinaryOperator.SHIFT_LEFT: 8,
    expressions.BinaryOperator.SHIFT_RIGHT: 8,
    expressions.BinaryOperator.ADD: 9,
    expressions.BinaryOperator.SUBTRACT: 9,
    expressions.BinaryOperator.MULTIPLY: 10,
    expressions.BinaryOperator.DIVIDE: 10,
    expressions.BinaryOperator.REMAINDER: 10,
}
_COMPARISON = {
    expressions.ComparisonOperator.EQUAL: 6,
    expressions.ComparisonOperator.NOT_EQUAL: 6,
    expressions.ComparisonOperator.LESS: 7,
    expressions.ComparisonOperator.LESS_EQUAL: 7,
    expressions.ComparisonOperator.GREATER: 7,
    expressions.ComparisonOperator.GREATER_EQUAL: 7,
}


_SUFFIX = {
    ScalarType.INT: "",
    ScalarType.UNSIGNED: "U",
    ScalarType.LONG: "L",
    ScalarType.UNSIGNED_LONG: "UL",
}

TO_BFLOAT, FROM_BFLOAT = "polygym_to_bfloat16", "polygym_from_bfloat16"
"""C's functions that convert double and to float; the printer of code defines them."""


def _same(name: str) -> str:
    """Return a name as it is."""
    return name


def source_text(access: expressions.Access) -> str:
    """Return an access as the source wrote it."""
    return access.text


def source_gather(access: expressions.Access, subscripts: tuple[str, ...]) -> str:
    """Return a gather as the source wrote it."""
    return access.text


def c_expression(
    expression: expressions.Expression,
    access_text: Callable[[expressions.Access], str] = source_text,
    iterator: Callable[[str], str] = _same,
    parameter: Callable[[str], str] = _same,
    gather: Callable[[expressions.Access, tuple[str, ...]], str] = source_gather,
) -> str:
    """Return an expression as C text.

    Args:
        expression: What to print.
        access_text: The C text of an access, as tight as a cast's operand (``A[i]``, ``*x``).
        iterator: The C text for an iterator's name; parenthesised by the caller if it is no name.
        parameter: The same for a parameter's name.
        gather: The C text of a gather, of its access and the C texts of its computed subscripts.

    >>> from polygym.ir.types import ScalarType
    >>> i, one = expressions.IteratorValue("i"), expressions.IntegerLiteral(1)
    >>> total = expressions.Binary(expressions.BinaryOperator.ADD, i, one, ScalarType.INT)
    >>> by = expressions.BinaryOperator.MULTIPLY
    >>> c_expression(expressions.Binary(by, total, total, ScalarType.INT))
    '(i + 1) * (i + 1)'
    """
    return _Printer(access_text, iterator, parameter, gather).text(expression, 0)


class _Printer:
    """The lookups, and the recursion over an expression."""

    def __init__(
        self,
        access: Callable[[expressions.Access], str],
        iterator: Callable[[str], str],
        parameter: Callable[[str], str],
        gather: Callable[[expressions.Access, tuple[str, ...]], str],
    ) -> None:
        """Keep the lookups."""
        self._gather = gather
        self._access = access
        self._iterator = iterator
        self._parameter = parameter

    def text(self, expression: expressions.Expression, least: int) -> str:
        """Return C text that binds at least as tightly as ``least``."""
        text, binding = self._render(expression)
        return text if binding >= least else f"({text})"

    def _render(self, expression: expressions.Expression) -> tuple[str, int]:
        """Return C text and how tightly it binds."""
        match expression:
            case expressions.IntegerLiteral(value=value, type=scalar):
                return _integer(value, scalar)
            case expressions.FloatLiteral(value=value, type=scalar):
                return _floating(value, scalar)
            case expressions.IteratorValue(name=name):
                return self._iterator(name), _PRIMARY
            case expressions.ParameterValue(name=name):
                return self._parameter(name), _PRIMARY
            case expressions.Load(access=access):
                return self._access(access), _UNARY
            case expressions.Gather(access=access, subscripts=subscripts):
                inside = tuple(self.text(subscript, 0) for subscript in subscripts)
                return self._gather(access, inside), _UNARY
            case expressions.Unary(operator=operator, operand=operand):
                inner = self.text(operand, _UNARY)
                # `- -x` must not become the decrement `--x`.
                separator = " " if inner.startswith("-") else ""
                return f"{operator.value}{separator}{inner}", _UNARY
            case expressions.Cast(operand=operand, type=scalar):
                if ScalarType.BFLOAT in (scalar, operand.type):
                    return self._bfloat(operand, scalar)
                return f"({scalar.value}){self.text(operand, _UNARY)}", _UNARY
            case expressions.Binary(operator=operator, left=left, right=right):
                return self._infix(operator.value, left, right, _BINARY[operator])
            case expressions.Comparison(operator=operator, left=left, right=right):
                return self._infix(operator.value, left, right, _COMPARISON[operator])
            case expressions.Conditional(condition=condition, then=then, otherwise=otherwise):
                parts = (
                    self.text(condition, _CONDITIONAL + 1),
                    self.text(then, _CONDITIONAL),
                    self.text(otherwise, _CONDITIONAL),
                )
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", _CONDITIONAL
            case expressions.Call(function=function, arguments=arguments, type=scalar):
                operands = ", ".join(self.text(argument, 0) for argument in arguments)
                return f"{function.c_name(scalar)}({operands})", _PRIMARY
            case expressions.Update(access=access, condition=condition, value=value):
                # What is kept has no name in C: the caller makes a statement of it.
                if condition is None:
                    return self._render(value)
                chosen = (self.text(condition, _CONDITIONAL + 1), self.text(value, _CONDITIONAL))
                return f"{chosen[0]} ? {chosen[1]} : {self._access(access)}", _CONDITIONAL
            case _:
                assert_never(expression)

    def _bfloat(self, operand: expressions.Expression, scalar: ScalarType) -> tuple[str, int]:
        """Return a conversion that C has no word for, by the functions that stand above."""
        inner = self.text(operand, 0)
        if scalar is operand.type:
            return inner, 0
        if scalar is ScalarType.BFLOAT:
            return f"{TO_BFLOAT}({inner})", _PRIMARY
        text = f"{FROM_BFLOAT}({inner})"
        return (
            (text, _PRIMARY) if scalar is ScalarType.FLOAT else (f"({scalar.value}){text}", _UNARY)
        )

    def _infix(
        self,
        operator: str,
        left: expressions.Expression,
        right: expressions.Expression,
        binding: int,
    ) -> tuple[str, int]:
        """Return ``left op right``; all infix operators of C group to the left."""
        return f"{self.text(left, binding)} {operator} {self.text(right, binding + 1)}", binding


def _integer(value: int, scalar: ScalarType) -> tuple[str, int]:
    """Return an integer constant of a type."""
    if scalar.promoted is not scalar:
        text, binding = _integer(value, scalar.promoted)
        return f"({scalar.value}){text if binding >= _UNARY else f'({text})'}", _UNARY
    suffix = _SUFFIX[scalar]
    if value >= 0:
        return f"{value}{suffix}", _PRIMARY
    if value == scalar.lowest:
        # The least value is no constant: C reads a minus sign and a constant that is too large.
        return f"{value + 1}{suffix} - 1{suffix}", _BINARY[expressions.BinaryOperator.SUBTRACT]
    return f"{value}{suffix}", _UNARY


def _floating(value: float, scalar: ScalarType) -> tuple[str, int]:
    """Return the shortest constant that reads back as the value."""
    if scalar is ScalarType.BFLOAT:
        return f"({scalar.value}){bit_pattern(value, scalar):#x}", _UNARY
    if scalar is ScalarType.HALF:
        text, binding = _floating(value, ScalarType.FLOAT)
        return f"({scalar.value}){text if binding >= _UNARY else f'({text})'}", _UNARY
    suffix = "f" if scalar is ScalarType.FLOAT else ""
    if math.isnan(value):
        # Machines may give 0.0 / 0.0 a sign, and copysign sees it.
        return f'__builtin_nan{suffix}("")', _PRIMARY
    if math.isinf(value):
        return f"({'-' if value < 0 else ''}1.0{suffix} / 0.0{suffix})", _PRIMARY
    text = repr(value) if scalar is ScalarType.DOUBLE else _shortest_float(value)
    if not any(character in text for character in ".e"):
        text += ".0"
    negative = math.copysign(1.0, value) < 0
    return f"{text}{suffix}", _UNARY if negative else _PRIMARY


def _shortest_float(value: float) -> str:
    """Return the shortest decimal text that rounds to a value of single precision."""
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        # The shorter text may round up past the largest float, which cannot be packed.
        if (
            abs(float(text)) < 3.4028235e38
            and round_to_type(float(text), ScalarType.FLOAT) == value
        ):
            return text
    return f"{value:.9g}"
