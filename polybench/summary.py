"""Condensing an array to a few numbers, so that two programs' results can be compared.

Of the elements that count (row by row, the last subscript running fastest) a summary keeps how
many there are, their sum and sum of squares, and seven of them: the first three, the one in the
middle and the last three. The 2 x 2 matrix ``[[1, 2], [3, 4]]`` has the values 1 2 3 4, whose
middle is number 4 // 2 = 2 counted from 0: the 3.
"""

from __future__ import annotations

from typing import Any, TypedDict, assert_never

import numpy as np
import numpy.typing as npt

from polybench.model import Part

_AT_EACH_END = 3


class Summary(TypedDict):
    """What is kept of one array; plain Python numbers, ready for JSON."""

    array: str
    values: int
    sum: float
    sum_of_squares: float
    first: list[float]
    middle: float
    last: list[float]


def summarise(array_name: str, array: npt.NDArray[Any], part: Part = Part.FULL) -> Summary:
    """Return the summary of the elements of an array that belong to ``part``.

    Everything is computed in double precision, which is exact for the sums of integers below 2**53.

    >>> summarise("A", np.array([[1, 2], [3, 4]]), Part.LOWER)["sum"]
    8.0

    Raises:
        ValueError: if nothing counts, or a triangle is asked of an array that is not a matrix.
    """
    values = _elements(array_name, array, part).astype(np.float64)
    if values.size == 0:
        raise ValueError(f"array {array_name}: expected at least one element, found none")
    return {
        "array": array_name,
        "values": int(values.size),
        "sum": float(np.sum(values)),
        "sum_of_squares": float(np.sum(values * values)),
        "first": values[:_AT_EACH_END].tolist(),
        "middle": float(values[values.size // 2]),
        "last": values[-_AT_EACH_END:].tolist(),
    }


def _elements(array_name: str, array: npt.NDArray[Any], part: Part) -> npt.NDArray[Any]:
    """Return the elements that count as a vector, row by row."""
    if part is Part.FULL:
        return array.reshape(-1)
    if array.ndim != 2:
        raise ValueError(
            f"array {array_name}: expected a matrix for {part.value}, found {array.ndim} dimensions"
        )
    row, column = np.ogrid[: array.shape[0], : array.shape[1]]
    match part:
        case Part.LOWER:
            return array[column <= row]
        case Part.UPPER:
            return array[column >= row]
        case _:
            assert_never(part)
