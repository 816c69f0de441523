"""The scalar types of the programs polygym understands, with C's rules for combining them."""

from __future__ import annotations

from enum import Enum


class ScalarType(Enum):
    """A C arithmetic type. The value is its name in C; ``long`` has 64 bits, ``int`` 32."""

    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"

    @property
    def size(self) -> int:
        """The number of bytes of one element."""
        return 4 if self in (ScalarType.INT, ScalarType.FLOAT) else 8

    @property
    def bits(self) -> int:
        """The number of bits of one element."""
        return 8 * self.size

    @property
    def is_integer(self) -> bool:
        """Whether values are integers (two's complement, signed)."""
        return self in (ScalarType.INT, ScalarType.LONG)

    @property
    def is_floating(self) -> bool:
        """Whether values are IEEE-754 numbers."""
        return not self.is_integer


_RANK = {ScalarType.INT: 0, ScalarType.LONG: 1, ScalarType.FLOAT: 2, ScalarType.DOUBLE: 3}


def common_type(left: ScalarType, right: ScalarType) -> ScalarType:
    """Return the type in which C combines two operands (the usual arithmetic conversions).

    >>> common_type(ScalarType.LONG, ScalarType.FLOAT)
    <ScalarType.FLOAT: 'float'>
    """
    return left if _RANK[left] >= _RANK[right] else right
