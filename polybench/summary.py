"""Condensing an array to a few numbers, so that two programs' results can be compared.

Of the elements that count (row by row, the last subscript running fastest) a summary keeps how
many there are, their sum and sum of squares, and seven of them: the first three, the one in the
middle and the last three. The 2 x 2 matrix ``[[1, 2], [3, 4]]`` has the values 1 2 3 4, whose
middle is number 4 // 2 = 2 counted from 0: the 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict, assert_never

import numpy as np
import numpy.typing as npt

from polybench.model import ArrayPart

_AT_EACH_END = 3
_CHUNK_BYTES = 1 << 20


class ArraySummary(TypedDict):
    """What is kept of one array; plain Python numbers, ready for JSON."""

    array: str
    values: int
    sum: float
    sum_of_squares: float
    first: list[float]
    middle: float
    last: list[float]


def summarise(
    array_name: str, array: npt.NDArray[Any], part: ArrayPart = ArrayPart.FULL
) -> ArraySummary:
    """Return the summary of the elements of an array that belong to ``part``.

    Everything is computed in double precision, which is exact for the sums of integers below 2**53.

    >>> summarise("A", np.array([[1, 2], [3, 4]]), ArrayPart.LOWER)["sum"]
    8.0

    Raises:
        ValueError: if nothing counts, or a triangle is asked of an array that is not a matrix.
    """
    count = _count(array_name, array, part)
    if count == 0:
        raise ValueError(f"array {array_name}: expected at least one element, found none")
    total, squares = 0.0, 0.0
    first: list[float] = []
    last: list[float] = []
    middle, before = 0.0, 0
    for piece in _chunks(array, part):
        values = piece.astype(np.float64)
        total += float(np.sum(values))
        squares += float(np.sum(values * values))
        first += values[: _AT_EACH_END - len(first)].tolist()
        last = [*last, *values[-_AT_EACH_END:].tolist()][-_AT_EACH_END:]
        if before <= count // 2 < before + values.size:
            middle = float(values[count // 2 - before])
        before += values.size
    return {
        "array": array_name,
        "values": count,
        "sum": total,
        "sum_of_squares": squares,
        "first": first,
        "middle": middle,
        "last": last,
    }


def _count(array_name: str, array: npt.NDArray[Any], part: ArrayPart) -> int:
    """Return how many elements count."""
    if part is ArrayPart.FULL:
        return array.size
    if array.ndim != 2:
        raise ValueError(
            f"array {array_name}: expected a matrix for {part.value}, found {array.ndim} dimensions"
        )
    rows, columns = array.shape
    lengths = np.arange(rows)
    match part:
        case ArrayPart.LOWER:
            return int(np.minimum(lengths + 1, columns).sum())
        case ArrayPart.UPPER:
            return int(np.maximum(columns - lengths, 0).sum())
        case _:
            assert_never(part)


def _chunks(array: npt.NDArray[Any], part: ArrayPart) -> Iterator[npt.NDArray[Any]]:
    """Yield the elements that count as vectors, row by row, none of them long.

    A large array and all its elements in double precision would be three arrays.
    """
    if part is ArrayPart.FULL:
        whole = array.reshape(-1)
        for begin in range(0, whole.size, _CHUNK_BYTES):
            yield whole[begin : begin + _CHUNK_BYTES]
        return
    rows, columns = array.shape
    step = max(1, _CHUNK_BYTES // max(columns, 1))
    for begin in range(0, rows, step):
        block = array[begin : begin + step]
        row, column = np.ogrid[begin : begin + block.shape[0], :columns]
        yield block[column <= row if part is ArrayPart.LOWER else column >= row]
