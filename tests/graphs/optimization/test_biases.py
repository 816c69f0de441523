"""Modules with biases gain what they gain without, and compute what PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")
torch = pytest.importorskip("torch")

from benchmarks.bias_study.__main__ import (  # noqa: E402
    FORMS,
    exported,
    gain,
    module_in_form,
    optimized,
)
from benchmarks.bias_study.modules import MODULES  # noqa: E402
from polygym.graphs.execution import compile_model  # noqa: E402
from polygym.graphs.ir import build  # noqa: E402
from polygym.graphs.ir.graph import Graph, Model  # noqa: E402
from polygym.graphs.optimization import OptimizationResult  # noqa: E402
from tests.graphs.optimization.test_optimizer import equal_results  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

_SIX = ("fire", "inception", "chain", "sum", "repvgg", "nasnet")


def _optimized(name: str, form: str) -> tuple[OptimizationResult, list[np.ndarray], Model]:
    """Return what became of a module, PyTorch's results, and the model that was read."""
    module, shape = module_in_form(name, form)
    example = torch.randn(shape)
    with torch.no_grad():
        results = module(example)
    expected = [result.numpy() for result in (results if isinstance(results, tuple) else [results])]
    model = exported(module, example)
    return optimized(model.graph, 1), [example.numpy(), *expected], model


@pytest.mark.parametrize("name", MODULES)
def test_a_module_with_biases_ends_where_it_does_without(name: str) -> None:
    """Within a hundredth: a bias has its own bytes, and nothing else is dearer."""
    plain, *others = (
        optimized(exported(*_example(name, form)).graph, 1)
        for form in FORMS
        if module_in_form(name, form) is not None
    )
    for other in others:
        assert other.cost <= 1.01 * plain.cost
        assert gain(other) >= 0.9 * gain(plain)
        equal_results(other)
    if name in _SIX:
        assert gain(plain) > 0.05


def _example(name: str, form: str) -> tuple[torch.nn.Module, torch.Tensor]:
    module, shape = module_in_form(name, form)
    return module, torch.randn(shape)


@pytest.mark.parametrize("name", ["fire", "chain", "repvgg", "attention", "grouped"])
@pytest.mark.parametrize("form", ["with", "batch norm"])
def test_the_cheaper_graph_runs_and_computes_what_pytorch_does(name: str, form: str) -> None:
    if module_in_form(name, form) is None:
        pytest.skip("has no convolution to be normalised")
    result, (given, *expected), model = _optimized(name, form)
    assert result.is_changed
    compiled = compile_model(Model(result.after, model.weights))
    made = compiled(given)
    for array, other in zip(made if len(expected) > 1 else [made], expected, strict=True):
        scale = max(1.0, float(np.abs(other).max()))
        np.testing.assert_allclose(array, other, rtol=1e-4, atol=1e-5 * scale)


def test_a_bias_and_its_activation_are_part_of_the_convolution() -> None:
    result, *_ = _optimized("fire", "with")
    nodes = [node for node in result.after.nodes() if not _is_known(result.after, node)]
    heads = {node.head for node in nodes}
    assert heads == {"input", "conv", "concat2"}
    assert all(
        len(node.children) == 7 and node.children[3].head == "relu"
        for node in nodes
        if node.head == "conv"
    )


def _is_known(graph: Graph, node) -> bool:
    return graph.tensor(node).constant


@pytest.mark.parametrize("words", [1, 32])
def test_queries_keys_and_values_of_one_word_are_one_product(words: int) -> None:
    """Where taking the results apart moves nothing; else it costs more than it gains."""
    x = build.graph_input("x", 1, words, 64)
    made = [
        build.binary("add", build.matmul(x, build.weight(f"w{n}", 64, 64)), build.weight(n, 64))
        for n in "qkv"
    ]
    result = optimized(Graph.of("attention", *made), 2)
    products = [node for node in result.after.nodes() if node.head == "matmul"]
    assert len(products) == (1 if words == 1 else 3)
    assert all(len(node.children) == 4 for node in products)
    equal_results(result)


def test_one_product_that_is_taken_apart_is_three() -> None:
    """Where copying the parts costs more than reading the input three times."""
    x = build.graph_input("x", 1, 64, 96)
    weights = build.weight("w", 96, 288), build.weight("b", 288)
    made = build.binary("add", build.matmul(x, weights[0]), weights[1])
    q, rest = build.split(2, 96, made)
    graph = Graph.of("parts", q, *build.split(2, 96, rest))
    result = optimized(graph, 2)
    computed = [node for node in result.after.nodes() if node.head == "matmul"]
    assert len(computed) == 3
    assert all(len(node.children) == 4 for node in computed)
    equal_results(result)


def test_one_bias_of_two_is_enough() -> None:
    """Keys have none in some models."""
    x = build.graph_input("x", 1, 64)
    product, other = (build.matmul(x, build.weight(name, 64, 64)) for name in "vw")
    graph = Graph.of("half", build.binary("ewadd", build.binary("add", product, _bias()), other))
    result = optimized(graph, 1)
    assert [node.head for node in result.after.nodes()].count("matmul") == 1
    equal_results(result)


def _bias():
    return build.weight("b", 64)


@pytest.mark.parametrize("shape", [(8, 1), (1, 64), (1, 1), (64,), (1, 8, 64), (8, 64)])
def test_only_a_bias_of_columns_becomes_part_of_a_product(shape: tuple[int, ...]) -> None:
    x, w = build.graph_input("x", 8, 32), build.weight("w", 32, 64)
    sum_ = build.binary("add", build.matmul(x, w), build.weight("b", *shape))
    result = optimized(Graph.of("bias", build.relu(sum_)), 1)
    fused = [node for node in result.after.nodes() if node.head == "matmul"]
    is_of_columns = shape in ((1, 64), (64,))
    assert (len(fused[0].children) == 4) == is_of_columns
    equal_results(result)


def test_a_square_hides_nothing() -> None:
    """A bias of rows beside as many columns is no bias of columns."""
    x, w = build.graph_input("x", 16, 16), build.weight("w", 16, 16)
    sum_ = build.binary("add", build.matmul(x, w), build.weight("b", 16, 1))
    result = optimized(Graph.of("square", sum_), 1)
    assert not result.is_changed
    equal_results(result)
