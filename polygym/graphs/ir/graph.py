"""A tensor graph as a value: inputs in the order of a call, results with names, one term.

Everything that is computed is one hash-consed term, so equal parts are shared without more ado.
``root`` joins the results by ``noop``, as equality saturation needs a single root, and
:meth:`Graph.with_root` takes them apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.ir.domain import infer_all
from polygym.graphs.operators.shape_functions import named_tensor
from polygym.graphs.operators.types import Data, TensorType, numpy_type
from polygym.pickling import pickle_by_name
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term, postorder, term


@dataclass(frozen=True, slots=True)
class Signature:
    """The name of an input or weight and what it is."""

    name: str
    tensor: TensorType


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs (``input`` nodes, in the order of a call) and results, by name.

    Raises:
        InputError: a node makes no sense, a result is none, or two names mean different tensors.
    """

    name: str
    inputs: tuple[Term, ...]
    outputs: tuple[tuple[str, Term], ...]
    _data: dict[Term, Data] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Infer the data of every node and check names."""
        roots = (*self.inputs, *(output for _, output in self.outputs))
        if not self.outputs:
            raise InputError(f"graph {self.name}: expected a result, found none")
        for input_ in self.inputs:
            if input_.head != "input":
                raise InputError(f"graph {self.name}: expected an input, found {input_!r}")
        try:
            data = infer_all(roots)
        except Inadmissible as error:
            raise InputError(f"graph {self.name}: {error}") from None
        object.__setattr__(self, "_data", data)
        for name, input_ in self.outputs:
            if not isinstance(data[input_], TensorType):
                raise InputError(
                    f"graph {self.name}: expected a tensor for {name}, found {input_!r}"
                )
        if len({name for name, _ in self.outputs}) != len(self.outputs):
            raise InputError(f"graph {self.name}: expected different names for results")
        known: dict[str, Term] = {}
        given = set(self.inputs)
        if len(given) != len(self.inputs):
            raise InputError(f"graph {self.name}: expected every input once")
        for input_ in data:
            if input_.head not in ("input", "weight"):
                continue
            name = signature_of(input_).name
            if known.setdefault(name, input_) is not input_:
                raise InputError(f"graph {self.name}: expected one tensor named {name}, found two")
            if input_.head == "input" and input_ not in given:
                raise InputError(f"graph {self.name}: expected {name} among the inputs")

    @staticmethod
    def of(name: str, *outputs: Term, **named: Term) -> Graph:
        """Return the graph of results, with the inputs in the order in which they are needed."""
        results = [(f"y{place}" if place else "y", output) for place, output in enumerate(outputs)]
        results += list(named.items())
        inputs = [
            node for node in postorder(output for _, output in results) if node.head == "input"
        ]
        return Graph(name, tuple(inputs), tuple(results))

    @property
    def root(self) -> Term:
        """The results as one term: joined by ``noop``, the first ones innermost."""
        result = self.outputs[0][1]
        for _, output in self.outputs[1:]:
            result = term("noop", result, output)
        return result

    def with_root(self, root: Term) -> Graph:
        """Return a graph of the same inputs and names whose results are those of a root."""
        return _with_root(self.name, self.inputs, tuple(name for name, _ in self.outputs), root)

    def data(self, node: Term) -> Data:
        """Return what a node of the graph is."""
        return self._data[node]

    def tensor(self, node: Term) -> TensorType:
        """Return what a node is that is known to be a tensor."""
        result = self._data[node]
        assert isinstance(result, TensorType)
        return result

    def nodes(self) -> list[Term]:
        """Return all nodes but literals, children first."""
        return [node for node in self.terms() if node.children]

    def terms(self) -> Iterable[Term]:
        """Yield all nodes, literals among them, children first."""
        return postorder(output for _, output in self.outputs)

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The inputs, in the order of a call."""
        return tuple(map(signature_of, self.inputs))

    @property
    def weights(self) -> tuple[Signature, ...]:
        """The weights, in the order in which they are needed."""
        return tuple(signature_of(node) for node in self.terms() if node.head == "weight")

    def __hash__(self) -> int:
        """Hash by what is computed."""
        return hash((self.name, self.inputs, self.outputs))

    def __reduce__(self) -> Any:
        """Be pickled as one term, so that what results share is written once."""
        names = tuple(name for name, _ in self.outputs)
        return _with_root, (self.name, self.inputs, names, self.root)


def signature_of(node: Term) -> Signature:
    """Return the name of an input or weight node and what it is."""
    identifier = str(node.children[0].head)
    name = identifier.rpartition("@")[0]
    return Signature(name, named_tensor(identifier, node.head == "weight"))


def _with_root(name: str, inputs: tuple[Term, ...], names: tuple[str, ...], root: Term) -> Graph:
    """Return the graph whose results, by name, a root joins."""
    results: list[Term] = []
    for _ in names[1:]:
        if root.head != "noop":
            raise InputError(f"graph {name}: expected {len(names)} results")
        root, last = root.children
        results.append(last)
    results.append(root)
    return Graph(name, inputs, tuple(zip(names, reversed(results), strict=True)))


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
    if dtype == "bool" or "int" in dtype:
        return generator.integers(0, 2, shape).astype(dtype)
    inputs = prod(shape[1:]) if len(shape) == 4 else prod(shape[:-1])
    scale = inputs**-0.5 if is_weight else 1.0
    return (generator.standard_normal(shape, np.float32) * scale).astype(numpy_type(dtype))
