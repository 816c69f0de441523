"""The graph that is being read: nodes with their shapes, weights with their values.

Every node is inferred when it is made, so that what makes no sense is told of the node that it came
from. Weights of equal elements are one weight, under the first name.
"""

from hashlib import blake2b
from typing import Any

import numpy as np

from polygym.graphs.ir import build
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.onnx.format.safe_names import SafeNames
from polygym.graphs.onnx.format.tensors import Array
from polygym.graphs.operators.types import DTYPES, Data, TensorType
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term

_SAME_SHAPE_OPERATOR = {"add": "ewadd", "mul": "ewmul"}


class OnnxGraphBuilder:
    """Makes nodes and weights, and knows of each what it is."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.names = SafeNames()
        self.values: dict[str, Array] = {}
        self._shared: dict[Any, Term] = {}
        self._of_term: dict[Term, Array] = {}
        self._data: dict[Term, Data] = {}

    def make(self, head: Head, *children: Term | Head) -> Term:
        """Return a node.

        Raises:
            Inadmissible: it makes no sense.
        """
        term = build.make_node(head, *children)
        self.data(term)
        return term

    def data(self, one: Term) -> Data:
        """Return what a node is; its children were asked for before, so this goes one level."""
        result = self._data.get(one)
        if result is None:
            result = TENSOR_DOMAIN.infer(
                one.head, tuple(self.data(child) for child in one.children)
            )
            self._data[one] = result
        return result

    def tensor(self, one: Term) -> TensorType:
        """Return what a node is that is a tensor."""
        result = self.data(one)
        assert isinstance(result, TensorType)
        return result

    def shape(self, one: Term) -> tuple[int, ...]:
        """Return the shape of a node."""
        return self.tensor(one).shape

    def graph_input(self, name: str, shape: tuple[int, ...], dtype: str) -> Term:
        """Return an input."""
        term = build.graph_input(self.names.unique(name), *shape, dtype=dtype)
        self.data(term)
        return term

    def weight(self, array: Array, name: str) -> Term:
        """Return the weight with certain elements.

        Raises:
            Inadmissible: polygym has no such type, or there are no elements.
        """
        if array.dtype.name not in DTYPES or not array.size:
            raise Inadmissible(
                f"expected elements of {', '.join(DTYPES)} for {name}, "
                f"found {array.dtype.name} of shape {array.shape}"
            )
        whole = np.ascontiguousarray(array).reshape(array.shape)
        digest = blake2b(whole.data if whole.ndim else whole.tobytes(), digest_size=16).digest()
        key = (whole.dtype.name, whole.shape, digest)
        if (term := self._shared.get(key)) is None:
            own = self.names.unique(name)
            term = build.weight(own, *whole.shape, dtype=whole.dtype.name)
            self.data(term)
            self.values[own] = whole
            self._shared[key] = term
            self._of_term[term] = whole
        return term

    def value(self, one: Term) -> Array | None:
        """Return the elements of a node if it is a weight."""
        return self._of_term.get(one)

    def pairwise(self, head: str, x: Term, y: Term) -> Term:
        """Return a function of pairs, by its narrower name where shapes are equal."""
        if self.shape(x) == self.shape(y):
            head = _SAME_SHAPE_OPERATOR.get(head, head)
        return self.make(head, x, y)

    def scalar(self, value: float, dtype_source: Term) -> Term:
        """Return a number as a weight of the type of a node."""
        return self.weight(
            np.asarray(value, self.tensor(dtype_source).dtype), f"constant_{value:g}"
        )

    def reshaped(self, x: Term, shape: tuple[int, ...]) -> Term:
        """Return the same elements under another shape; weights at once."""
        if self.shape(x) == shape:
            return x
        if (known := self.value(x)) is not None and known.size == np.prod(shape):
            name = str(x.children[0].head).rpartition("@")[0]
            return self.weight(known.reshape(shape), name)
        if x.head == "reshape":
            return self.reshaped(x.children[0], shape)
        return self.make("reshape", x, build.shape_literal(shape))

    def transposed(self, x: Term, permutation: tuple[int, ...]) -> Term:
        """Return another order of axes."""
        if permutation == tuple(range(len(self.shape(x)))):
            return x
        if len(set(permutation)) != len(self.shape(x)):
            raise Inadmissible(f"expected a permutation of {self.tensor(x)}, found {permutation}")
        return self.make("transpose", x, build.shape_literal(permutation))
