"""Calls of math.h in LLVM IR: an intrinsic where LLVM has one, the C library otherwise.

Declared functions promise what mathematics promises: no memory (``readnone``) and no exceptions
(``nounwind``). So LLVM may move them out of loops, which C's ``errno`` forbids by default. That is
so: they return for all arguments, and what they write is ``errno``, which no code here reads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.common.math_support import INTRINSICS, MIN_MAX_OPERATORS
from polygym.codegen.common.special_functions.definitions import SPECIAL_FUNCTIONS
from polygym.codegen.llvm.core.declarations import declare_function
from polygym.codegen.llvm.expressions.emit_exponential import emit_exponential
from polygym.codegen.llvm.expressions.emit_foreign import emit_foreign
from polygym.codegen.llvm.expressions.emit_special import emit_special
from polygym.ir.expressions import MathFunction
from polygym.ir.foreign_functions import ForeignFunction
from polygym.ir.types import ScalarType


def emit_math_call(
    module: ir.Module,
    builder: ir.IRBuilder,
    function: MathFunction | ForeignFunction,
    type_: ScalarType,
    arguments: list[Any],
) -> Any:
    """Return the value of a call; the arguments have ``type_``, or what a foreign one takes."""
    if isinstance(function, ForeignFunction):
        return emit_foreign(module, builder, function, type_, arguments)
    kind = arguments[0].type
    if function is MathFunction.ABS:
        return _absolute(builder, arguments[0])
    if function is MathFunction.EXPONENTIAL:
        return emit_exponential(builder, type_, arguments[0])
    if function in SPECIAL_FUNCTIONS:

        def library(inside: ir.IRBuilder, called: MathFunction, values: list[Any]) -> Any:
            return emit_math_call(module, inside, called, ScalarType.DOUBLE, values)

        return emit_special(builder, function, type_, arguments[0], library)
    if function in MIN_MAX_OPERATORS:
        return _min_max(builder, MIN_MAX_OPERATORS[function], *arguments)
    if function in INTRINSICS:
        intrinsic = module.declare_intrinsic(
            INTRINSICS[function], [kind], ir.FunctionType(kind, [kind] * function.arity)
        )
        return builder.call(intrinsic, arguments)
    of_c = ir.FunctionType(kind, [kind] * function.arity)
    known = declare_function(module, function.c_name(type_), of_c, "nounwind", "readnone")
    return builder.call(known, arguments)


def _min_max(builder: ir.IRBuilder, operator: str, first: Any, second: Any) -> Any:
    """Return the smaller or the larger of two numbers; of a number and none, the number.

    LLVM has intrinsics for these, but its vectoriser loses elements of rows where a loop has
    several of them (seen in LLVM 22: eight rows' maxima together, rows of 6, 7 or 10 elements).
    """
    instr = builder.select(builder.fcmp_ordered(operator, first, second), first, second)
    return builder.select(builder.fcmp_unordered("uno", second, second), first, instr)


def _absolute(builder: ir.IRBuilder, value: Any) -> Any:
    """Return |value| for an integer; the smallest one stays as it is."""
    zero = builder.sub(value, value)
    return builder.select(builder.icmp_signed("<", value, zero), builder.neg(value), value)
