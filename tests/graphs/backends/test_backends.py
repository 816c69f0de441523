"""PyTorch and onnxruntime compute what the reference does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from polygym.graphs import library
from polygym.graphs.backends import as_onnxruntime, as_torch
from polygym.graphs.ir.graph import Model, random_inputs, random_weights
from polygym.graphs.ir.reference import evaluate
from tests.graphs.random_graphs import random_graph


def expected(model: Model, arrays: list[Any]) -> list[Any]:
    graph = model.graph
    values = dict(zip((signature.name for signature in graph.signatures), arrays, strict=True))
    return evaluate([term for _, term in graph.outputs], {**values, **model.weights})


def close(results: list[Any], wanted: list[Any]) -> None:
    assert len(results) == len(wanted)
    for one, other in zip(results, wanted, strict=True):
        np.testing.assert_allclose(
            np.asarray(one), other, rtol=1e-4, atol=1e-4 * float(np.abs(other).max(initial=0))
        )


@pytest.mark.parametrize("name", library.NAMES)
def test_networks(name: str) -> None:
    model = library.model(name)
    arrays = random_inputs(model.graph, 3)
    wanted = expected(model, arrays)
    with torch.inference_mode():
        close(as_torch(model)(*map(torch.from_numpy, arrays)), wanted)
    close(as_onnxruntime(model)(arrays), wanted)


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_in_pytorch(seed: int) -> None:
    graph = random_graph(seed, 12)
    model = Model(graph, random_weights(graph, seed))
    arrays = random_inputs(graph, seed)
    with np.errstate(all="ignore"):
        wanted = expected(model, arrays)
    with torch.inference_mode():
        results = as_torch(model)(*map(torch.from_numpy, arrays))
    assert len(results) == len(wanted)
    for one, other in zip(results, wanted, strict=True):
        scale = float(np.abs(other, where=np.isfinite(other), out=np.zeros_like(other)).max())
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-3, atol=1e-4 * max(scale, 1e-3))
