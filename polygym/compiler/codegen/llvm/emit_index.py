"""Loop IR → LLVM IR, part 1: index arithmetic in 64-bit integers.

Everything is ``nsw``: subscripts and bounds are mathematical integers that fit 64 bits with room to
spare, and LLVM needs to know that they do not wrap to recognise affine access patterns.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, assert_never

from llvmlite import ir

from polygym.compiler.codegen.llvm.kinds import I1, I64
from polygym.compiler.codegen.loops.ir import Index, IndexOperator, Number, Operation, Variable
from polygym.errors import InternalError

Environment = dict[str, ir.Value]

_COMPARISONS = {
    IndexOperator.EQUAL: "==",
    IndexOperator.LESS: "<",
    IndexOperator.LESS_EQUAL: "<=",
    IndexOperator.GREATER: ">",
    IndexOperator.GREATER_EQUAL: ">=",
}


def emit_index(builder: ir.IRBuilder, index: Index, environment: Environment) -> Any:
    """Return the LLVM value of an index: i64, or i1 for comparisons and connectives."""
    match index:
        case Number(value):
            if not -(2**63) <= value < 2**63:
                raise InternalError(f"the coefficient {value} does not fit 64 bits")
            return ir.Constant(I64, value)
        case Variable(name):
            return environment[name]
        case Operation(operator, operands):
            values = [emit_index(builder, operand, environment) for operand in operands]
            return _emit_operation(builder, operator, values)
        case _:
            assert_never(index)


def emit_condition(builder: ir.IRBuilder, index: Index, environment: Environment) -> Any:
    """Return an index as i1, true where it is not zero."""
    return _truth(builder, emit_index(builder, index, environment))


def _truth(builder: ir.IRBuilder, value: Any) -> Any:
    """Return a truth value as it is and a number compared with zero: isl writes `1` for true."""
    if value.type.width == 1:
        return value
    return builder.icmp_signed("!=", value, ir.Constant(value.type, 0))


def _emit_operation(builder: ir.IRBuilder, operator: IndexOperator, values: list[Any]) -> Any:
    match operator:
        case IndexOperator.NEGATE:
            return builder.sub(ir.Constant(I64, 0), values[0], flags=["nsw"])
        case IndexOperator.ADD:
            return builder.add(*values, flags=["nsw"])
        case IndexOperator.SUBTRACT:
            return builder.sub(*values, flags=["nsw"])
        case IndexOperator.MULTIPLY:
            return builder.mul(*values, flags=["nsw"])
        case IndexOperator.DIVIDE_EXACT:
            return builder.sdiv(*values, flags=["exact"])
        case IndexOperator.DIVIDE_FLOOR:
            return _emit_floor_division(builder, *values)
        case IndexOperator.DIVIDE_NONNEGATIVE:
            return builder.udiv(*values)
        case IndexOperator.REMAINDER_NONNEGATIVE:
            return builder.urem(*values)
        case IndexOperator.REMAINDER_ZERO_TEST:
            return builder.srem(*values)
        case IndexOperator.MINIMUM | IndexOperator.MAXIMUM:
            sign = "<" if operator is IndexOperator.MINIMUM else ">"
            return reduce(
                lambda best, other: builder.select(
                    builder.icmp_signed(sign, other, best), other, best
                ),
                values,
            )
        case IndexOperator.SELECT:
            condition, then, otherwise = values
            return builder.select(_truth(builder, condition), then, otherwise)
        case IndexOperator.AND:
            # Not `and`: what stands behind a false condition may have no value at all.
            return reduce(
                lambda first, second: builder.select(first, second, ir.Constant(I1, 0)),
                [_truth(builder, value) for value in values],
            )
        case IndexOperator.OR:
            return reduce(
                lambda first, second: builder.select(first, ir.Constant(I1, 1), second),
                [_truth(builder, value) for value in values],
            )
        case (
            IndexOperator.EQUAL
            | IndexOperator.LESS
            | IndexOperator.LESS_EQUAL
            | IndexOperator.GREATER
            | IndexOperator.GREATER_EQUAL
        ):
            return builder.icmp_signed(_COMPARISONS[operator], *values)
        case _:
            assert_never(operator)


def _emit_floor_division(builder: ir.IRBuilder, dividend: Any, divisor: Any) -> Any:
    """Round the quotient down: q = trunc(a / d), minus 1 when the remainder is negative.

    Example: -7 and 4 give q = -1 with remainder -3, so -2. The sign bit of the remainder, spread by
    an arithmetic shift, is that -1 (divisors are positive).
    """
    quotient = builder.sdiv(dividend, divisor)
    remainder = builder.sub(dividend, builder.mul(quotient, divisor, flags=["nsw"]), flags=["nsw"])
    return builder.add(quotient, builder.ashr(remainder, ir.Constant(I64, 63)), flags=["nsw"])
