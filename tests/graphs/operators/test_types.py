"""Data of nodes: what they say of themselves, and shapes as words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygym.graphs.operators.types import (
    DTYPES,
    NumberData,
    TensorBundle,
    TensorPair,
    TensorType,
    TextData,
    parse_numbers,
    shape_text,
)


@given(st.lists(st.integers(0, 10**9), max_size=6))
def test_shapes_are_words_and_back(shape: list[int]) -> None:
    assert parse_numbers(shape_text(tuple(shape))) == tuple(shape)


@pytest.mark.parametrize(
    "word", ["", "-", "1-", "-1", "1--2", "a", "1_0", "+1", " 1", "1.5", "٣", "²"]
)
def test_what_is_no_shape_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_numbers(word)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bytes_are_those_of_numpy(dtype: str) -> None:
    tensor_type = TensorType((3, 5), dtype)
    assert tensor_type.bytes == np.zeros((3, 5), dtype).nbytes
    assert tensor_type.elements == 15
    assert TensorType((), dtype).elements == 1


def test_data_say_what_they_are() -> None:
    tensor_type, other = TensorType((2, 3), constant=True), TensorType((4,), "int64")
    assert [str(data) for data in (tensor_type, other, TensorType(()))] == [
        "2-3",
        "4:int64",
        "scalar",
    ]
    assert str(TensorPair(tensor_type, other)) == "2-3 and 4:int64"
    assert str(TensorBundle((tensor_type, other))) == "2-3, 4:int64"
    assert [str(NumberData(1)), str(NumberData(0.5)), str(TextData("same"))] == [
        "1",
        "0.5",
        "'same'",
    ]
