"""Places in memory: addresses of elements, what is read there, and under which conditions."""

from __future__ import annotations

from polygym.codegen.c.kernel.expressions.pointees import UNSIGNED_POINTEES, matches
from polygym.codegen.c.kernel.expressions.texts import (
    CONDITION,
    LOWEST,
    POSTFIX,
    SHIFT,
    UNARY,
    Text,
)
from polygym.codegen.c.kernel.expressions.value_texts import ValueTexts
from polygym.codegen.c.kernel.names import scalar_name, type_name, word_of
from polygym.codegen.c.kernel.values import Kind, Operation, Value


def address(values: ValueTexts, operation: Operation) -> Text:
    """Return the address of an element as a pointer to it."""
    base, offset = operation.operands
    text = f"{typed_pointer(values, base, operation.data, POSTFIX)}[{values.signed(offset)}]"
    return Text(f"&{text}", UNARY)


def row_element(values: ValueTexts, operation: Operation) -> Text:
    """Return the address of an element in a short row."""
    base, number = operation.operands
    element, length, column = operation.data
    own = values.pointee(base)
    kind = own if matches(own, element) else scalar_name(element)
    rows = f"(({kind} (*)[{length}]){values.pointer(base, UNARY)})"
    return Text(f"&{rows}[{values.signed(number)}][{column}]", UNARY)


def typed_pointer(values: ValueTexts, base: Value, element: Kind, precedence: int) -> str:
    """Return a pointer as one to elements of a kind, with or without sign."""
    if matches(values.pointee(base), element):
        return values.pointer(base, precedence)
    text = Text(f"({scalar_name(element)} *){values.pointer(base, UNARY)}", UNARY)
    return text.within(precedence)


def place(values: ValueTexts, pointer: Value, kind: Kind, *, is_read: bool) -> Text:
    """Return the number, or the vector, where a pointer points to."""
    const = "const " if is_read else ""
    if kind.lanes is not None:
        own = f"({const}{type_name(kind)}_at *)"
        return Text(f"*{own}{values.pointer(pointer, UNARY)}", UNARY)
    pointee = values.pointee(pointer)
    if not matches(pointee, kind):
        own = f"({const}{word_of(kind)}_at *)"
        return Text(f"*{own}{values.pointer(pointer, UNARY)}", UNARY)
    is_unsigned = pointee in UNSIGNED_POINTEES and kind.base == "i"
    text = values.pointer(pointer, UNARY)
    if text.startswith("&"):
        return Text(text[1:], POSTFIX, is_unsigned)
    if isinstance(pointer, Operation) and pointer.name == "table":
        return Text(f"{text}[0]", POSTFIX, is_unsigned)
    return Text(f"*{text}", UNARY, is_unsigned)


def load(values: ValueTexts, operation: Operation) -> Text:
    """Return what is read from memory: a number, a vector, or some of its lanes."""
    kind, operands = operation.kind, operation.operands
    if operation.name == "load":
        return place(values, operands[0], kind, is_read=True)
    which, _, element = (*operation.data, kind.scalar)[:3]
    suffix = "" if which == "all" else f"_{which}"
    word = type_name(kind)
    if operation.name == "masked_load":
        rest = values.arguments(operands[1:])
        return Text(f"polygym_load{suffix}_{word}({values.pointer(operands[0])}, {rest})")
    if operation.name in ("strided_load", "gather"):
        base = typed_pointer(values, operands[0], element, LOWEST)
        rest = values.arguments(operands[1:])
        name = "strided" if operation.name == "strided_load" else "gather"
        return Text(f"polygym_{name}{suffix}_{word}({base}, {rest})")
    lanes = kind.lanes or 1
    addresses, mask = operands[:lanes], operands[lanes:]
    places = [place(values, address, kind.scalar, is_read=True) for address in addresses]
    if which == "all":
        texts = [text.within(CONDITION) for text in places]
    else:
        tests = lane_tests(values, which, mask, lanes)
        texts = [
            f"{test} ? {text.within(CONDITION + 1)} : 0"
            for test, text in zip(tests, places, strict=True)
        ]
    return Text(f"({word}){{{', '.join(texts)}}}")


def lane_tests(values: ValueTexts, which: str, mask: list[Value], lanes: int) -> list[str]:
    """Return the conditions under which lanes exist."""
    if which == "first":
        return [f"{values.signed(mask[0], SHIFT)} > {k}" for k in range(lanes)]
    return [f"{values.signed(mask[0], POSTFIX)}[{k}]" for k in range(lanes)]
