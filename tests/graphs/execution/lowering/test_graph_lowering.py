"""Products of a single row, and convolutions that are such products."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.ir.build import (
    concat,
    conv,
    graph_input,
    make_node,
    matmul,
    relu,
    transpose,
    weight,
)
from tests.graphs.execution.cases import check


@pytest.mark.parametrize("columns", [1, 10, 96, 1000, 1001])
def test_rows_by_known_matrices_fill_blocks(columns: int) -> None:
    row = matmul(graph_input("x", 1, 24), weight("w", 24, columns), "relu")
    check(make_node("add", row, weight("b", columns)), matmul(relu(row), weight("v", columns, 3)))


@pytest.mark.parametrize(
    ("image", "kernel", "padding", "head"),
    [
        ((1, 8, 1, 1), (32, 8, 1, 1), "valid", "matmul-row"),
        ((1, 8, 1, 1), (33, 8, 1, 1), "valid", "matmul-row"),
        ((1, 4, 3, 2), (20, 4, 3, 2), "valid", "matmul-row"),
        ((1, 4, 1, 1), (24, 4, 3, 3), "same", "matmul-row"),
        ((1, 4, 1, 1), (6, 2, 1, 1), "valid", "conv"),
        ((2, 4, 1, 1), (24, 4, 1, 1), "valid", "conv"),
    ],
)
def test_convolutions_of_one_place(
    image: tuple[int, ...], kernel: tuple[int, ...], padding: str, head: str
) -> None:
    result = conv(graph_input("x", *image), weight("w", *kernel), (1, 1), padding, "relu")
    shifted = make_node("add", result, weight("b", 1, kernel[0], 1, 1))
    compiled = check(make_node("sigmoid", shifted))
    assert any(step.label.startswith(head) for step in compiled.steps)


def test_a_kernel_that_is_an_input_stays_a_convolution() -> None:
    result = conv(
        graph_input("x", 1, 8, 1, 1), graph_input("w", 16, 8, 1, 1), (1, 1), "valid", "none"
    )
    (step,) = check(result).steps
    assert step.label == "conv"


def test_copies_of_arguments_and_results() -> None:
    x, y = graph_input("x", 2, 3, 4), graph_input("y", 2, 1, 4)
    turned = transpose(x, (1, 0, 2))
    compiled = check(concat(1, [x, y]), turned, relu(x))
    assert [step.label for step in compiled.steps].count("copy") == 3
    for seed in (1, 2):  # other memory at every call
        rng = np.random.default_rng(seed)
        arrays = [rng.random(shape, np.float32) for shape in ((2, 3, 4), (2, 1, 4))]
        check(concat(1, [x, y]), turned, inputs=arrays)
        both, other, _ = compiled(*arrays)
        assert np.array_equal(both, np.concatenate(arrays, axis=1))
        assert np.array_equal(other, arrays[0].transpose(1, 0, 2))


@pytest.mark.parametrize("columns", [32, 50, 5])
def test_biases_of_rows_stay_in_their_kernel(columns: int) -> None:
    bias = weight("b", columns)
    row = make_node("matmul", "relu", graph_input("x", 1, 24), weight("w", 24, columns), bias)
    (label,) = [step.label for step in check(row).steps if step.label != "copy"]
    assert label == "matmul-row+add+relu"
    result = make_node(
        "conv", 1, 1, "valid", "relu", graph_input("x", 1, 6, 1, 1), weight("w", columns, 6, 1, 1),
        bias,
    )  # fmt: skip
    (label,) = [step.label for step in check(result).steps if step.label != "copy"]
    assert label == "matmul-row+add+relu"
