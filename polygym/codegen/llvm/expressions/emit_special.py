"""The functions that the C library has not, in LLVM IR: a function of the module for each.

What they compute is in :mod:`polygym.codegen.common.special_functions`; no operation may be
contracted or reordered, so that printed C has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.common.special_functions.definitions import operations_of
from polygym.codegen.common.special_functions.operations import (
    BinaryOperation,
    CallOperation,
    ConstantOperation,
    SelectOperation,
    SpecialOperation,
)
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType

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
        _emit_operations(known, function, library)
    result = builder.call(known, [value])
    return builder.fptrunc(result, kind) if scalar is ScalarType.FLOAT else result


def _emit_operations(
    function_value: ir.Function, function: MathFunction, library: LibraryCall
) -> None:
    """Emit the operations of a function, one after the other."""
    builder = ir.IRBuilder(function_value.append_basic_block())
    steps, result = operations_of(function)
    values: list[Any] = []

    def of(number: int) -> Any:
        return function_value.args[0] if number < 0 else values[number]

    def emitted(step: SpecialOperation) -> Any:
        match step:
            case ConstantOperation(value):
                return ir.Constant(ir.DoubleType(), value)
            case BinaryOperation(operator, first, second):
                operation = {
                    "+": builder.fadd,
                    "-": builder.fsub,
                    "*": builder.fmul,
                    "/": builder.fdiv,
                }[operator]
                return operation(of(first), of(second))
            case SelectOperation(first, second, then, otherwise):
                holds = builder.fcmp_ordered("<", of(first), of(second))
                return builder.select(holds, of(then), of(otherwise))
            case CallOperation(called, arguments):
                return library(builder, called, [of(argument) for argument in arguments])
            case _:
                assert_never(step)

    for step in steps:
        values.append(emitted(step))
    builder.ret(of(result))
