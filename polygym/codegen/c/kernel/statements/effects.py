"""Statements of operations that must stay where they are: stores, calls, fences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygym.codegen.c.kernel.expressions.memory import lane_tests, place, typed_pointer
from polygym.codegen.c.kernel.expressions.texts import LOWEST, UNARY
from polygym.codegen.c.kernel.expressions.value_texts import ValueTexts
from polygym.codegen.c.kernel.names import type_name
from polygym.codegen.c.kernel.statements.uses import CHUNKS
from polygym.codegen.c.kernel.values import LiftedFunction, Operation, Value

_LONGEST_LINE = 94
_FUNCTIONS = {
    "prefetch": "__builtin_prefetch",
    "trap": "__builtin_trap",
    "fence": "polygym_fence",
    "copy_memory": "__builtin_memcpy",
    "reserve": "polygym_reserve",
    "free": "free",
    "publish": "polygym_publish",
}
"""Operations that are calls of functions with the same operands."""


def effect_lines(
    values: ValueTexts, operation: Operation, callees: Mapping[str, LiftedFunction]
) -> list[str]:
    """Return the lines of an operation with an effect."""
    operands = operation.operands
    match operation.name:
        case "store":
            value = _stored(values, operands[0], operands[1])
            target = place(values, operands[1], operands[0].kind, is_read=False)
            return [f"{target.text} = {value};"]
        case "masked_store":
            which, kind = operation.data
            stored, pointer, mask = operands
            name = f"polygym_store_{which}_{type_name(kind)}"
            rest = f"{values.pointer(pointer)}, {values.signed(stored)}, {values.signed(mask)}"
            return [f"{name}({rest});"]
        case "strided_store" | "scatter":
            which, kind, element = operation.data
            suffix = "" if which == "all" else f"_{which}"
            base = typed_pointer(values, operands[1], element, LOWEST)
            rest = values.arguments([operands[2], operands[0], *operands[3:]])
            verb = "store_strided" if operation.name == "strided_store" else "scatter"
            return [f"polygym_{verb}{suffix}_{type_name(kind)}({base}, {rest});"]
        case "scattered_store":
            return _scattered_store(values, operation)
        case "stream":
            stored, pointer = operands
            name = f"polygym_stream_{type_name(stored.kind)}"
            return [f"{name}({values.pointer(pointer)}, {values.signed(stored)});"]
        case "call" | "parallel_call":
            return _call(values, operation, callees)
        case name:
            return [f"{_FUNCTIONS[name]}({values.arguments(operands)});"]


def _stored(values: ValueTexts, value: Value, pointer: Value) -> str:
    """Return the value that is stored; a truth value is 0 or 1 in memory."""
    if values.pointee(pointer) == "_Bool" and value.kind.lanes is None:
        return f"(_Bool){values.signed(value, UNARY)}"
    return values.signed(value)


def _scattered_store(values: ValueTexts, operation: Operation) -> list[str]:
    """Return the stores of lanes to addresses that have nothing in common."""
    which, kind, _ = operation.data
    lanes = kind.lanes
    value, *rest = operation.operands
    addresses, mask = rest[:lanes], rest[lanes:]
    name = values.signed(value)
    tests = [""] * lanes
    if which != "all":
        tests = [f"if ({test}) " for test in lane_tests(values, which, mask, lanes)]
    targets = [place(values, address, kind.scalar, is_read=False) for address in addresses]
    return [f"{tests[k]}{target.text} = {name}[{k}];" for k, target in enumerate(targets)]


def _call(
    values: ValueTexts, operation: Operation, callees: Mapping[str, LiftedFunction]
) -> list[str]:
    """Return a call, or a loop of calls that threads share."""
    name, schedule, _ = operation.data
    callee = callees[name]
    texts = []
    for argument, value in zip(callee.arguments, operation.operands, strict=True):
        if value.kind.base != "p":
            texts.append(values.signed(value))
            continue
        text = values.pointer(value, UNARY)
        if values.pointee(value) != argument.pointee:
            const = "" if argument.is_written else "const "
            text = f"({const}{argument.pointee} *){text}"
        texts.append(text)
    if schedule is None:
        return _wrapped(f"{name}(", texts)
    return [
        f"#pragma omp parallel for schedule({schedule})",
        f"for (long polygym_chunk = 0; polygym_chunk < {texts[CHUNKS]}; polygym_chunk++)",
        *("  " + line for line in _wrapped(f"{name}(", ["polygym_chunk", *texts[1:]])),
    ]


def _wrapped(start: str, arguments: Sequence[str]) -> list[str]:
    """Return the lines of a call, none of them long."""
    lines, current = [], start
    for number, argument in enumerate(arguments):
        more = argument + ("," if number < len(arguments) - 1 else ");")
        is_full = len(current) + len(more) > _LONGEST_LINE
        if is_full and current.strip() and not current.endswith("("):
            lines.append(current.rstrip())
            current = " " * 4
        current += more + " "
    return [*lines, (current if arguments else start + ");").rstrip()]
