"""Biases of networks, random networks, and the texts that name both."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.envs.task import graphs_from_argument, open_graph
from polygym.graphs.ir.graph import Graph, random_inputs, random_weights
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.library.biases import with_biases
from polygym.graphs.library.random_networks import random_network
from polygym.graphs.saved_model import open_source


def outputs(graph: Graph, weights: dict[str, np.ndarray]) -> list[np.ndarray]:
    names = [signature.name for signature in graph.signatures]
    values = {**weights, **dict(zip(names, random_inputs(graph, 1), strict=True))}
    return evaluate([term for _, term in graph.outputs], values)


@pytest.mark.parametrize("text", [*library.NAMES, "random:3", "random:6"])
def test_biases_of_zero_change_nothing_and_others_do(text: str) -> None:
    graph = library.graph_of_text(text, "small")
    biased = with_biases(graph)
    weights = random_weights(biased)
    added = [name for name in weights if name.endswith(".bias")]
    constant_products = [
        node
        for node in graph.nodes()
        if node.head in ("conv", "matmul") and graph.tensor(node.children[-1]).constant
    ]
    assert len(added) == len(constant_products) > 0
    for name in added:
        weights[name][:] = 0
    for one, other in zip(outputs(graph, weights), outputs(biased, weights), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    for name in added:
        weights[name][:] = 0.5
    changed = zip(outputs(graph, weights), outputs(biased, weights), strict=True)
    assert any(not np.allclose(one, other) for one, other in changed)


def test_one_weight_of_two_products_has_two_biases() -> None:
    from polygym.graphs.ir import build

    x, w = build.graph_input("x", 2, 3), build.weight("w", 3, 3)
    graph = Graph("g", (x,), (("y", build.matmul(build.matmul(x, w, "relu"), w)),))
    assert {known.name for known in with_biases(graph).weights} == {"w", "w.bias", "w.bias2"}


def test_random_networks_are_different_and_of_both_kinds() -> None:
    graphs = [random_network(seed) for seed in range(40)]
    assert len(set(graphs)) == 40
    heads = Counter(str(node.head) for graph in graphs for node in graph.nodes())
    assert {"matmul", "conv", "ewadd", "relu", "transpose", "poolmax"} <= set(heads)
    assert all(graph == random_network(seed) for seed, graph in enumerate(graphs))


def test_texts() -> None:
    small = library.graph_of_text("bert:small:bias")
    assert small == library.graph_of_text("bert:bias:small") == open_graph("bert:bias", "small")
    assert library.graph_of_text("bert").signatures != small.signatures
    assert open_source("vgg19:small:bias").graph.name == "vgg19:bias"
    assert open_source("random:7:bias").model.weights.keys() == {
        known.name for known in library.graph_of_text("random:7:bias").weights
    }
    names = graphs_from_argument("random:8-9:bias, bert:small")
    assert names == ("random:8:bias", "random:9:bias", "bert:small")


@pytest.mark.parametrize(
    "text",
    [
        "bert:tiny",
        "bert:bias:bias",
        "bert:small:paper",
        "random:",
        "random:x",
        "random:1:2",
        "bert:",
    ],
)
def test_options_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"{text.rstrip(':')}.*: expected .* with .* after it"):
        open_source(text)
    with pytest.raises(InputError):
        graphs_from_argument(text)


@pytest.mark.parametrize("text", ["random", "random:3-1", "random:0-99999"])
def test_ranges_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="random"):
        graphs_from_argument(text)
