"""The ONNX graph that is being written: its nodes, its constants, the names of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.types import Tensor
from polygym.graphs.onnx.library import part_of_onnx
from polygym.graphs.onnx.names import Names
from polygym.graphs.onnx.tensors import Array
from polygym.rewrite.term import Term

__all__ = ["Emitter"]


class Emitter:
    """Makes nodes; every value has a name of its own, those of the graph's signature first."""

    def __init__(self, graph: Graph) -> None:
        """Begin with the names of inputs and results."""
        self.graph = graph
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self._names = Names()
        self._claimed: set[str] = set()
        self._known: dict[Any, str] = {}
        self._of: dict[Term, tuple[str, ...]] = {}

    def reserve(self, name: str) -> str:
        """Return a name that nothing else will have."""
        while (own := self._names.take(name)) in self._claimed:
            pass
        return own

    def claim(self, name: str) -> None:
        """Keep a name of the graph's signature, which stays as it is."""
        self._claimed.add(name)

    def name(self, one: Term, part: int = 0) -> str:
        """Return the name of a node's value."""
        return self._of[one][part]

    def put(self, one: Term, *names: str) -> None:
        """Say what a node's values are called."""
        self._of[one] = names

    def tensor(self, one: Term) -> Tensor:
        """Return what a node is."""
        return self.graph.tensor(one)

    def operator(
        self, kind: str, *inputs: str, results: int = 1, called: str = "", **attributes: Any
    ) -> str:
        """Write a node and return the name of its first result."""
        return self.several(kind, *inputs, results=results, called=called, **attributes)[0]

    def several(
        self, kind: str, *inputs: str, results: int = 1, called: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """Write a node and return the names of its results."""
        names = tuple(called or self.reserve(f"{kind.lower()}") for _ in range(results))
        title = f"{kind}_{len(self.nodes)}"
        node = part_of_onnx("helper").make_node(kind, inputs, names, title, **attributes)
        self.nodes.append(node)
        return names

    def constant(self, values: Any, dtype: str) -> str:
        """Return the name of a constant; equal ones are one."""
        array = np.asarray(values, dtype)
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self.weight("constant", array)
        return self._known[key]

    def weight(self, name: str, array: Array) -> str:
        """Return the name of a weight's values."""
        own = self.reserve(name)
        self.constants[own] = array
        return own
