"""Models of a few operators and what they compute by another way, for the tests here."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygym.graphs.execution import CompiledModel, compile_model
from polygym.graphs.ir.graph import Graph, Model, random_inputs, random_weights
from polygym.rewrite.term import Term
from tests.graphs.torch_oracle import outputs_in_torch

Array = np.ndarray[Any, Any]


def model_of(*outputs: Term, seed: int = 0) -> Model:
    """Return a model with these results."""
    graph = Graph.of("case", *outputs)
    return Model(graph, random_weights(graph, seed))


def check(
    *outputs: Term, fuse: bool = True, threads: int = 1, inputs: list[Array] | None = None
) -> CompiledModel:
    """Compile results, compare them with PyTorch's, and return what was compiled."""
    model = model_of(*outputs)
    compiled = compile_model(model, threads=threads, fuse=fuse)
    given = random_inputs(model.graph) if inputs is None else inputs
    before = [array.copy() for array in given]
    results = compiled(*given)
    names = [signature.name for signature in model.graph.signatures]
    values = {**model.weights, **dict(zip(names, given, strict=True))}
    expected = outputs_in_torch(model.graph, values)
    for signature, other in zip(results if len(outputs) > 1 else [results], expected, strict=True):
        assert signature.dtype == other.dtype
        assert signature.shape == other.shape
        np.testing.assert_allclose(signature, other, rtol=1e-4, atol=2e-6)
    for signature, other in zip(given, before, strict=True):
        assert np.array_equal(signature, other)
    return compiled
