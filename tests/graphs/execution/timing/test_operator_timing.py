"""Times of single operators by the measuring worker."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from polygym.graphs.execution.timing.operator_timing import operator_kernels, operator_seconds
from polygym.graphs.operators.types import Data, NumberData, TensorPair, TensorType, TextData
from polygym.runtime.worker.worker import Worker

ROWS, KNOWN = TensorType((8, 16)), TensorType((16, 8), constant=True)
IMAGE = TensorType((1, 4, 6, 6))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("matmul", (TextData("relu"), ROWS, KNOWN)),
        ("softmax", (NumberData(1), ROWS)),
        ("gather", (NumberData(0), KNOWN, TensorType((3,), "int64"))),
        ("concat2", (NumberData(1), ROWS, ROWS)),
    ],
)
def test_operators_take_time(worker: Worker, head: str, children: tuple[Data, ...]) -> None:
    assert 0 < operator_seconds(head, children, worker=worker) < 1


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("reshape", (ROWS, TextData("4-32"))),
        ("transpose", (ROWS, TextData("1-0"))),
        ("split", (NumberData(1), NumberData(4), ROWS)),
        ("split0", (TensorPair(ROWS, ROWS),)),
        ("concat2", (NumberData(0), ROWS, ROWS)),
        ("relu", (TensorType((8,), constant=True),)),
    ],
)
def test_what_moves_nothing_takes_none(head: str, children: tuple[Data, ...]) -> None:
    assert operator_seconds(head, children) == 0.0


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("sqrt", (TensorType((4,), "int64"),)),
        ("matmul", (TextData("none"), ROWS, ROWS)),
        ("unheard-of", (ROWS,)),
    ],
)
def test_what_cannot_run_takes_for_ever(head: str, children: tuple[Any, ...]) -> None:
    assert operator_seconds(head, children) == inf


def test_a_kernel_that_does_not_fit_is_no_exception() -> None:
    # Matrices of 4 TiB: no machine has so much memory.
    huge = TensorType((1 << 20, 1 << 20))
    assert operator_seconds("relu", (huge,)) == inf


def test_kernels_are_those_of_a_model() -> None:
    stride, image = NumberData(1), (IMAGE, TensorType((4, 4, 3, 3), constant=True))
    recipes = operator_kernels(
        "conv", (stride, stride, TextData("same"), TextData("relu"), *image), threads=2
    )
    # The pad, the windows of an image of few places, and their product with the kernel.
    assert len(recipes) == 3
    assert all(source.threads == 2 for source in recipes)
