"""Texts of values: operands and constants as signed or unsigned numbers, or as pointers.

Integer arithmetic that may wrap is unsigned, as C has it; all else, and all variables, are signed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polygym.codegen.c.kernel.expressions.numbers import number_text
from polygym.codegen.c.kernel.expressions.texts import LOWEST, POSTFIX, UNARY, Text
from polygym.codegen.c.kernel.names import type_name
from polygym.codegen.c.kernel.values import Constant, Value


@dataclass(frozen=True)
class ValueTexts:
    """Prints values; ``text_of`` gives the text of a value, ``pointee`` a pointer's type."""

    text_of: Callable[[Value], Text]
    pointee: Callable[[Value], str]

    def signed(self, value: Value, precedence: int = LOWEST) -> str:
        """Return the text of a value as a signed number."""
        text = self.text_of(value)
        if text.is_unsigned and value.kind.base in "im":
            return Text(f"({type_name(value.kind)}){text.within(UNARY)}", UNARY).within(precedence)
        return text.within(precedence)

    def unsigned(self, value: Value, precedence: int = LOWEST) -> str:
        """Return the text of a value as an unsigned number."""
        text = self.text_of(value)
        if text.is_unsigned or value.kind.base == "f":
            return text.within(precedence)
        name = type_name(value.kind, is_unsigned=True)
        return Text(f"({name}){text.within(UNARY)}", UNARY).within(precedence)

    def pointer(self, value: Value, precedence: int = LOWEST) -> str:
        """Return the text of a pointer."""
        if isinstance(value, Constant):
            return "(void *)0"
        return self.text_of(value).within(precedence)

    def arguments(self, values: list[Value]) -> str:
        """Return the texts of the arguments of a call."""
        return ", ".join(
            self.pointer(value) if value.kind.base == "p" else self.signed(value)
            for value in values
        )


def constant_text(constant: Constant) -> Text:
    """Return the text of a constant."""
    kind, value = constant.kind, constant.value
    if kind.base == "p":
        return Text("(void *)0", UNARY)
    if kind.lanes is None:
        text = number_text(kind, 0 if value is None else value)
        return Text(text, UNARY if text.startswith("-") else POSTFIX)
    values = (0,) * kind.lanes if value is None else value
    if constant.uniform is not None or value is None:
        own = number_text(kind.scalar, values[0])
        if own in ("0", "0.0", "0.0f"):
            return Text(f"({type_name(kind)}){{0}}")
        return Text(f"polygym_splat_{type_name(kind)}({own})")
    texts = ", ".join(number_text(kind.scalar, number) for number in values)
    return Text(f"({type_name(kind)}){{{texts}}}")
