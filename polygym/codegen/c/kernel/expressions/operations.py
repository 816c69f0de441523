"""Operations as C expressions."""

from __future__ import annotations

from collections.abc import Sequence

from polygym.codegen.c.kernel.expressions.arithmetic import BINARY, binary_operation, comparison
from polygym.codegen.c.kernel.expressions.memory import address, load, row_element
from polygym.codegen.c.kernel.expressions.texts import BIT_AND, CONDITION, OR, POSTFIX, UNARY, Text
from polygym.codegen.c.kernel.expressions.value_texts import ValueTexts
from polygym.codegen.c.kernel.names import scalar_name, type_name, word_of
from polygym.codegen.c.kernel.values import Kind, Operation, Value


def operation_text(values: ValueTexts, operation: Operation) -> Text:
    """Return the text of an operation that is an expression."""
    name, operands, kind = operation.name, operation.operands, operation.kind
    if name in BINARY:
        return binary_operation(values, operation)
    match name:
        case "icmp" | "fcmp":
            return comparison(values, operation)
        case "min" | "max" | "lesser" | "greater":
            word = "" if name in ("min", "max") else f"_{type_name(kind)}"
            return Text(f"polygym_{name}{word}({values.arguments(operands)})")
        case "select":
            return _selection(values, operation)
        case "select_first":
            return Text(f"polygym_select_first_{type_name(kind)}({values.arguments(operands)})")
        case "first_mask":
            return Text(f"polygym_first_{type_name(kind)}({values.arguments(operands)})")
        case "convert_mask":
            return Text(_converted(values.signed(operands[0]), operands[0].kind, kind))
        case "fneg":
            return Text(f"-{values.signed(operands[0], UNARY)}", UNARY)
        case "fma" | "fnma" | "fms" | "fnms":
            return Text(f"polygym_{name}_{type_name(kind)}({values.arguments(operands)})")
        case "exact_fma" | "math" | "saturate" | "any_lane" | "bitcast":
            return _helper_call(values, operation)
        case "splat":
            return Text(f"polygym_splat_{type_name(kind)}({values.arguments(operands)})")
        case "insert":
            raise AssertionError("vectors are not made element by element")
        case "lanes":
            return Text(f"({type_name(kind)}){{{values.arguments(operands)}}}")
        case "extract":
            return Text(f"{values.signed(operands[0], POSTFIX)}[{operation.data}]")
        case "shuffle":
            places = ", ".join(map(str, operation.data))
            vectors = [operands[0], operands[-1]]
            return Text(f"__builtin_shufflevector({values.arguments(vectors)}, {places})")
        case "function":
            return Text(f"{operation.data}({values.arguments(operands)})")
        case "threads" | "thread":
            return Text(f"polygym_{name}()")
        case "address":
            return address(values, operation)
        case "row":
            return row_element(values, operation)
        case "load" | "masked_load" | "strided_load" | "gather" | "scattered_load":
            return load(values, operation)
        case "ptrtoint":
            return Text(f"(long){values.pointer(operands[0], UNARY)}", UNARY)
        case _:
            return _cast(values, operation)


def conditional_operands(operation: Operation) -> Sequence[Value]:
    """Return the operands that C evaluates under a condition: of ``?:``, ``&&`` and ``||``."""
    operands = operation.operands
    match operation.name:
        case "select" if operands[0].kind.lanes is None:
            return operands[1:]
        case "and" | "or" if operation.kind.is_truth:
            return operands[1:]
        case _:
            return ()


def _selection(values: ValueTexts, operation: Operation) -> Text:
    """Return a conditional expression; of vectors, a call."""
    condition, then, otherwise = operation.operands
    if condition.kind.lanes is not None:
        name = f"polygym_select_{type_name(operation.kind)}"
        return Text(f"{name}({values.arguments(operation.operands)})")
    text = f"{values.signed(condition, OR + 1)} ? {values.signed(then, CONDITION + 1)} : "
    return Text(text + values.signed(otherwise, CONDITION), CONDITION)


def _helper_call(values: ValueTexts, operation: Operation) -> Text:
    """Return a call of a helper, or the same bits as another type."""
    name, kind, operands = operation.name, operation.kind, operation.operands
    source = operands[0].kind
    match name:
        case "exact_fma":
            called = f"polygym_exact_fma_{type_name(kind)}"
        case "math":
            called = f"polygym_{operation.data}_{type_name(kind)}"
        case "saturate":
            sign = "" if operation.data else "u"
            called = f"polygym_saturate_{type_name(source)}_to_{sign}{word_of(kind)}"
        case "any_lane":
            called = f"polygym_any_{type_name(source)}"
        case _ if kind == source:
            return values.text_of(operands[0])
        case _ if kind.lanes is not None:
            return Text(f"({type_name(kind)}){values.signed(operands[0], UNARY)}", UNARY)
        case _:
            called = f"polygym_bits_{word_of(source)}_to_{word_of(kind)}"
    return Text(f"{called}({values.arguments(operands)})")


def _cast(values: ValueTexts, operation: Operation) -> Text:
    """Return a conversion of a number, or of lanes."""
    name, kind, value = operation.name, operation.kind, operation.operands[0]
    if name in ("zext", "uitofp") and not value.kind.is_truth:
        source = values.unsigned(value, UNARY)
    else:
        source = values.signed(value, UNARY)
    if kind.lanes is None:
        if kind.is_truth:
            return Text(f"{source} & 1", BIT_AND)
        return Text(f"({scalar_name(kind)}){source}", UNARY)
    return Text(_converted(source, value.kind, kind))


def _converted(text: str, source: Kind, kind: Kind) -> str:
    """Return lanes as others; integers become twice as wide, or half, in each step.

    Processors widen bytes to floats so, and gcc takes what does more in a step apart, lane by
    lane: ``char_x8`` → ``short_x8`` → ``int_x8`` → ``float_x8``.
    """
    bits = source.bits
    if source.base != "f":
        widest = min(kind.bits, 32) if kind.base == "f" else kind.bits
        while bits < widest:
            bits *= 2
            if bits < widest or kind.base == "f":
                text = f"__builtin_convertvector({text}, {type_name(Kind('i', bits, kind.lanes))})"
        while kind.base != "f" and bits > 2 * kind.bits:
            bits //= 2
            text = f"__builtin_convertvector({text}, {type_name(Kind('i', bits, kind.lanes))})"
    return f"__builtin_convertvector({text}, {type_name(kind)})"
