"""Element types, and random expressions that have a value in C.

Signed integers are kept small, so that no sum overflows; unsigned and narrow ones wrap around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whole_program_study.draft import Draft

Leaf = tuple[str, "Element"]


@dataclass(frozen=True, slots=True)
class Element:
    """A type of C as it is written."""

    name: str
    is_float: bool = False
    is_unsigned: bool = False
    is_narrow: bool = False
    bits: int = 32

    @property
    def is_signed_word(self) -> bool:
        """Whether sums of it may overflow without a meaning."""
        return not (self.is_float or self.is_unsigned or self.is_narrow)


DOUBLE, FLOAT = Element("double", is_float=True, bits=64), Element("float", is_float=True)
INT, LONG = Element("int"), Element("long", bits=64)
UNSIGNED = Element("unsigned", is_unsigned=True)
BYTE = Element("unsigned char", is_unsigned=True, is_narrow=True, bits=8)
ELEMENTS = (
    *(DOUBLE, DOUBLE, DOUBLE, FLOAT, FLOAT, INT, INT, INT, LONG, UNSIGNED, BYTE, BYTE),
    Element("uint8_t", is_unsigned=True, is_narrow=True, bits=8),
    Element("int8_t", is_narrow=True, bits=8),
    Element("signed char", is_narrow=True, bits=8),
    Element("short", is_narrow=True, bits=16),
    Element("int16_t", is_narrow=True, bits=16),
    Element("uint16_t", is_unsigned=True, is_narrow=True, bits=16),
    Element("uint32_t", is_unsigned=True),
    Element("uint64_t", is_unsigned=True, bits=64),
    Element("unsigned long", is_unsigned=True, bits=64),
    Element("long long", bits=64),
)


def value(draft: Draft, target: Element, leaves: Sequence[Leaf]) -> str:
    """Return an expression over all leaves that may be stored into a type."""
    if target.is_float:
        return _real(draft, [text for text, _ in leaves])
    return stored(draft, target, _integer(draft, leaves))


def stored(draft: Draft, target: Element, text: str) -> str:
    """Return an integer expression, made small enough for its type."""
    if target.is_signed_word:
        return draft.pick((f"({text}) % 211", f"({text}) & 1023", f"({text}) % 1000"))
    if target.is_narrow and draft.chance(0.3):
        return f"({target.name})({text})"
    if target.is_narrow and draft.chance(0.4):
        low, high = ("0", "255") if target.is_unsigned else ("-128", "127")
        return f"({text}) > {high} ? {high} : ({text}) < {low} ? {low} : ({text})"
    return text


def condition(draft: Draft, leaf: Leaf) -> str:
    """Return a condition on an element."""
    text, element = leaf
    if element.is_float:
        return draft.pick(
            (f"{text} > 0.5", f"{text} < 3", f"fabs({text}) >= 1.25", f"!({text} < 2)")
        )
    return draft.pick(
        (
            f"{text} > 20", f"({text} & 3) == 1", f"{text} % 5 != 2", f"{text}", f"!{text}",
            f"{text} <= 40 && {text} != 7",
        )
    )  # fmt: skip


def _real(draft: Draft, texts: Sequence[str]) -> str:
    result = texts[0]
    for text in texts[1:]:
        result = draft.pick(
            (
                f"{result} + {text}", f"{result} + {text}", f"{result} - {text}",
                f"0.5 * ({result} + {text})", f"{result} + {text} * 0.25f",
                f"({result} + {text}) / 3", f"({result} > {text} ? {result} : {text})",
                f"fmax({result}, {text})", f"0.125 * {text} - ({result})",
            )
        )  # fmt: skip
    return draft.pick(
        (
            result, result, f"({result}) * 0.5", f"fabs({result})", f"sqrt(fabs({result}))",
            f"-({result})", f"({result}) + 1",
        )
    )  # fmt: skip


def _integer(draft: Draft, leaves: Sequence[Leaf]) -> str:
    texts = [f"(int)({text} * 0.01)" if element.is_float else text for text, element in leaves]
    result = texts[0]
    for text in texts[1:]:
        result = draft.pick(
            (
                f"{result} + {text}", f"{result} + {text}", f"{result} - {text}",
                f"({result} + {text}) / 2", f"(({result}) ^ {text})", f"(({result}) & {text})",
                f"(({result}) | {text})", f"({result} > {text} ? {result} : {text})",
                f"{result} + {text} * 3", f"({result} + {text} + 1) / 3",
                f"({result}) % 7 + {text}",
            )
        )  # fmt: skip
    return draft.pick(
        (
            result, result, f"({result}) * 2", f"({result}) / 4", f"({result}) + 5",
            f"-({result})", f"(({result}) & 255) >> 1", f"(({result}) & 63) << 2",
            f"~({result})", f"abs((int)(({result}) % 50))",
        )
    )  # fmt: skip
