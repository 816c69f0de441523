"""Numbers of sixteen bits: read as float, and rounded to the nearest where they are stored.

They stand in memory and in registers as their bits. A BFLOAT is the upper half of a float; a HALF
has exponents that are less by 112. Processors convert between HALF and float, or else this is done
on the bits. From HALF, with the fraction in the place of float's, only the exponent is wrong, also
of numbers that are not normal:  float(bits << 13) · 2¹¹² . To HALF, what is no longer normal is
rounded by adding a number whose last bit is the last that stays; the rest is rounded as the integer
of its bits, to which just under a half is added, and one more where the last bit that stays is odd.

A double is first made a float whose last bit says whether anything was lost (von Neumann's rounding
to odd): with at least two bits more than are kept, rounding that is rounding once. In 0.5 + 2⁻¹² +
2⁻⁴⁰, rounded to the nearest float, the last term would be gone, and the tie would go to even.
"""

from typing import Any

from llvmlite import ir

from polygym.codegen.llvm.core.types import I16, I32, i32, value_type
from polygym.ir.types import ScalarType
from polygym.mapping.machine import has_half_conversion

_SIGN, _INFINITY, _QUIET_NAN = 0x80000000, 0x7F800000, 0x00400000
_BIAS = 127 - 15  # of the exponents of float over those of half


def widen_to_float(builder: ir.IRBuilder, value: Any, source: ScalarType) -> Any:
    """Return the float that a stored number is."""
    lanes = _lane_count(value)
    single = value_type(ir.FloatType(), lanes)
    if source is ScalarType.BFLOAT:
        wide = builder.zext(value, value_type(I32, lanes))
        return builder.bitcast(builder.shl(wide, _integer_like(wide, 16)), single)
    if has_half_conversion():
        return builder.fpext(builder.bitcast(value, value_type(ir.HalfType(), lanes)), single)
    wide = builder.zext(value, value_type(I32, lanes))
    rest = builder.and_(wide, _integer_like(wide, 0x7FFF))
    shifted = builder.shl(rest, _integer_like(wide, 13))
    scale = ir.Constant(ir.FloatType(), 2.0**_BIAS)
    scaled = builder.fmul(builder.bitcast(shifted, single), _lane_constant(scale, lanes))
    # Infinities and what is no number have the largest exponent; the latter are made quiet.
    quiet = builder.select(
        builder.icmp_unsigned(">", rest, _integer_like(wide, 0x7C00)),
        _integer_like(wide, _INFINITY | _QUIET_NAN),
        _integer_like(wide, _INFINITY),
    )
    is_large = builder.icmp_unsigned(">=", rest, _integer_like(wide, 0x7C00))
    bits = builder.select(is_large, builder.or_(shifted, quiet), builder.bitcast(scaled, wide.type))
    sign = builder.and_(builder.shl(wide, _integer_like(wide, 16)), _integer_like(wide, _SIGN))
    return builder.bitcast(builder.or_(bits, sign), single)


def round_to_half(builder: ir.IRBuilder, value: Any, target: ScalarType) -> Any:
    """Return the stored number that is nearest to a float or a double."""
    lanes = _lane_count(value)
    if value.type in (ir.DoubleType(), value_type(ir.DoubleType(), lanes)):
        value = _round_to_odd(builder, value, lanes)
    if target is ScalarType.HALF and has_half_conversion():
        half = builder.fptrunc(value, value_type(ir.HalfType(), lanes))
        return builder.bitcast(half, value_type(I16, lanes))
    bits = builder.bitcast(value, value_type(I32, lanes))
    sign = builder.and_(bits, _integer_like(bits, _SIGN))
    rest = builder.xor(bits, sign)
    rounded = (_bfloat_bits if target is ScalarType.BFLOAT else _half_bits)(builder, rest, lanes)
    whole = builder.or_(rounded, builder.lshr(sign, _integer_like(bits, 16)))
    return builder.trunc(whole, value_type(I16, lanes))


def _round_to_odd(builder: ir.IRBuilder, value: Any, lanes: int | None) -> Any:
    """Return a double as a float, rounded towards zero, the last bit set if anything is lost."""
    single, integer = value_type(ir.FloatType(), lanes), value_type(I32, lanes)
    near = builder.fptrunc(value, single)
    back = builder.fpext(near, value.type)
    bits = builder.bitcast(near, integer)
    absolute = builder.module.declare_intrinsic(
        "llvm.fabs", [value.type], ir.FunctionType(value.type, [value.type])
    )
    is_far = builder.fcmp_ordered(
        ">", builder.call(absolute, [back]), builder.call(absolute, [value])
    )
    bits = builder.sub(bits, builder.zext(is_far, integer))
    is_other = builder.fcmp_ordered("!=", back, value)
    return builder.bitcast(builder.or_(bits, builder.zext(is_other, integer)), single)


def _bfloat_bits(builder: ir.IRBuilder, rest: Any, lanes: int | None) -> Any:
    """Return the bits of a BFLOAT, from those of a float without a sign."""
    upper = builder.lshr(rest, _integer_like(rest, 16))
    odd = builder.and_(upper, _integer_like(rest, 1))
    half = builder.add(rest, builder.add(odd, _integer_like(rest, 0x7FFF)))
    return builder.select(
        builder.icmp_unsigned(">", rest, _integer_like(rest, _INFINITY)),
        builder.or_(upper, _integer_like(rest, _QUIET_NAN >> 16)),
        builder.lshr(half, _integer_like(rest, 16)),
    )


def _half_bits(builder: ir.IRBuilder, rest: Any, lanes: int | None) -> Any:
    """Return the bits of a HALF, from those of a float without a sign."""
    single = value_type(ir.FloatType(), lanes)
    # 0.5 and a number below 2⁻¹⁴ have their sum's last bit where that of the HALF is.
    anchor = _integer_like(rest, (126) << 23)
    total = builder.fadd(builder.bitcast(rest, single), builder.bitcast(anchor, single))
    small = builder.sub(builder.bitcast(total, rest.type), anchor)
    odd = builder.and_(builder.lshr(rest, _integer_like(rest, 13)), _integer_like(rest, 1))
    half = builder.add(builder.add(rest, odd), _integer_like(rest, 0xFFF - (_BIAS << 23)))
    normal = builder.lshr(half, _integer_like(rest, 13))
    fraction = builder.and_(builder.lshr(rest, _integer_like(rest, 13)), _integer_like(rest, 0x3FF))
    none = builder.or_(fraction, _integer_like(rest, 0x7E00))
    is_number = builder.icmp_unsigned("<=", rest, _integer_like(rest, _INFINITY))
    large = builder.select(is_number, _integer_like(rest, 0x7C00), none)
    is_small = builder.icmp_unsigned("<", rest, _integer_like(rest, (_BIAS + 1) << 23))
    is_large = builder.icmp_unsigned(">=", rest, _integer_like(rest, (_BIAS + 31) << 23))
    return builder.select(is_large, large, builder.select(is_small, small, normal))


def _lane_count(value: Any) -> int | None:
    return value.type.count if isinstance(value.type, ir.VectorType) else None


def _lane_constant(constant: ir.Constant, lanes: int | None) -> ir.Constant:
    kind = value_type(constant.type, lanes)
    return constant if lanes is None else ir.Constant(kind, [constant.constant] * lanes)


def _integer_like(like: Any, value: int) -> ir.Constant:
    """Return an integer of 32 bits, in as many lanes as another value has."""
    value &= 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value
    return _lane_constant(i32(signed), _lane_count(like))
