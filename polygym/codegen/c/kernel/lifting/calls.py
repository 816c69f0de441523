"""Calls: of the module's own functions, of helpers, of LLVM's intrinsics, of libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polygym.codegen.c.kernel.lifting.builder import OperationBuilder
from polygym.codegen.c.kernel.lifting.constants import kind_of
from polygym.codegen.c.kernel.lifting.masks import converted_mask
from polygym.codegen.c.kernel.lifting.memory import gather, masked_access, scatter
from polygym.codegen.c.kernel.values import POINTER, TRUTH, VOID, Kind, Operation, Value

_MATH = ("sqrt", "fabs", "floor", "ceil", "trunc", "round", "rint", "copysign")
_HELPERS = {
    "polygym_allocate": "allocate",
    "polygym_reserve": "reserve",
    "free": "free",
    "polygym_threads": "threads",
    "polygym_thread": "thread",
    "polygym_stream": "stream",
}


def call(
    builder: OperationBuilder, instruction: Any, arguments: list[Value], names: Mapping[str, str]
) -> Value:
    """Return a call; ``names`` are those of the module's own functions, in C."""
    callee = instruction.callee
    kind = kind_of(instruction.type)
    if callee.name in names:
        parallel = getattr(instruction, "parallel_loop", None)
        own = "call" if parallel is None else "parallel_call"
        target = (names[callee.name], parallel)
        return builder.emit(own, kind, *arguments, data=(*target, callee))
    name = callee.name
    parts = name.split(".")
    if parts[0] == "llvm":
        return _intrinsic(builder, parts, kind, arguments)
    if parts[0] in _HELPERS:
        result = builder.emit(_HELPERS[parts[0]], kind, *arguments)
        if isinstance(result, Operation):
            result.hint = instruction.name or ("memory" if kind is POINTER else "")
        return result
    return builder.emit("function", kind, *arguments, data=name)


def _intrinsic(
    builder: OperationBuilder, parts: list[str], kind: Kind, arguments: list[Value]
) -> Value:
    """Return a call of an intrinsic, whose name has these parts."""
    match parts[1:]:
        case ["fmuladd", *_]:
            return _fused(builder, kind, arguments)
        case ["fma", *_]:
            return builder.emit("exact_fma", kind, *arguments)
        case [("fptosi" | "fptoui") as own, "sat", *_]:
            return builder.emit("saturate", kind, *arguments, data=own == "fptosi")
        case ["masked", "load", *_]:
            pointer, _, mask, _ = arguments
            return masked_access(builder, "load", kind, [pointer], mask)
        case ["masked", "store", *_]:
            value, pointer, _, mask = arguments
            return masked_access(builder, "store", VOID, [value, pointer], mask)
        case ["masked", "gather", *_]:
            return gather(builder, kind, arguments[0], arguments[2])
        case ["masked", "scatter", *_]:
            return scatter(builder, arguments[0], arguments[1], arguments[3])
        case ["prefetch", *_]:
            return builder.emit("prefetch", VOID, arguments[0])
        case ["trap"]:
            return builder.emit("trap", VOID)
        case ["memcpy", *_]:
            return builder.emit("copy_memory", VOID, *arguments[:3])
        case ["x86", "sse", "sfence"]:
            return builder.emit("fence", VOID)
        case ["vector", "reduce", "or", *_]:
            bits = arguments[0].kind.bits
            return builder.emit(
                "any_lane", TRUTH, converted_mask(builder, arguments[0], bits or 64)
            )
        case [name, *_] if name in _MATH:
            return builder.emit("math", kind, *arguments, data=name)
        case _:
            raise NotImplementedError(".".join(parts))


def _fused(builder: OperationBuilder, kind: Kind, operands: list[Value]) -> Value:
    """Return a b + c; c - a b, a b - c and -a b - c are operations of their own."""
    first, second, third = operands
    name = "fma"
    if isinstance(first, Operation) and first.name == "fneg":
        first, name = first.operands[0], "fnma"
    if isinstance(third, Operation) and third.name == "fneg":
        third, name = third.operands[0], {"fma": "fms", "fnma": "fnms"}[name]
    return builder.emit(name, kind, first, second, third)
