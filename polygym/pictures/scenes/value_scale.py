"""The vertical scale of parallel coordinates: exact numbers of any size to pixels.

Values up to ten are drawn to scale. If there are larger ones, all are drawn at

    sgn(v)·log₂(1 + |v|),

which is 0, 1, 2, 3 for v = 0, 1, 3, 7: close to linear where most coefficients are, and with room
for those of twenty digits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log2
from typing import TypeAlias

Value: TypeAlias = int | Fraction

_MAX_LINEAR = 10
_MAX_TICKS = 8


@dataclass(frozen=True, slots=True)
class ValueScale:
    """Where 0 is drawn, how many pixels a step has, and the range of the values."""

    zero: float
    step: float
    least: int
    most: int

    @property
    def is_logarithmic(self) -> bool:
        """Whether there are values too large to be drawn to scale."""
        return max(-self.least, self.most) > _MAX_LINEAR

    def height(self, value: Value) -> float:
        """Return how high a value is drawn."""
        return self.zero + self.step * (signed_log(value) if self.is_logarithmic else float(value))

    def ticks(self) -> tuple[int, ...]:
        """Return the values to be written beside the scale, ascending."""
        if not self.is_logarithmic:
            stride = max(1, ceil((self.most - self.least) / _MAX_TICKS))
            first = ceil(self.least / stride) * stride
            return tuple(range(first, self.most + 1, stride))
        doublings = max(abs(self.least), self.most).bit_length()
        # 2^k - 1 is k steps from 0.
        stride = max(1, ceil(2 * doublings / _MAX_TICKS))
        sizes = [2**k - 1 for k in range(stride, doublings + 1, stride)]
        return tuple(
            value
            for value in (*(-size for size in reversed(sizes)), 0, *sizes)
            if self.least <= value <= self.most
        )


def signed_log(value: Value) -> float:
    """Return sgn(v)·log₂(1 + |v|); unlike floats, logarithms have room for any integer.

    >>> signed_log(-3)
    -2.0
    """
    size = abs(Fraction(value)) + 1
    steps = log2(size.numerator) - log2(size.denominator)
    return steps if value >= 0 else -steps


def fit_scale(vectors: Iterable[Sequence[Value]], bottom: float, height: float) -> ValueScale:
    """Return the scale on which all values, and -1 to 1, have room between two heights."""
    values = [value for vector in vectors for value in vector]
    least = min(-1, floor(min(values, default=0)))
    most = max(1, ceil(max(values, default=0)))
    draft = ValueScale(0.0, 1.0, least, most)
    low, high = draft.height(least), draft.height(most)
    margin = 0.05 * (high - low) + 0.25
    step = height / (high - low + 2 * margin)
    return ValueScale(bottom + (margin - low) * step, step, least, most)


def tick_text(value: int) -> str:
    """Return a value as a short text: powers of two stand for the large ones.

    >>> tick_text(-7), tick_text(2**20 - 1)
    ('-7', '2^20')
    """
    if abs(value) < 10_000:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{abs(value).bit_length()}"
