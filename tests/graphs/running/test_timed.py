"""Times of single operators by the measuring worker."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from polygym.graphs.ir.types import Data, Number, Pair, Tensor, Text
from polygym.graphs.running.timed import recipes_of, seconds_of
from polygym.measure.worker.worker import Worker

ROWS, KNOWN = Tensor((8, 16)), Tensor((16, 8), constant=True)
IMAGE = Tensor((1, 4, 6, 6))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as one:
        yield one


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("matmul", (Text("relu"), ROWS, KNOWN)),
        ("softmax", (Number(1), ROWS)),
        ("gather", (Number(0), KNOWN, Tensor((3,), "int64"))),
        ("concat2", (Number(1), ROWS, ROWS)),
    ],
)
def test_operators_take_time(worker: Worker, head: str, children: tuple[Data, ...]) -> None:
    assert 0 < seconds_of(head, children, worker=worker) < 1


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("reshape", (ROWS, Text("4-32"))),
        ("transpose", (ROWS, Text("1-0"))),
        ("split", (Number(1), Number(4), ROWS)),
        ("split0", (Pair(ROWS, ROWS),)),
        ("concat2", (Number(0), ROWS, ROWS)),
        ("relu", (Tensor((8,), constant=True),)),
    ],
)
def test_what_moves_nothing_takes_none(head: str, children: tuple[Data, ...]) -> None:
    assert seconds_of(head, children) == 0.0


@pytest.mark.parametrize(
    ("head", "children"),
    [
        ("sqrt", (Tensor((4,), "int64"),)),
        ("matmul", (Text("none"), ROWS, ROWS)),
        ("unheard-of", (ROWS,)),
    ],
)
def test_what_cannot_run_takes_for_ever(head: str, children: tuple[Any, ...]) -> None:
    assert seconds_of(head, children) == inf


def test_a_kernel_that_does_not_fit_is_no_exception() -> None:
    # Matrices of 4 TiB: whoever looks for memory finds none.
    huge = Tensor((1 << 20, 1 << 20))
    assert seconds_of("relu", (huge,)) == inf


def test_kernels_are_those_of_a_model() -> None:
    stride, image = Number(1), (IMAGE, Tensor((4, 4, 3, 3), constant=True))
    recipes = recipes_of("conv", (stride, stride, Text("same"), Text("relu"), *image), threads=2)
    # The pad, the windows of an image of few places, and their product with the kernel.
    assert len(recipes) == 3
    assert all(one.threads == 2 for one in recipes)
