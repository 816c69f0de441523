"""A model: a graph and the values of its weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.graph import Graph
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A graph and an array for every weight in it.

    Raises:
        InputError: an array is missing, or has another shape or type.
    """

    graph: Graph
    weights: Mapping[str, np.ndarray[Any, Any]]

    def __post_init__(self) -> None:
        """Check the arrays."""
        for signature in self.graph.weights:
            if signature.name not in self.weights:
                raise InputError(
                    f"graph {self.graph.name}: the weight {signature.name} has no values"
                )
            array = self.weights[signature.name]
            if array.shape != signature.tensor.shape or array.dtype.name != signature.tensor.dtype:
                raise InputError(
                    f"graph {self.graph.name}: expected {signature.tensor} for the weight "
                    f"{signature.name}, "
                    f"found {array.dtype.name} of shape {array.shape}"
                )


def random_weights(graph: Graph, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return weights from a seed, so small that results neither vanish nor explode.

    A weight of n inputs (all axes but the last of a matrix, all but the first of a kernel) has a
    standard deviation of 1 / √n; each comes from the seed and its name alone.
    """
    return {
        signature.name: _values(
            signature.name, signature.tensor.shape, signature.tensor.dtype, seed, True
        )
        for signature in graph.weights
    }


def random_inputs(graph: Graph, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Return an argument for every input: normal numbers, and small integers."""
    return [
        _values(signature.name, signature.tensor.shape, signature.tensor.dtype, seed, False)
        for signature in graph.signatures
    ]


def _values(
    name: str, shape: tuple[int, ...], dtype: str, seed: int, is_weight: bool
) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng([seed, *name.encode()])
    if dtype.startswith("int"):
        return generator.integers(0, 2, shape).astype(dtype)
    inputs = prod(shape[1:]) if len(shape) == 4 else prod(shape[:-1])
    scale = inputs**-0.5 if is_weight else 1.0
    return (generator.standard_normal(shape, np.float32) * scale).astype(dtype)
