"""Words → expressions, by recursive descent; the grammar is that of ``parse``.

A level of precedence is a function of itself: what it reads are operands of the next tighter level
with operators of its own between them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from polygym.compiler.frontend.tc.functions import function_named
from polygym.compiler.frontend.tc.syntax import (
    TYPE_NAMES,
    Choice,
    Convert,
    Element,
    Expression,
    Infix,
    Name,
    Number,
    Operator,
    Prefix,
    Prefixed,
)
from polygym.compiler.frontend.tc.tokens import Kind, Token
from polygym.compiler.frontend.tc.words import Words
from polygym.errors import Place, SourceError

# From the loosest to the tightest; operators of one row associate to the left.
_PRECEDENCE = (
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%"),
)

_DIMENSION = re.compile(r"\.[0-9]{1,9}")

# Each level of parentheses costs several of Python's frames.
_DEEPEST = 60
_LONGEST_NUMBER = 30


@dataclass
class Expressions(Words):
    """The words, and what the definition at hand says of names.

    ``sizes_of`` are the sizes with which it declares tensors, ``definitions`` the names that mean
    other definitions.
    """

    depth: int = 0
    sizes_of: dict[str, tuple[Name | Number, ...]] = field(default_factory=dict)
    definitions: set[str] = field(default_factory=set)

    def expression(self) -> Expression:
        """Read an expression, with ``?:`` the loosest."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong("an expression that is not so deeply nested")
        condition = self.infix(0)
        if self.is_next("?"):
            place = self.take().place
            then = self.expression()
            self.expect(":", "and the other value")
            otherwise = self.expression()
            condition = Choice(condition, then, otherwise, place)
        self.depth -= 1
        return condition

    def infix(self, level: int) -> Expression:
        """Read operators of one precedence and tighter ones."""
        if level == len(_PRECEDENCE):
            return self.prefixed()
        left = self.infix(level + 1)
        while self.next.kind is Kind.SYMBOL and self.next.text in _PRECEDENCE[level]:
            word = self.take()
            left = Infix(Operator(word.text), left, self.infix(level + 1), word.place)
        return left

    def prefixed(self) -> Expression:
        """Read ``-x``, ``!x``, or what they stand before."""
        operators: list[tuple[Prefix, Place]] = []
        while self.next.text in ("-", "!") and self.next.kind is Kind.SYMBOL:
            if len(operators) == _DEEPEST:
                raise self.wrong("a value after so many operators")
            word = self.take()
            operators.append((Prefix(word.text), word.place))
        value = self.primary()
        for operator, place in reversed(operators):
            value = Prefixed(operator, value, place)
        return value

    def primary(self) -> Expression:
        """Read a number, a name, an element, a call, a conversion, or parentheses."""
        if self.next.kind is Kind.NUMBER:
            return self.number()
        if self.skip("("):
            value = self.expression()
            self.expect(")", "to close '('")
            return value
        word = self.name("an expression")
        if _DIMENSION.fullmatch(self.next.text):
            return self.dimension(word)
        if not self.is_next("("):
            return Name(word.text, word.place)
        if word.text in self.definitions and function_named(word.text) is None:
            raise SourceError(
                word.place,
                f"{word.text} is a definition: expected a tensor or a function",
                f"a call of it is a statement of its own, without indices: C = {word.text}(...)",
            )
        self.take()
        arguments: list[Expression] = []
        while not self.is_next(")"):
            if arguments:
                self.expect(",", "or ')' after an argument")
            arguments.append(self.expression())
        self.take()
        if word.text in TYPE_NAMES:
            if len(arguments) != 1:
                raise SourceError(
                    word.place,
                    f"{word.text}(...): expected one value to convert, found {len(arguments)}",
                )
            return Convert(TYPE_NAMES[word.text], arguments[0], word.place)
        return Element(word.text, tuple(arguments), word.place)

    def dimension(self, tensor: Token) -> Name | Number:
        """Read the ``.0`` of ``A.0``; return the size that A is declared with."""
        if tensor.text not in self.sizes_of:
            raise SourceError(
                tensor.place,
                f"{tensor.text}{self.next.text}: expected a tensor with declared sizes, found "
                f"{tensor.text}",
                f"those are: {', '.join(self.sizes_of) or 'there is none'}",
            )
        sizes, number = self.sizes_of[tensor.text], int(self.next.text[1:])
        if number >= len(sizes):
            raise SourceError(
                tensor.place,
                f"{tensor.text}{self.next.text}: {tensor.text} has {len(sizes)} dimension(s), "
                "counted from 0",
            )
        self.take()
        return replace(sizes[number], place=tensor.place)

    def number(self) -> Number:
        """Read a literal."""
        word = self.take()
        digits = word.text.rstrip("fFlL")
        is_whole = digits.isdigit() and not word.text.lower().endswith("f")
        if is_whole and (len(digits) > _LONGEST_NUMBER or int(digits) >= 1 << 63):
            raise SourceError(word.place, "expected a number that fits 64 bits")
        return Number(int(digits) if is_whole else float(digits), word.text, word.place)
