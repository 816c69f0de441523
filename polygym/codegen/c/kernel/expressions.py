"""Operations as C expressions, with no more parentheses and casts than they need.

Integer arithmetic that may wrap is unsigned, as C has it; all else, and all variables, are signed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from polygym.codegen.c.kernel.names import scalar_name, type_name
from polygym.codegen.c.kernel.values import LONG, Argument, Constant, Kind, Operation, Value

POSTFIX, UNARY, PRODUCT, SUM, SHIFT, ORDER, EQUALITY = 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITION, LOWEST = 8, 7, 6, 5, 4, 3, 0

_ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BINARY = {
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


class Text(NamedTuple):
    """The text of a value, how tightly it binds, and whether its C type is unsigned."""

    text: str
    precedence: int = POSTFIX
    is_unsigned: bool = False

    def within(self, precedence: int) -> str:
        """Return the text in parentheses where its surroundings bind tighter."""
        return self.text if self.precedence >= precedence else f"({self.text})"


@dataclass(frozen=True)
class Expressions:
    """Prints operations; ``text_of`` gives the text of an operand, ``pointee`` a pointer's type."""

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

    def operation(self, operation: Operation) -> Text:
        """Return the text of an operation that is an expression."""
        name, operands, kind = operation.name, operation.operands, operation.kind
        if name in _BINARY:
            return self._binary(operation)
        match name:
            case "icmp" | "fcmp":
                return self._comparison(operation)
            case "min" | "max" | "lesser" | "greater":
                word = "" if name in ("min", "max") else f"_{type_name(kind)}"
                return Text(f"polygym_{name}{word}({self._arguments(operands)})")
            case "select":
                return self._select(operation)
            case "select_first":
                return Text(f"polygym_select_first_{type_name(kind)}({self._arguments(operands)})")
            case "first_mask":
                return Text(f"polygym_first_{type_name(kind)}({self._arguments(operands)})")
            case "convert_mask":
                return Text(
                    f"__builtin_convertvector({self.signed(operands[0])}, {type_name(kind)})"
                )
            case "fneg":
                return Text(f"-{self.signed(operands[0], UNARY)}", UNARY)
            case "fma" | "fnma" | "fms" | "fnms":
                return Text(f"polygym_{name}_{type_name(kind)}({self._arguments(operands)})")
            case "exact_fma" | "math" | "saturate" | "any_lane" | "bitcast":
                return self._helper(operation)
            case "splat":
                return Text(f"polygym_splat_{type_name(kind)}({self._arguments(operands)})")
            case "insert":
                raise AssertionError("vectors are not made element by element")
            case "lanes":
                return Text(f"({type_name(kind)}){{{self._arguments(operands)}}}")
            case "extract":
                return Text(f"{self.signed(operands[0], POSTFIX)}[{operation.data}]")
            case "shuffle":
                places = ", ".join(map(str, operation.data))
                vectors = [operands[0], operands[-1]]
                return Text(f"__builtin_shufflevector({self._arguments(vectors)}, {places})")
            case "function":
                return Text(f"{operation.data}({self._arguments(operands)})")
            case "threads":
                return Text("polygym_threads()")
            case "address":
                return self.address(operation)
            case "load" | "masked_load" | "strided_load" | "gather" | "scattered_load":
                return self._load(operation)
            case "ptrtoint":
                return Text(f"(long){self.pointer(operands[0], UNARY)}", UNARY)
            case _:
                return self._cast(operation)

    def _arguments(self, values: list[Value]) -> str:
        return ", ".join(
            self.pointer(value) if value.kind.base == "p" else self.signed(value)
            for value in values
        )

    def _binary(self, operation: Operation) -> Text:
        name, (left, right), kind = operation.name, operation.operands, operation.kind
        sign, own = _BINARY[name]
        if kind.is_truth:
            return self._truth(name, left, right)
        if name in ("lshr", "udiv", "urem", "shl"):
            first = self.unsigned(left, own + (own == SHIFT))
            second = self.signed(right, own + 1) if kind.lanes is None else ""
            if kind.lanes is not None or name in ("udiv", "urem"):
                second = self.unsigned(right, own + 1)
            return self._narrowed(Text(f"{first} {sign} {second}", own, True), kind)
        if name in ("add", "sub", "mul") and operation.data is True:
            first = self.unsigned(left, own)
            if kind.lanes is not None:
                second = self.unsigned(right, own + 1)
            else:
                second = self.text_of(right).within(own + 1)
            if name == "mul" and kind.bits < 32 and kind.lanes is None:
                first = f"1u * {first}"
            return self._narrowed(Text(f"{first} {sign} {second}", own, True), kind)
        inner = UNARY if own <= SHIFT and kind.base in "im" and own != SUM else own
        if own == SUM and kind.base == "i" and isinstance(right, Constant) and kind.lanes is None:
            if right.value < 0 and right.value > -(1 << 62) and name == "add":
                return Text(f"{self.signed(left, SUM)} - {number_text(kind, -right.value)}", SUM)
        if name == "sub" and isinstance(left, Constant) and left.value == 0 and kind.base == "i":
            return Text(f"-{self.signed(right, UNARY)}", UNARY)
        text = f"{self.signed(left, inner)} {sign} {self.signed(right, max(inner, own + 1))}"
        return self._narrowed(Text(text, own), kind)

    def _narrowed(self, text: Text, kind: Kind) -> Text:
        """Return a number of less than 32 bits as one again, after C has made it an int."""
        if kind.lanes is not None or kind.base == "f" or kind.bits >= 32:
            return text
        name = scalar_name(kind, is_unsigned=text.is_unsigned)
        return Text(f"({name}){text.within(UNARY)}", UNARY, text.is_unsigned)

    def _truth(self, name: str, left: Value, right: Value) -> Text:
        if name == "xor":
            if isinstance(right, Constant) and right.value:
                return Text(f"!{self.signed(left, UNARY)}", UNARY)
            return Text(f"{self.signed(left, UNARY)} != {self.signed(right, UNARY)}", EQUALITY)
        sign, own = ("&&", AND) if name == "and" else ("||", OR)
        # Compilers warn of a conjunction in a disjunction without parentheses.
        first, second = (self.text_of(value) for value in (left, right))
        texts = [
            t.text if t.precedence in (own, *range(BIT_OR, 16)) else f"({t.text})"
            for t in (first, second)
        ]
        return Text(f"{texts[0]} {sign} {texts[1]}", own)

    def _comparison(self, operation: Operation) -> Text:
        predicate, (left, right) = operation.data, operation.operands
        if operation.name == "fcmp":
            return self._float_comparison(predicate, left, right)
        if predicate in ("eq", "ne"):
            sign = "==" if predicate == "eq" else "!="
            if left.kind.base == "p":
                first, second = self.pointer(left, ORDER), self.pointer(right, ORDER)
                return Text(f"{first} {sign} {second}", EQUALITY)
            return Text(f"{self.signed(left, SHIFT)} {sign} {self.signed(right, SHIFT)}", EQUALITY)
        side = self.unsigned if predicate[0] == "u" else self.signed
        text = f"{side(left, SHIFT)} {_ORDERS[predicate[1:]]} {side(right, SHIFT)}"
        return Text(text, ORDER)

    def _float_comparison(self, predicate: str, left: Value, right: Value) -> Text:
        first, second = self.signed(left, SHIFT), self.signed(right, SHIFT)
        if predicate in ("oeq", "une"):
            return Text(f"{first} {'==' if predicate == 'oeq' else '!='} {second}", EQUALITY)
        if predicate == "uno" and first == second:
            return Text(f"{first} != {second}", EQUALITY)
        if predicate == "uno":
            return Text(f"(({first} != {first}) | ({second} != {second}))")
        if predicate[0] == "o" and predicate[1:] in _ORDERS:
            return Text(f"{first} {_ORDERS[predicate[1:]]} {second}", ORDER)
        raise NotImplementedError(predicate)

    def _select(self, operation: Operation) -> Text:
        condition, then, otherwise = operation.operands
        if condition.kind.lanes is not None:
            name = f"polygym_select_{type_name(operation.kind)}"
            return Text(f"{name}({self._arguments(operation.operands)})")
        text = f"{self.signed(condition, OR + 1)} ? {self.signed(then, CONDITION + 1)} : "
        return Text(text + self.signed(otherwise, CONDITION), CONDITION)

    def _helper(self, operation: Operation) -> Text:
        name, kind, operands = operation.name, operation.kind, operation.operands
        source = operands[0].kind
        match name:
            case "exact_fma":
                called = f"polygym_exact_fma_{type_name(kind)}"
            case "math":
                called = f"polygym_{operation.data}_{type_name(kind)}"
            case "saturate":
                sign = "" if operation.data else "u"
                called = f"polygym_saturate_{type_name(source)}_to_{sign}{_word(kind)}"
            case "any_lane":
                called = f"polygym_any_{type_name(source)}"
            case _ if kind == source:
                return self.text_of(operands[0])
            case _ if kind.lanes is not None:
                return Text(f"({type_name(kind)}){self.signed(operands[0], UNARY)}", UNARY)
            case _:
                called = f"polygym_bits_{_word(source)}_to_{_word(kind)}"
        return Text(f"{called}({self._arguments(operands)})")

    def _cast(self, operation: Operation) -> Text:
        name, kind, value = operation.name, operation.kind, operation.operands[0]
        if name in ("zext", "uitofp") and not value.kind.is_truth:
            source = self.unsigned(value, UNARY)
        else:
            source = self.signed(value, UNARY)
        if kind.lanes is None:
            if kind.is_truth:
                return Text(f"{source} & 1", BIT_AND)
            return Text(f"({scalar_name(kind)}){source}", UNARY)
        return Text(f"__builtin_convertvector({source}, {type_name(kind)})")

    def pointer(self, value: Value, precedence: int = LOWEST) -> str:
        """Return the text of a pointer."""
        if isinstance(value, Constant):
            return "(void *)0"
        return self.text_of(value).within(precedence)

    def address(self, operation: Operation) -> Text:
        """Return the address of an element as a pointer to it."""
        base, offset = operation.operands
        text = f"{self._typed(base, operation.data, POSTFIX)}[{self.signed(offset)}]"
        return Text(f"&{text}", UNARY)

    def _typed(self, base: Value, element: Kind, precedence: int) -> str:
        """Return a pointer as one to elements of a kind, with or without sign."""
        if matches(self.pointee(base), element):
            return self.pointer(base, precedence)
        text = Text(f"({scalar_name(element)} *){self.pointer(base, UNARY)}", UNARY)
        return text.within(precedence)

    def place(self, pointer: Value, kind: Kind, *, is_read: bool) -> Text:
        """Return the number, or the vector, where a pointer points to."""
        const = "const " if is_read else ""
        if kind.lanes is not None:
            own = f"({const}{type_name(kind)}_at *)"
            return Text(f"*{own}{self.pointer(pointer, UNARY)}", UNARY)
        pointee = self._deref_type(pointer)
        if not matches(pointee, kind):
            own = f"({const}{_word(kind)}_at *)"
            return Text(f"*{own}{self.pointer(pointer, UNARY)}", UNARY)
        is_unsigned = pointee in _UNSIGNED_NAMES and kind.base == "i"
        text = self.pointer(pointer, UNARY)
        if text.startswith("&"):
            return Text(text[1:], POSTFIX, is_unsigned)
        if isinstance(pointer, Operation) and pointer.name == "table":
            return Text(f"{text}[0]", POSTFIX, is_unsigned)
        return Text(f"*{text}", UNARY, is_unsigned)

    def _deref_type(self, pointer: Value) -> str:
        return self.pointee(pointer)

    def _load(self, operation: Operation) -> Text:
        kind, operands = operation.kind, operation.operands
        if operation.name == "load":
            return self.place(operands[0], kind, is_read=True)
        which, _, element = (*operation.data, kind.scalar)[:3]
        suffix = "" if which == "all" else f"_{which}"
        word = type_name(kind)
        if operation.name == "masked_load":
            rest = self._arguments(operands[1:])
            return Text(f"polygym_load{suffix}_{word}({self.pointer(operands[0])}, {rest})")
        if operation.name in ("strided_load", "gather"):
            base = self._typed(operands[0], element, LOWEST)
            rest = self._arguments(operands[1:])
            name = "strided" if operation.name == "strided_load" else "gather"
            return Text(f"polygym_{name}{suffix}_{word}({base}, {rest})")
        lanes = kind.lanes or 1
        addresses, mask = operands[:lanes], operands[lanes:]
        loads = [self.place(address, kind.scalar, is_read=True) for address in addresses]
        if which == "all":
            texts = [load.within(CONDITION) for load in loads]
        else:
            tests = self.lane_tests(which, mask, lanes)
            texts = [
                f"{test} ? {load.within(CONDITION + 1)} : 0"
                for test, load in zip(tests, loads, strict=True)
            ]
        return Text(f"({word}){{{', '.join(texts)}}}")

    def lane_tests(self, which: str, mask: list[Value], lanes: int) -> list[str]:
        """Return the conditions under which lanes exist."""
        if which == "first":
            return [f"{self.signed(mask[0], SHIFT)} > {k}" for k in range(lanes)]
        return [f"{self.signed(mask[0], POSTFIX)}[{k}]" for k in range(lanes)]

    def constant(self, constant: Constant) -> Text:
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


def _word(kind: Kind) -> str:
    """Return a part of a helper's name: ``double``, ``int_x8``."""
    return type_name(kind).replace("signed ", "").replace("_Float16", "half")


_UNSIGNED_NAMES = frozenset(
    {
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "_Bool",
        "polygym_bfloat16",
        "unsigned char",
        "unsigned short",
        "unsigned int",
        "unsigned long",
    }
)
_POINTEES = {
    "double": ("f", 64),
    "float": ("f", 32),
    "_Float16": ("f", 16),
    "long": ("i", 64),
    "uint64_t": ("i", 64),
    "unsigned long": ("i", 64),
    "int": ("i", 32),
    "uint32_t": ("i", 32),
    "int16_t": ("i", 16),
    "short": ("i", 16),
    "uint16_t": ("i", 16),
    "polygym_bfloat16": ("i", 16),
    "int8_t": ("i", 8),
    "signed char": ("i", 8),
    "uint8_t": ("i", 8),
    "_Bool": ("i", 8),
}


def matches(pointee: str, kind: Kind) -> bool:
    """Whether what a pointer of a type points to is a number of a kind."""
    return _POINTEES.get(pointee) == (kind.base, kind.bits)


def number_text(kind: Kind, value: Any) -> str:
    """Return a number as C: ``0.1f``, ``-3``, ``4000000000L``."""
    if kind.base == "f":
        return _float_text(float(value), kind.bits)
    value = int(value)
    if kind == LONG and value == -(1 << 63):
        return "(-9223372036854775807L - 1)"
    if kind.bits == 32 and value == -(1 << 31):
        return "(-2147483647 - 1)"
    return f"{value}L" if kind.bits == 64 and abs(value) >= 1 << 15 else str(value)


def _float_text(value: float, bits: int) -> str:
    suffix = "f" if bits == 32 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    if bits == 64:
        return repr(value)
    value = struct.unpack("f", struct.pack("f", value))[0]
    short = f"{value:.9g}"
    if "." not in short and "e" not in short:
        short += ".0"
    return short + suffix


def name_of_argument(argument: Argument) -> str:
    """Return the text of an argument."""
    return argument.name
