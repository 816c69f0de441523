"""Functions of elements in the kernels of what comes before them: less steps, equal results."""

from __future__ import annotations

import numpy as np
import pytest

from polygym.graphs.execution import compile_model
from polygym.graphs.ir.build import (
    binary,
    conv,
    graph_input,
    make_node,
    matmul,
    pool,
    relu,
    reshape,
    sigmoid,
    tanh,
    transpose,
    unary,
    weight,
)
from polygym.graphs.ir.graph import random_inputs
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check, model_of

X, W = graph_input("x", 6, 8), weight("w", 8, 4)
BIAS = weight("bias", 4)
IMAGE = graph_input("image", 1, 4, 6, 6)
CHANNELS = weight("channels", 4, 1, 1)


def _labels(*outputs: Term, fuse: bool = True) -> list[str]:
    return [description.label for description in check(*outputs, fuse=fuse).steps]


CHAINS = {
    "bias, gelu": (unary("gelu", binary("add", matmul(X, W), BIAS)), 1, 3),
    "residual": (relu(binary("add", matmul(X, W), graph_input("r", 6, 4))), 1, 3),
    # A pad and the windows stand before the product that this convolution is.
    "normalised channels": (
        relu(
            binary(
                "add",
                binary("mul", conv(IMAGE, weight("k", 4, 4, 3, 3)), CHANNELS),
                weight("moved", 4, 1, 1),
            )
        ),
        3,
        6,
    ),
    "pool": (tanh(pool("max", IMAGE, (2, 2), (2, 2))), 1, 2),
    "softmax": (binary("mul", make_node("softmax", 1, X), X), 1, 2),
    "elements alone": (binary("mul", relu(X), sigmoid(binary("add", X, X))), 1, 4),
    "the same twice": (binary("mul", matmul(X, W), matmul(X, W)), 1, 2),
    "gates": (binary("mul", sigmoid(matmul(X, W)), tanh(matmul(X, weight("v", 8, 4)))), 2, 5),
    "clip of a sum": (make_node("clip", 0.0, 6.0, binary("add", matmul(X, W), BIAS)), 1, 3),
    "another type": (make_node("cast", "float64", relu(matmul(X, W))), 1, 3),
}


@pytest.mark.parametrize("name", CHAINS)
def test_fewer_steps_and_equal_results(name: str) -> None:
    root, fused, apart = CHAINS[name]
    model = model_of(root)
    given = random_inputs(model.graph)
    compiled_model, other = (compile_model(model, fuse=fuse) for fuse in (True, False))
    assert (len(compiled_model.steps), len(other.steps)) == (fused, apart)
    np.testing.assert_allclose(compiled_model(*given), other(*given), rtol=1e-6, atol=1e-6)


def test_activations_of_products_are_never_apart() -> None:
    assert _labels(matmul(X, W, "tanh"), fuse=False) == ["matmul+tanh"]
    assert _labels(pool("avg", IMAGE, (2, 2), activation="relu"), fuse=False) == ["poolavg+relu"]


def test_what_is_needed_twice_is_computed_once() -> None:
    product = matmul(X, W)
    assert _labels(relu(product), tanh(product)) == ["matmul", "relu", "tanh"]
    # A product whose activation is asked for, and the product itself.
    assert _labels(matmul(X, W, "relu"), product) == ["matmul", "relu"]


def test_results_are_kept_apart_from_what_follows() -> None:
    product = matmul(X, W)
    assert _labels(product, relu(product)) == ["matmul", "relu"]


def test_another_shape_ends_a_group() -> None:
    product = matmul(X, W)
    assert len(_labels(relu(reshape(product, (24,))))) == 2
    assert len(_labels(binary("add", product, graph_input("more", 2, 6, 4)))) == 2
    assert len(_labels(relu(transpose(product, (1, 0))))) == 2


def test_long_chains_of_functions_stay_one_kernel() -> None:
    x = graph_input("x", 7)
    value: Term = x
    for number in range(6):
        value = binary("mul", tanh(sigmoid(value)), graph_input(f"x{number}", 7))
    compiled = check(unary("gelu", value))
    assert len(compiled.steps) == 1
