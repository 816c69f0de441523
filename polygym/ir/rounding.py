"""Numbers as the floating types store them: rounded to the nearest, and their bits.

BFLOAT has the sign, the exponent and the first seven bits of the fraction of a FLOAT: the upper
half of its bits. So a number is rounded to it on its bits, where the next larger magnitude is the
next larger integer; 1.01 lies between 0x3f81 and 0x3f82, nearer to the former.
"""

import math
import struct
from fractions import Fraction

from polygym.ir.types import ScalarType

_FORMATS = {ScalarType.HALF: "e", ScalarType.FLOAT: "f", ScalarType.DOUBLE: "d"}


def round_to_type(value: float, scalar: ScalarType) -> float:
    """Return the number of a type that is nearest, even if two are; too large becomes infinite.

    >>> round_to_type(1.01, ScalarType.HALF), round_to_type(1.01, ScalarType.BFLOAT)
    (1.009765625, 1.0078125)
    >>> round_to_type(65520.0, ScalarType.HALF), round_to_type(1e39, ScalarType.BFLOAT)
    (inf, inf)
    """
    if not math.isfinite(value):
        return value
    if scalar is ScalarType.BFLOAT:
        return _upper_half(value)
    try:
        (result,) = struct.unpack(_FORMATS[scalar], struct.pack(_FORMATS[scalar], value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(result)


def bit_pattern(value: float, scalar: ScalarType) -> int:
    """Return the bits of a number that a type has.

    >>> hex(bit_pattern(1.0, ScalarType.HALF)), hex(bit_pattern(-1.0, ScalarType.BFLOAT))
    ('0x3c00', '0xbf80')
    """
    kind = ScalarType.FLOAT if scalar is ScalarType.BFLOAT else scalar
    bits = int.from_bytes(struct.pack("<" + _FORMATS[kind], value), "little")
    return bits >> 16 if scalar is ScalarType.BFLOAT else bits


def _upper_half(value: float) -> float:
    """Round to BFLOAT, from exact distances: rounding to FLOAT first might round twice."""
    magnitude = abs(value)
    (below,) = struct.unpack("<I", struct.pack("<f", min(magnitude, _LARGEST_FLOAT)))
    low = below & 0xFFFF0000
    if _of_bits(low) > magnitude:  # it was rounded up to the next
        low -= 0x10000
    gap = 2 * Fraction(magnitude) - Fraction(_of_bits(low)) - _end(low)
    is_up = gap > 0 or (gap == 0 and low >> 16 & 1)
    return math.copysign(_of_bits(low + 0x10000 if is_up else low), value)


_LARGEST_FLOAT = (2.0 - 2.0**-23) * 2.0**127


def _end(low: int) -> Fraction:
    """Return the number after the one of some bits; after the largest what would follow it."""
    following = low + 0x10000
    return Fraction(2) ** 128 if following == 0x7F800000 else Fraction(_of_bits(following))


def _of_bits(bits: int) -> float:
    (result,) = struct.unpack("<f", struct.pack("<I", bits))
    return float(result)
