"""The functions that the C library has not, in LLVM IR: a function of the module for each.

What they compute is in :mod:`polygym.compiler.codegen.common.special`; no operation may be
contracted or reordered, so that printed C has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from llvmlite import ir

from polygym.compiler.codegen.common.special.definitions import steps_of
from polygym.compiler.codegen.common.special.steps import (
    Arithmetic,
    Constant,
    Library,
    Selection,
    Step,
)
from polygym.compiler.ir.expr import MathFunction
from polygym.compiler.ir.types import ScalarType

LibraryCall = Callable[[ir.IRBuilder, MathFunction, list[Any]], Any]


def emit_special(
    builder: ir.IRBuilder,
    function: MathFunction,
    scalar: ScalarType,
    value: Any,
    library: LibraryCall,
) -> Any:
    """Return a function of a value; ``library`` emits calls of math.h in a function's body."""
    own, kind = ir.DoubleType(), value.type
    if scalar is ScalarType.FLOAT:
        value = builder.fpext(value, own)
    name = function.c_name(ScalarType.DOUBLE)
    known = builder.module.globals.get(name)
    if known is None:
        known = ir.Function(builder.module, ir.FunctionType(own, [own]), name)
        known.linkage = "internal"
        for attribute in ("nounwind", "readnone"):
            known.attributes.add(attribute)
        _emit_body(known, function, library)
    result = builder.call(known, [value])
    return builder.fptrunc(result, kind) if scalar is ScalarType.FLOAT else result


def _emit_body(known: ir.Function, function: MathFunction, library: LibraryCall) -> None:
    """Emit the operations of a function, one after the other."""
    builder = ir.IRBuilder(known.append_basic_block())
    steps, result = steps_of(function)
    values: list[Any] = []

    def of(number: int) -> Any:
        return known.args[0] if number < 0 else values[number]

    def emitted(step: Step) -> Any:
        match step:
            case Constant(value):
                return ir.Constant(ir.DoubleType(), value)
            case Arithmetic(operator, first, second):
                operation = {
                    "+": builder.fadd,
                    "-": builder.fsub,
                    "*": builder.fmul,
                    "/": builder.fdiv,
                }[operator]
                return operation(of(first), of(second))
            case Selection(first, second, then, otherwise):
                holds = builder.fcmp_ordered("<", of(first), of(second))
                return builder.select(holds, of(then), of(otherwise))
            case Library(called, arguments):
                return library(builder, called, [of(one) for one in arguments])
            case _:
                assert_never(step)

    for step in steps:
        values.append(emitted(step))
    builder.ret(of(result))
