"""Arithmetic, comparisons and truth values, with no more parentheses and casts than they need."""

from __future__ import annotations

from polygym.codegen.c.kernel.expressions.numbers import number_text
from polygym.codegen.c.kernel.expressions.texts import (
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUALITY,
    OR,
    ORDER,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    Text,
)
from polygym.codegen.c.kernel.expressions.value_texts import ValueTexts
from polygym.codegen.c.kernel.names import scalar_name
from polygym.codegen.c.kernel.values import Constant, Kind, Operation, Value

_ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BINARY = {
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "fadd": ("+", SUM),
    "fsub": ("-", SUM),
    "fmul": ("*", PRODUCT),
    "fdiv": ("/", PRODUCT),
    "sdiv": ("/", PRODUCT),
    "udiv": ("/", PRODUCT),
    "srem": ("%", PRODUCT),
    "urem": ("%", PRODUCT),
    "and": ("&", BIT_AND),
    "or": ("|", BIT_OR),
    "xor": ("^", BIT_XOR),
    "shl": ("<<", SHIFT),
    "lshr": (">>", SHIFT),
    "ashr": (">>", SHIFT),
}
"""The operators of operations, and how tightly they bind."""


def binary_operation(values: ValueTexts, operation: Operation) -> Text:
    """Return an operation of two numbers, or of their lanes."""
    name, (left, right), kind = operation.name, operation.operands, operation.kind
    sign, own = BINARY[name]
    if kind.is_truth:
        return _truth(values, name, left, right)
    if name in ("lshr", "udiv", "urem", "shl"):
        first = values.unsigned(left, own + (own == SHIFT))
        second = values.signed(right, own + 1) if kind.lanes is None else ""
        if kind.lanes is not None or name in ("udiv", "urem"):
            second = values.unsigned(right, own + 1)
        return _narrowed(Text(f"{first} {sign} {second}", own, True), kind)
    if name in ("add", "sub", "mul") and operation.data is True:
        first = values.unsigned(left, own)
        if kind.lanes is not None:
            second = values.unsigned(right, own + 1)
        else:
            second = values.text_of(right).within(own + 1)
        if name == "mul" and kind.bits < 32 and kind.lanes is None:
            first = f"1u * {first}"
        return _narrowed(Text(f"{first} {sign} {second}", own, True), kind)
    inner = UNARY if own <= SHIFT and kind.base in "im" and own != SUM else own
    if own == SUM and kind.base == "i" and isinstance(right, Constant) and kind.lanes is None:
        if right.value < 0 and right.value > -(1 << 62) and name == "add":
            return Text(f"{values.signed(left, SUM)} - {number_text(kind, -right.value)}", SUM)
    if name == "sub" and isinstance(left, Constant) and left.value == 0 and kind.base == "i":
        return Text(f"-{values.signed(right, UNARY)}", UNARY)
    text = f"{values.signed(left, inner)} {sign} {values.signed(right, max(inner, own + 1))}"
    return _narrowed(Text(text, own), kind)


def _narrowed(text: Text, kind: Kind) -> Text:
    """Return a number of less than 32 bits as one again, after C has made it an int."""
    if kind.lanes is not None or kind.base == "f" or kind.bits >= 32:
        return text
    name = scalar_name(kind, is_unsigned=text.is_unsigned)
    return Text(f"({name}){text.within(UNARY)}", UNARY, text.is_unsigned)


def _truth(values: ValueTexts, name: str, left: Value, right: Value) -> Text:
    """Return a conjunction, a disjunction or a difference of truth values."""
    if name == "xor":
        if isinstance(right, Constant) and right.value:
            return Text(f"!{values.signed(left, UNARY)}", UNARY)
        return Text(f"{values.signed(left, UNARY)} != {values.signed(right, UNARY)}", EQUALITY)
    sign, own = ("&&", AND) if name == "and" else ("||", OR)
    # Compilers warn of a conjunction in a disjunction without parentheses.
    first, second = (values.text_of(value) for value in (left, right))
    texts = [
        t.text if t.precedence in (own, *range(BIT_OR, 16)) else f"({t.text})"
        for t in (first, second)
    ]
    return Text(f"{texts[0]} {sign} {texts[1]}", own)


def comparison(values: ValueTexts, operation: Operation) -> Text:
    """Return a comparison."""
    predicate, (left, right) = operation.data, operation.operands
    if operation.name == "fcmp":
        return _float_comparison(values, predicate, left, right)
    if predicate in ("eq", "ne"):
        sign = "==" if predicate == "eq" else "!="
        if left.kind.base == "p":
            first, second = values.pointer(left, ORDER), values.pointer(right, ORDER)
            return Text(f"{first} {sign} {second}", EQUALITY)
        return Text(f"{values.signed(left, SHIFT)} {sign} {values.signed(right, SHIFT)}", EQUALITY)
    side = values.unsigned if predicate[0] == "u" else values.signed
    text = f"{side(left, SHIFT)} {_ORDERS[predicate[1:]]} {side(right, SHIFT)}"
    return Text(text, ORDER)


def _float_comparison(values: ValueTexts, predicate: str, left: Value, right: Value) -> Text:
    """Return a comparison of floating numbers, of which any may be no number."""
    first, second = values.signed(left, SHIFT), values.signed(right, SHIFT)
    if predicate in ("oeq", "une"):
        return Text(f"{first} {'==' if predicate == 'oeq' else '!='} {second}", EQUALITY)
    if predicate == "uno" and first == second:
        return Text(f"{first} != {second}", EQUALITY)
    if predicate == "uno":
        return Text(f"(({first} != {first}) | ({second} != {second}))")
    if predicate[0] == "o" and predicate[1:] in _ORDERS:
        return Text(f"{first} {_ORDERS[predicate[1:]]} {second}", ORDER)
    raise NotImplementedError(predicate)
