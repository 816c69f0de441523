"""Syntax tree → text, the way a person would write it, with the parentheses that are needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from polygym.compiler.frontend.tc.syntax import (
    Choice,
    Convert,
    Element,
    Exists,
    Expression,
    In,
    Infix,
    Let,
    Name,
    Number,
    Operator,
    Prefixed,
    Statement,
    Where,
)

_CHOICE, _PREFIX, _PRIMARY = 0, 7, 8
_STRENGTH = {
    Operator.OR: 1,
    Operator.AND: 2,
    Operator.EQUAL: 3,
    Operator.NOT_EQUAL: 3,
    Operator.LESS: 4,
    Operator.LESS_EQUAL: 4,
    Operator.GREATER: 4,
    Operator.GREATER_EQUAL: 4,
    Operator.ADD: 5,
    Operator.SUBTRACT: 5,
    Operator.MULTIPLY: 6,
    Operator.DIVIDE: 6,
    Operator.REMAINDER: 6,
}


def text_of(expression: Expression) -> str:
    """Return the text of an expression; parsing it gives the same tree again, places apart."""
    return _text(expression, _CHOICE)


def left_text(tensor: str, indices: Iterable[str]) -> str:
    """Return the text of what is assigned: ``C(i, j)``, or ``s`` without indices."""
    inside = ", ".join(indices)
    return f"{tensor}({inside})" if inside else tensor


def statement_text(statement: Statement) -> str:
    """Return the text of a statement."""
    left = left_text(statement.tensor, map(text_of, statement.left))
    assign = statement.assign.value + "!" * statement.initialises
    where = ", ".join(map(_where, statement.where))
    return f"{left} {assign} {text_of(statement.value)}{where and f' where {where}'}"


def _where(entry: Where) -> str:
    match entry:
        case In(name, lower, upper):
            return f"{name} in {text_of(lower)}:{text_of(upper)}"
        case Let(name, value):
            return f"{name} = {text_of(value)}"
        case Exists(expression):
            return f"exists {text_of(expression)}"
        case _:
            assert_never(entry)


def _text(expression: Expression, least: int) -> str:
    """Return the text of an expression, in parentheses where it binds less than ``least``."""
    match expression:
        case Number(text=text):
            return text
        case Name(name=name):
            return name
        case Element(name, arguments):
            return f"{name}({', '.join(map(text_of, arguments))})"
        case Convert(scalar, operand):
            return f"{scalar.value}({text_of(operand)})"
        case Prefixed(operator, operand):
            return _enclosed(f"{operator.value}{_text(operand, _PREFIX)}", _PREFIX, least)
        case Infix(operator, left, right):
            strength = _STRENGTH[operator]
            # To the left associates: what stands on the right must bind more.
            text = f"{_text(left, strength)} {operator.value} {_text(right, strength + 1)}"
            return _enclosed(text, strength, least)
        case Choice(condition, then, otherwise):
            first = _text(condition, _CHOICE + 1)
            text = f"{first} ? {text_of(then)} : {text_of(otherwise)}"
            return _enclosed(text, _CHOICE, least)
        case _:
            assert_never(expression)


def _enclosed(text: str, strength: int, least: int) -> str:
    return text if strength >= least else f"({text})"
