"""Images that are written inside of padding that is there already."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polygym.graphs.execution import CompiledModel
from polygym.graphs.ir.build import conv, graph_input, make_node, pool, relu, weight
from polygym.graphs.ir.graph import random_inputs
from polygym.rewrite.term import Term
from tests.graphs.execution.cases import check, model_of
from tests.graphs.torch_oracle import outputs_in_torch


def _labels(compiled: CompiledModel) -> list[str]:
    return [step.label for step in compiled.steps]


def _block(x: Term, name: str, channels: int, size: int = 3) -> Term:
    kernel = weight(f"{name}-kernel", channels, channels, size, size)
    bias = weight(f"{name}-bias", 1, channels, 1, 1)
    return make_node("sigmoid", make_node("add", conv(x, kernel, (1, 1), "same", "none"), bias))


def test_convolutions_write_where_the_next_one_reads() -> None:
    image = graph_input("x", 1, 6, 9, 9)
    compiled = check(_block(_block(_block(image, "a", 6), "b", 6), "c", 6), threads=2)
    labels = _labels(compiled)
    assert len(labels) == 4
    assert labels[0] == "inset"
    assert all(label.startswith("conv") for label in labels[1:])
    assert labels[1].endswith("+inset")


def test_zeros_last_from_call_to_call() -> None:
    image = graph_input("x", 1, 6, 9, 9)
    model = model_of(_block(_block(_block(_block(image, "a", 6), "b", 6, 5), "c", 6), "d", 6, 5))
    compiled = check(*(term for _, term in model.graph.outputs))
    for seed in range(3):
        arrays = random_inputs(model.graph, seed)
        (expected,) = outputs_in_torch(model.graph, {**model.weights, "x": arrays[0]})
        np.testing.assert_allclose(compiled(*arrays), expected, rtol=1e-4, atol=2e-6)


def test_functions_of_padding_leave_its_zeros() -> None:
    x = graph_input("x", 2, 3, 4)
    inside = make_node("pad", 0.0, "0-1-0-0-0-2", relu(x))
    compiled = check(make_node("sigmoid", inside), make_node("cos", inside))
    (first, second) = compiled(np.ones((2, 3, 4), np.float32))
    assert np.all(first[:, 0] == 0.5)
    assert np.all(second[:, 0] == 1)


@pytest.mark.parametrize(
    "pad",
    [
        make_node("pad", 1.0, "0-0-1-1", graph_input("x", 3, 4)),  # another value
        make_node("pad", 0.0, "0-1-0-1", graph_input("x", 3, 1)),  # an axis of one element
    ],
)
def test_other_padding_is_written_at_every_call(pad: Term) -> None:
    assert _labels(check(relu(pad))) == ["pad+relu"]


def test_padding_that_leaves_the_model_is_written_at_every_call() -> None:
    x = graph_input("x", 3, 4)
    assert _labels(check(make_node("pad", 0.0, "1-1-1-1", x))) == ["pad"]


@given(
    st.integers(1, 3), st.integers(1, 2), st.integers(2, 30), st.integers(2, 30),
    st.sampled_from([1, 3, 5]), st.integers(1, 2), st.booleans(), st.booleans(), st.integers(1, 2),
)  # fmt: skip
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
def test_images(
    each: int,
    groups: int,
    height: int,
    width: int,
    size: int,
    stride: int,
    is_pooled: bool,
    is_read_again: bool,
    threads: int,
) -> None:
    channels = each * groups
    image = graph_input("x", 2, channels, height, width)
    first = conv(image, weight("w", channels, each, size, size), (stride, stride), "same", "relu")
    if is_pooled:
        first = pool("avg", first, (3, 3), (1, 1), "same")
    second = conv(first, weight("v", channels, channels, 3, 3), (1, 1), "same", "none")
    check(make_node("ewadd", second, first) if is_read_again else second, threads=threads)
