"""Operations and bytes of nodes against counts by hand and by loops."""

from __future__ import annotations

import pytest

from polygym.graphs.costs import NodeWork, node_work
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData


def made(head: str, *children: Data) -> NodeWork:
    return node_work(head, children, TENSOR_DOMAIN.infer(head, children))


def loops_of_convolution(image: TensorType, kernel: TensorType, out: TensorType) -> int:
    """Count multiplications and additions one by one."""
    count = 0
    for _ in range(out.elements):
        for _ in range(kernel.shape[1] * kernel.shape[2] * kernel.shape[3]):
            count += 2
    assert image.shape[0] == out.shape[0]
    return count


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_count_every_term(groups: int) -> None:
    image, kernel = TensorType((2, 4, 5, 6)), TensorType((6, 4 // groups, 3, 3), constant=True)
    children = (NumberData(1), NumberData(2), TextData("valid"), TextData("none"), image, kernel)
    out = TENSOR_DOMAIN.infer("conv", children)
    assert isinstance(out, TensorType)
    done = node_work("conv", children, out)
    assert done.operations == loops_of_convolution(image, kernel, out)
    assert done.bytes == 4 * (image.elements + kernel.elements + out.elements)


def test_batches_of_products() -> None:
    done = made("matmul", TextData("relu"), TensorType((5, 2, 3)), TensorType((5, 3, 4)))
    assert done == NodeWork(5 * 2 * 4 * 2 * 3, 4 * (30 + 60 + 40))


def test_what_only_renames_memory_does_nothing() -> None:
    x = TensorType((1, 8, 4))
    assert made("reshape", x, TextData("8-4")) == NodeWork(0, 0)
    assert made("split", NumberData(1), NumberData(3), x) == NodeWork(
        0, 0
    )  # nothing stands before axis 1
    assert made("split", NumberData(2), NumberData(3), x) == NodeWork(0, 2 * 4 * 32)


def test_gather_reads_what_is_chosen_alone() -> None:
    table, indices = TensorType((1000, 8)), TensorType((3,), "int64")
    assert made("gather", NumberData(0), table, indices).bytes == 2 * 3 * 8 * 4 + 3 * 8


def test_double_precision_moves_twice_as_much() -> None:
    work, two = (made("relu", TensorType((7, 3), dtype)) for dtype in ("float32", "float64"))
    assert (two.operations, two.bytes) == (work.operations, 2 * work.bytes)
