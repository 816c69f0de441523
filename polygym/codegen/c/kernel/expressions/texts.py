"""Texts: how tightly they bind, and whether C takes them as unsigned."""

from __future__ import annotations

from typing import NamedTuple

POSTFIX, UNARY, PRODUCT, SUM, SHIFT, ORDER, EQUALITY = 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITION, LOWEST = 8, 7, 6, 5, 4, 3, 0
"""Precedences of C's operators, from the tightest to a value by itself."""


class Text(NamedTuple):
    """The text of a value, how tightly it binds, and whether its C type is unsigned."""

    text: str
    precedence: int = POSTFIX
    is_unsigned: bool = False

    def within(self, precedence: int) -> str:
        """Return the text in parentheses where its surroundings bind tighter."""
        return self.text if self.precedence >= precedence else f"({self.text})"
