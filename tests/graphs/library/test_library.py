"""The seven networks: what they compute, how large they are, and weights from a seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.ir.graph import Model, random_inputs
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.operators.types import TensorType
from tests.graphs.library.networks import NETWORKS
from tests.graphs.torch_oracle import outputs_in_torch, values_in_torch

# Products and convolutions, megabytes of weights, and the result, at the paper's sizes: counted on
# the published descriptions of the networks.
_PAPER = {
    "bert": (48, 134.2, ["64-1024"] * 9),
    "resnext50": (53, 91.6, ["1-2048-7-7"]),
    "nasnet-a": (217, 159.4, ["1-5120-7-7"]),
    "nasrnn": (80, 83.9, ["1-512"]),
    "inception-v3": (94, 87.0, ["1-2048-1-1"]),
    "vgg19": (19, 574.6, ["1-1000"]),
    "squeezenet": (26, 4.9, ["1-1000"]),
}


def _values(model: Model) -> dict[str, np.ndarray]:
    names = [signature.name for signature in model.graph.signatures]
    return {**model.weights, **dict(zip(names, random_inputs(model.graph), strict=True))}


@pytest.mark.parametrize("name", library.NAMES)
def test_small_networks_compute_what_pytorch_does(name: str) -> None:
    model = library.model(name, seed=3)
    values = _values(model)
    inputs = [torch.from_numpy(values[signature.name]) for signature in model.graph.signatures]
    weights = {key: torch.from_numpy(array) for key, array in model.weights.items()}
    expected = NETWORKS[name](inputs, weights)
    roots = [term for _, term in model.graph.outputs]
    for arrays in (outputs_in_torch(model.graph, values), evaluate(roots, values)):
        for one, other in zip(arrays, expected, strict=True):
            assert one.shape == tuple(other.shape)
            atol = 1e-5 * float(np.abs(one).max())
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", library.NAMES)
def test_sizes_of_the_paper(name: str) -> None:
    products, megabytes, results = _PAPER[name]
    graph = library.graph(name, "paper")
    counts = Counter(str(term.head) for term in graph.nodes())
    assert counts["matmul"] + counts["conv"] == products
    assert sum(signature.tensor.bytes for signature in graph.weights) / 1e6 == pytest.approx(
        megabytes, abs=0.1
    )
    assert [str(graph.tensor(root)) for _, root in graph.outputs] == results


@pytest.mark.parametrize("name", library.NAMES)
def test_small_networks_have_every_kind_of_operator(name: str) -> None:
    small, paper = (
        {str(term.head) for term in library.graph(name, size).nodes()} for size in library.SIZES
    )
    assert small == paper


def test_bert_has_four_products_of_one_input_in_a_layer() -> None:
    graph = library.graph("bert", "paper")
    by_input = Counter(
        term.children[1]
        for term in graph.nodes()
        if term.head == "matmul" and term.children[2].head == "weight"
    )
    assert sorted(by_input.values()) == [4] * 8


def test_convolutions_in_groups() -> None:
    graph = library.graph("resnext50", "paper")
    groups = Counter(
        graph.tensor(term.children[4]).shape[1] // graph.tensor(term.children[5]).shape[1]
        for term in graph.nodes()
        if term.head == "conv"
    )
    assert groups == {1: 37, 32: 16}


def test_the_first_step_of_nasrnn_is_known_ahead_in_part() -> None:
    graph = library.graph("nasrnn", "paper")
    known = [
        term
        for term in graph.nodes()
        if term.head == "matmul"
        and isinstance(graph.data(term), TensorType)
        and graph.tensor(term).constant
    ]
    assert len(known) == 8


@pytest.mark.parametrize("name", library.NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_results_neither_vanish_nor_explode(name: str, seed: int) -> None:
    # At the paper's size those alone that take a second; the small ones have the same structure.
    is_quick = name in ("nasrnn", "squeezenet", "bert") and not seed
    for size in library.SIZES if is_quick else ("small",):
        model = library.model(name, size, seed)
        graph = model.graph
        results = values_in_torch([root for _, root in graph.outputs], _values(model))
        for term in graph.nodes():
            if term.head not in ("weight", "split"):
                deviation = float(results[term].std())
                # There is no scaling before BERT's attention is multiplied: 64 is what it has.
                assert 0.01 < deviation < (100 if name == "bert" else 20), (term, deviation)


@pytest.mark.parametrize("name", library.NAMES)
def test_weights_come_from_the_seed(name: str) -> None:
    arrays, same, other = (library.model(name, seed=seed).weights for seed in (5, 5, 6))
    assert list(arrays) == [known.name for known in library.graph(name).weights]
    for key, array in arrays.items():
        assert np.array_equal(array, same[key])
        assert not np.array_equal(array, other[key])
        assert array.dtype == np.float32


@pytest.mark.parametrize("name", library.NAMES)
def test_sentences(name: str) -> None:
    assert 20 < len(library.describe(name)) < 80


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected one of bert, .*, found lenet"):
        library.model("lenet")
    with pytest.raises(InputError, match="expected one of small, paper for the size, found large"):
        library.graph("bert", "large")
    with pytest.raises(InputError, match="found lenet"):
        library.describe("lenet")
