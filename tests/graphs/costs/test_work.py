"""Operations and bytes of nodes against counts by hand and by loops."""

from __future__ import annotations

import pytest

from polygym.graphs.costs.work import Work, work_of
from polygym.graphs.ir.domain import TENSORS
from polygym.graphs.ir.types import Data, Number, Tensor, Text


def made(head: str, *children: Data) -> Work:
    return work_of(head, children, TENSORS.infer(head, children))


def loops_of_convolution(image: Tensor, kernel: Tensor, out: Tensor) -> int:
    """Count multiplications and additions one by one."""
    count = 0
    for _ in range(out.elements):
        for _ in range(kernel.shape[1] * kernel.shape[2] * kernel.shape[3]):
            count += 2
    assert image.shape[0] == out.shape[0]
    return count


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_count_every_term(groups: int) -> None:
    image, kernel = Tensor((2, 4, 5, 6)), Tensor((6, 4 // groups, 3, 3), constant=True)
    children = (Number(1), Number(2), Text("valid"), Text("none"), image, kernel)
    out = TENSORS.infer("conv", children)
    assert isinstance(out, Tensor)
    done = work_of("conv", children, out)
    assert done.operations == loops_of_convolution(image, kernel, out)
    assert done.bytes == 4 * (image.elements + kernel.elements + out.elements)


def test_batches_of_products() -> None:
    done = made("matmul", Text("relu"), Tensor((5, 2, 3)), Tensor((5, 3, 4)))
    assert done == Work(5 * 2 * 4 * 2 * 3, 4 * (30 + 60 + 40))


def test_what_only_renames_memory_does_nothing() -> None:
    x = Tensor((1, 8, 4))
    assert made("reshape", x, Text("8-4")) == Work(0, 0)
    assert made("split", Number(1), Number(3), x) == Work(0, 0)  # nothing stands before axis 1
    assert made("split", Number(2), Number(3), x) == Work(0, 2 * 4 * 32)


def test_gather_reads_what_is_chosen_alone() -> None:
    table, indices = Tensor((1000, 8)), Tensor((3,), "int64")
    assert made("gather", Number(0), table, indices).bytes == 2 * 3 * 8 * 4 + 3 * 8


def test_double_precision_moves_twice_as_much() -> None:
    one, two = (made("relu", Tensor((7, 3), dtype)) for dtype in ("float32", "float64"))
    assert (two.operations, two.bytes) == (one.operations, 2 * one.bytes)
