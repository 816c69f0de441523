"""Scalar types of programs, with C's rules for combining them."""

from __future__ import annotations

from enum import Enum


class ScalarType(Enum):
    """A C arithmetic type. The value is its name in C; ``long`` has 64 bits, ``int`` 32.

    Integers are two's complement and wrap; a BOOL holds 0 or 1, and what is converted to it is
    compared with 0. Nothing is computed in the types below ``int``: C promotes them. HALF and
    BFLOAT, IEEE's binary16 and the upper half of a ``float``, are for memory alone, and are
    computed with as ``float``; C compilers have the one, the other is ours.
    """

    BOOL = "_Bool"
    BYTE = "int8_t"
    UNSIGNED_BYTE = "uint8_t"
    SHORT = "int16_t"
    UNSIGNED_SHORT = "uint16_t"
    INT = "int"
    UNSIGNED = "uint32_t"
    LONG = "long"
    UNSIGNED_LONG = "uint64_t"
    HALF = "_Float16"
    BFLOAT = "polygym_bfloat16"
    FLOAT = "float"
    DOUBLE = "double"

    @property
    def size(self) -> int:
        """The number of bytes of one element."""
        return _SIZE[self]

    @property
    def bits(self) -> int:
        """The number of bits of one element."""
        return 8 * self.size

    @property
    def is_integer(self) -> bool:
        """Whether values are integers."""
        return not self.is_floating

    @property
    def is_floating(self) -> bool:
        """Whether values are numbers with an exponent."""
        return self in _FLOATING

    @property
    def is_storage_only(self) -> bool:
        """Whether values are floating and only stored, never computed with."""
        return self.is_floating and self.size < 4

    @property
    def is_signed(self) -> bool:
        """Whether there are negative values."""
        return self not in _UNSIGNED

    @property
    def is_fixed_width(self) -> bool:
        """Whether the name in C is one of ``stdint.h``."""
        return self.value.endswith("_t")

    @property
    def lowest(self) -> int:
        """The least value of an integer type."""
        assert self.is_integer
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def highest(self) -> int:
        """The largest value of an integer type."""
        assert self.is_integer
        if self is ScalarType.BOOL:
            return 1
        return (1 << (self.bits - self.is_signed)) - 1

    def can_represent(self, other: ScalarType) -> bool:
        """Whether every value of another type is one of this.

        FLOAT and DOUBLE count as holding all integers.

        >>> ScalarType.UNSIGNED.can_represent(ScalarType.INT)
        False
        >>> ScalarType.LONG.can_represent(ScalarType.UNSIGNED)
        True
        """
        if self.is_storage_only:
            return other is self or (other.is_integer and other.size == 1)
        if self.is_floating:
            return other.is_integer or other.size <= self.size
        return other.is_integer and self.lowest <= other.lowest and other.highest <= self.highest

    @property
    def promoted(self) -> ScalarType:
        """The type in which C computes with values of this one: types below ``int`` become it."""
        if self.is_storage_only:
            return ScalarType.FLOAT
        return ScalarType.INT if self.is_integer and self.size < 4 else self


_SIZE = dict(zip(ScalarType, (1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8), strict=True))
_FLOATING = frozenset({ScalarType.HALF, ScalarType.BFLOAT, ScalarType.FLOAT, ScalarType.DOUBLE})
_UNSIGNED = frozenset(kind for kind in ScalarType if kind.value.startswith(("_Bool", "uint")))
# Of two promoted types the later one is what C combines them in.
_RANK = tuple(kind for kind in ScalarType if kind.promoted is kind)


def common_type(left: ScalarType, right: ScalarType) -> ScalarType:
    """Return the type in which C combines two operands (the usual arithmetic conversions).

    >>> common_type(ScalarType.LONG, ScalarType.FLOAT)
    <ScalarType.FLOAT: 'float'>
    >>> common_type(ScalarType.BYTE, ScalarType.UNSIGNED_BYTE)
    <ScalarType.INT: 'int'>
    """
    return max(left.promoted, right.promoted, key=_RANK.index)
