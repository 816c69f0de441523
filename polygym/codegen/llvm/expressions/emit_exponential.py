"""exp in LLVM IR, for one number or for the lanes of a vector: operation by operation the same.

The mathematics is in :mod:`polygym.codegen.common.exponential`. No operation may be
contracted or reordered: then a lane has the bits that the number alone has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.codegen.common.exponential import EXPONENTIALS
from polygym.codegen.llvm.core.types import I32, I64, value_type
from polygym.ir.types import ScalarType


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
