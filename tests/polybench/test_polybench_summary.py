"""Summaries of arrays, by hand on small ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polybench import ArrayPart
from polybench.summary import summarise

MATRIX = np.arange(1.0, 10.0).reshape(3, 3)


def test_all_elements_row_by_row() -> None:
    assert summarise("A", MATRIX) == {
        "array": "A",
        "values": 9,
        "sum": 45.0,
        "sum_of_squares": 285.0,
        "first": [1.0, 2.0, 3.0],
        "middle": 5.0,
        "last": [7.0, 8.0, 9.0],
    }


def test_triangles_row_by_row() -> None:
    lower = summarise("A", MATRIX, ArrayPart.LOWER)
    upper = summarise("A", MATRIX, ArrayPart.UPPER)
    assert (lower["values"], lower["first"], lower["middle"]) == (6, [1.0, 4.0, 5.0], 7.0)
    assert (upper["values"], upper["first"], upper["middle"]) == (6, [1.0, 2.0, 3.0], 5.0)
    assert (lower["last"], upper["last"]) == ([7.0, 8.0, 9.0], [5.0, 6.0, 9.0])


def test_an_array_not_contiguous_in_memory_reads_the_same() -> None:
    assert summarise("A", np.asfortranarray(MATRIX)) == summarise("A", MATRIX)


def test_integers_and_floats_are_summed_in_double_precision() -> None:
    big = np.full(3, 2**31 - 1, dtype=np.int32)
    assert summarise("n", big)["sum"] == 3.0 * (2**31 - 1)
    third = np.full(1000, np.float32(1) / np.float32(3), dtype=np.float32)
    assert summarise("t", third)["sum"] == pytest.approx(1000 * float(third[0]), rel=1e-14)


def test_fewer_than_three_values() -> None:
    summary = summarise("x", np.array([2.0, 3.0]))
    assert (summary["first"], summary["middle"], summary["last"]) == ([2.0, 3.0], 3.0, [2.0, 3.0])


def test_a_summary_is_plain_json() -> None:
    summary = summarise("A", MATRIX.astype(np.float32), ArrayPart.UPPER)
    assert json.loads(json.dumps(summary)) == summary


def test_not_a_number_is_not_hidden() -> None:
    assert np.isnan(summarise("x", np.array([1.0, np.nan]))["sum"])


@pytest.mark.parametrize(
    ("array", "part", "message"),
    [
        (np.zeros((0, 3)), ArrayPart.FULL, "array A: expected at least one element, found none"),
        (np.zeros(3), ArrayPart.LOWER, "array A: expected a matrix for j <= i, found 1 dimensions"),
    ],
)
def test_what_cannot_be_summarised(array: np.ndarray, part: ArrayPart, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summarise("A", array, part)
