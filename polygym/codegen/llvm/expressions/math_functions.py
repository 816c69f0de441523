"""Calls of math.h in LLVM IR: an intrinsic where LLVM has one, the C library otherwise.

Declared functions promise what mathematics promises: no memory (``readnone``) and no exceptions
(``nounwind``). So LLVM may move them out of loops, which C's ``errno`` forbids by default. That is
so: they return for all arguments, and what they write is ``errno``, which no code here reads.

Calls of functions that others have compiled: declared as pure, and named for the loader.

Like those of ``math.h`` they are taken to touch no memory that anybody else sees, and to return.

exp in LLVM IR, for one number or for the lanes of a vector: operation by operation the same.

The mathematics is in :mod:`polygym.codegen.common.exponential`. No operation may be
contracted or reordered: then a lane has the bits that the number alone has.

The functions that the C library has not, in LLVM IR: a function of the module for each.

What they compute is in :mod:`polygym.codegen.common.special_functions`; no operation may be
contracted or reordered, so that printed C has the same bits.
"""

from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.common.exponential import EXPONENTIALS
from polygym.codegen.common.math_support import (
    INTRINSICS,
    MIN_MAX_OPERATORS,
    NAN_PROPAGATING,
)
from polygym.codegen.common.special_functions import operations
from polygym.codegen.common.special_functions.definitions import SPECIAL_FUNCTIONS, operations_of
from polygym.codegen.llvm.core.binary_interface import foreign_symbol, library_text
from polygym.codegen.llvm.core.types import I8, I32, I64, LLVM_TYPE, declare_function, value_type
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
        return emit_special(builder, function, type_, arguments[0])
    if function in MIN_MAX_OPERATORS:
        return _min_max(builder, function, *arguments)
    if function in INTRINSICS:
        intrinsic = module.declare_intrinsic(
            INTRINSICS[function], [kind], ir.FunctionType(kind, [kind] * function.arity)
        )
        return builder.call(intrinsic, arguments)
    of_c = ir.FunctionType(kind, [kind] * function.arity)
    known = declare_function(module, function.c_name(type_), of_c, "nounwind", "readnone")
    return builder.call(known, arguments)


def _min_max(builder: ir.IRBuilder, function: MathFunction, first: Any, second: Any) -> Any:
    """Return the smaller or the larger of two numbers; of NaN and a number, what the function says.

    LLVM has intrinsics for these, but its vectoriser loses elements of rows where a loop has
    several of them (seen in LLVM 22: eight rows' maxima together, rows of 6, 7 or 10 elements).
    """
    is_first = builder.fcmp_ordered(MIN_MAX_OPERATORS[function], first, second)
    if function in NAN_PROPAGATING:
        is_nan = builder.fcmp_unordered("uno", first, first)
        return builder.select(builder.or_(is_first, is_nan), first, second)
    chosen = builder.select(is_first, first, second)
    return builder.select(builder.fcmp_unordered("uno", second, second), first, chosen)


def _absolute(builder: ir.IRBuilder, value: Any) -> Any:
    """Return |value| for an integer; the smallest one stays as it is."""
    zero = builder.sub(value, value)
    return builder.select(builder.icmp_signed("<", value, zero), builder.neg(value), value)


def emit_foreign(
    module: ir.Module,
    builder: ir.IRBuilder,
    function: ForeignFunction,
    type_: ScalarType,
    arguments: list[Any],
) -> Any:
    """Return the value of a call."""
    name = function.name
    if function.library:
        name = foreign_symbol(function.digest, name)
        _reference_library(module, function)
    kind = ir.FunctionType(
        LLVM_TYPE[type_], [LLVM_TYPE[scalar_type] for scalar_type in function.parameter_types]
    )
    return builder.call(declare_function(module, name, kind, "nounwind", "readnone"), arguments)


def _reference_library(module: ir.Module, function: ForeignFunction) -> None:
    """Put the library of a function into the code, once."""
    name = f"polygym_library_{function.digest[:16]}"
    if name in module.globals:
        return
    text = library_text(function.digest, function.library)
    kind = ir.ArrayType(I8, len(text))
    place = ir.GlobalVariable(module, kind, name)
    place.global_constant = True
    place.initializer = ir.Constant(kind, bytearray(text))


def emit_exponential(builder: ir.IRBuilder, scalar: ScalarType, value: Any) -> Any:
    """Return exp of a value, whose type is FLOAT or DOUBLE, or of every lane."""
    exponential = EXPONENTIALS[scalar]
    kind = value.type
    lanes = kind.count if isinstance(kind, ir.VectorType) else None
    whole = value_type(I32 if scalar is ScalarType.FLOAT else I64, lanes)

    def number(constant: float) -> Any:
        return ir.Constant(kind, constant if lanes is None else [constant] * lanes)

    def integer(constant: int) -> Any:
        return ir.Constant(whole, constant if lanes is None else [constant] * lanes)

    def power_of_two(exponent: Any) -> Any:
        biased = builder.add(exponent, integer(exponential.bias))
        return builder.bitcast(builder.shl(biased, integer(exponential.digits)), kind)

    greatest, least = number(exponential.upper_limit), number(exponential.lower_limit)
    value = builder.select(builder.fcmp_ordered(">", value, greatest), greatest, value)
    value = builder.select(builder.fcmp_ordered("<", value, least), least, value)
    shifted = builder.fadd(
        builder.fmul(value, number(exponential.inverse)), number(exponential.shift)
    )
    power = builder.sub(builder.bitcast(shifted, whole), integer(exponential.shift_bits))
    nearest = builder.fsub(shifted, number(exponential.shift))
    for part in (exponential.high, exponential.low):
        value = builder.fsub(value, builder.fmul(nearest, number(part)))
    first, *others = exponential.coefficients
    result = number(first)
    for coefficient in others:
        result = builder.fadd(builder.fmul(result, value), number(coefficient))
    half = builder.ashr(power, integer(1))
    result = builder.fmul(result, power_of_two(half))
    return builder.fmul(result, power_of_two(builder.sub(power, half)))


def emit_special(
    builder: ir.IRBuilder, function: MathFunction, scalar: ScalarType, value: Any
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
        _emit_operations(known, function)
    result = builder.call(known, [value])
    return builder.fptrunc(result, kind) if scalar is ScalarType.FLOAT else result


def _emit_operations(function_value: ir.Function, function: MathFunction) -> None:
    """Emit the operations of a function, one after the other."""
    builder = ir.IRBuilder(function_value.append_basic_block())
    steps, result = operations_of(function)
    values: list[Any] = []

    def of(number: int) -> Any:
        return function_value.args[0] if number < 0 else values[number]

    def emitted(step: operations.SpecialOperation) -> Any:
        match step:
            case operations.ConstantOperation(value):
                return ir.Constant(ir.DoubleType(), value)
            case operations.BinaryOperation(operator, first, second):
                operation = {
                    "+": builder.fadd,
                    "-": builder.fsub,
                    "*": builder.fmul,
                    "/": builder.fdiv,
                }[operator]
                return operation(of(first), of(second))
            case operations.SelectOperation(first, second, then, otherwise):
                holds = builder.fcmp_ordered("<", of(first), of(second))
                return builder.select(holds, of(then), of(otherwise))
            case operations.CallOperation(called, arguments):
                inputs = [of(argument) for argument in arguments]
                return emit_math_call(
                    function_value.module, builder, called, ScalarType.DOUBLE, inputs
                )
            case _:
                assert_never(step)

    for step in steps:
        values.append(emitted(step))
    builder.ret(of(result))
