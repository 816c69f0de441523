"""Boxes: what part of an array loops touch, from the ranges of their counters.

In the tile of a convolution, with i from 8 b to 8 b + 7 and k from 0 to 2, ``I[i + k]`` touches the
ten elements from ``8 b`` on. A box may be larger than what is touched, never smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.linear_sums import constant_difference, subtract_indices
from polygym.gpu.shared_loops.index_bounds import Ranges, extreme

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Box:
    """A part of an array: from ``origin`` on, so many elements along each dimension.

    In memory the dimensions have this ``order``, the last one in rows.
    """

    origin: tuple[ir.Index, ...]
    lengths: tuple[int, ...]
    order: tuple[int, ...]

    def ordered(self, indices: Sequence[_Value]) -> tuple[_Value, ...]:
        """Return what belongs to the dimensions in the order of memory."""
        return tuple(indices[dimension] for dimension in self.order)

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.lengths)

    def subscripts_inside(self, subscripts: Sequence[ir.Index]) -> tuple[ir.Index, ...]:
        """Return the subscripts of an element in the box."""
        pairs = zip(subscripts, self.origin, strict=True)
        return self.ordered([subtract_indices(own, first) for own, first in pairs])


def box_of(accesses: Sequence[tuple[ir.Index, ...]], ranges: Ranges) -> Box | None:
    """Return the box of subscripts; None where its lengths are not numbers."""
    origin, lengths = [], []
    for dimension in range(len(accesses[0])):
        span = _span([subscripts[dimension] for subscripts in accesses], ranges)
        if span is None:
            return None
        origin.append(span[0])
        lengths.append(span[1])
    return Box(tuple(origin), tuple(lengths), tuple(range(len(lengths))))


def _span(subscripts: Sequence[ir.Index], ranges: Ranges) -> tuple[ir.Index, int] | None:
    """Return the least of subscripts, and how many values they take from there on."""
    first: ir.Index | None = None
    least, most = 0, 0
    for subscript in dict.fromkeys(subscripts):
        low = extreme(subscript, ranges, greatest=False)
        high = extreme(subscript, ranges, greatest=True)
        if low is None or high is None:
            return None
        first = low if first is None else first
        below, above = constant_difference(low, first), constant_difference(high, first)
        if below is None or above is None:
            return None
        least, most = min(least, below), max(most, above)
    assert first is not None
    shift = ir.IndexConstant(-least)
    return subtract_indices(first, shift), most - least + 1
