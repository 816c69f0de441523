"""The ONNX graph that is being written: its nodes, its constants, the names of its values."""

from typing import Any

import numpy as np

from polygym.graphs.ir.graph import Graph
from polygym.graphs.onnx.format.onnx_package import onnx_module
from polygym.graphs.onnx.format.safe_names import SafeNames
from polygym.graphs.onnx.format.tensors import Array
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Term


class OnnxEmitter:
    """Makes nodes; every value has a name of its own, those of the graph's signature first."""

    def __init__(self, graph: Graph) -> None:
        """Begin with the names of inputs and results."""
        self.graph = graph
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        self._names = SafeNames()
        self._claimed: set[str] = set()
        self._known: dict[Any, str] = {}
        self._of: dict[Term, tuple[str, ...]] = {}

    def reserve(self, name: str) -> str:
        """Return a name that nothing else will have."""
        while (own := self._names.unique(name)) in self._claimed:
            pass
        return own

    def reserve_exact(self, name: str) -> None:
        """Keep a name of the graph's signature, which stays as it is."""
        self._claimed.add(name)

    def name(self, one: Term, part: int = 0) -> str:
        """Return the name of a node's value."""
        return self._of[one][part]

    def set_names(self, one: Term, *names: str) -> None:
        """Say what a node's values are called."""
        self._of[one] = names

    def tensor(self, one: Term) -> TensorType:
        """Return what a node is."""
        return self.graph.tensor(one)

    def operator(
        self, kind: str, *inputs: str, results: int = 1, result_name: str = "", **attributes: Any
    ) -> str:
        """Write a node and return the name of its first result."""
        return self.operator_outputs(
            kind, *inputs, results=results, result_name=result_name, **attributes
        )[0]

    def operator_outputs(
        self, kind: str, *inputs: str, results: int = 1, result_name: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """Write a node and return the names of its results."""
        names = tuple(result_name or self.reserve(f"{kind.lower()}") for _ in range(results))
        title = f"{kind}_{len(self.nodes)}"
        node = onnx_module("helper").make_node(kind, inputs, names, title, **attributes)
        self.nodes.append(node)
        return names

    def cast(self, name: str, dtype: str) -> str:
        """Write a conversion to another element type."""
        to = onnx_module("helper").np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.operator("Cast", name, to=to)

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
