"""The graph that is being read: nodes with their shapes, weights with their values.

Every node is inferred when it is made, so that what makes no sense is told of the node that it came
from. Weights of equal elements are one weight, under the first name.

A node of an ONNX graph, for the functions that translate it, and the rows of their table.

An input is a :class:`~polygym.rewrite.term.Term`, or an array where it is known already.
:meth:`OnnxNode.term` gives it as a tensor, :meth:`OnnxNode.array` as numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import prod
from typing import Any, NoReturn, TypeAlias

import numpy as np

from polygym.errors import InputError, printable
from polygym.graphs.ir import build
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.onnx.format import Array, SafeNames
from polygym.graphs.operators.types import DTYPES, HALF_TYPES, Data, TensorType
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, postorder

_SAME_SHAPE_OPERATOR = {"add": "ewadd", "mul": "ewmul"}

_COMPUTING_TYPES = {dtype: dtype for dtype in DTYPES} | {
    "float16": "float32", "bfloat16": "float32", "bool": "float32", "int8": "int32",
    "uint8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64",
}  # fmt: skip


def computing_type(dtype: str) -> str:
    """Return the type in which values of a type are computed, or nothing.

    >>> computing_type("uint8"), computing_type("bfloat16"), computing_type("float8_e5m2")
    ('int32', 'float32', '')
    """
    return _COMPUTING_TYPES.get(dtype, "")


class UnknownValueError(InputError):
    """A node needs a value while the file is read that depends on inputs of the model.

    ``inputs`` are their names in the file.
    """

    def __init__(self, message: str, inputs: tuple[str, ...]) -> None:
        """Keep the names beside the message."""
        super().__init__(message)
        self.inputs = inputs


class OnnxGraphBuilder:
    """Makes nodes and weights, and knows of each what it is."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.names = SafeNames()
        self.values: dict[str, Array] = {}
        self._input_names: dict[Term, str] = {}
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

    def data(self, node: Term) -> Data:
        """Return what a node is; its children were asked for before, so this goes one level."""
        result = self._data.get(node)
        if result is None:
            result = TENSOR_DOMAIN.infer(
                node.head, tuple(self.data(child) for child in node.children)
            )
            self._data[node] = result
        return result

    def tensor(self, node: Term) -> TensorType:
        """Return what a node is that is a tensor."""
        result = self.data(node)
        assert isinstance(result, TensorType)
        return result

    def shape(self, node: Term) -> tuple[int, ...]:
        """Return the shape of a node."""
        return self.tensor(node).shape

    def graph_input(self, name: str, shape: tuple[int, ...], dtype: str) -> Term:
        """Return an input."""
        term = build.graph_input(self.names.unique(name), *shape, dtype=dtype)
        self.data(term)
        self._input_names[term] = name
        return term

    def inputs_of(self, term: Term) -> tuple[str, ...]:
        """Return the names of the inputs that a node depends on, as the file has them."""
        return tuple(
            self._input_names[node] for node in postorder((term,)) if node in self._input_names
        )

    def weight(self, array: Array, name: str) -> Term:
        """Return the weight with certain elements.

        Raises:
            Inadmissible: polygym has no such type, or there are no elements.
        """
        computing = computing_type(array.dtype.name)
        if not computing or not array.size:
            raise Inadmissible(
                f"expected numbers for {name}, found {array.dtype.name} of shape {array.shape}"
            )
        whole = np.ascontiguousarray(array.astype(computing, copy=False)).reshape(array.shape)
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

    def value(self, node: Term) -> Array | None:
        """Return the elements of a node if it is a weight."""
        return self._of_term.get(node)

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


OnnxValue: TypeAlias = Term | Array

MAX_ELEMENTS = 1 << 28
"""More than any table of a model has; a few numbers in a file must not ask for more."""


UNFITTING = (ValueError, TypeError, IndexError, KeyError, AttributeError, ZeroDivisionError)
"""Errors of Python where numbers in a file are others than anything expects."""


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line."""
    return printable(" ".join(str(error).split()))


def shortest_float(value: Any) -> float:
    """Return a number of single precision by its shortest name.

    >>> shortest_float(np.float32(0.01))
    0.01
    """
    return float(str(np.float32(value)))


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """An operator with what it takes; ``is_only_user`` when nothing else takes its first input.

    ``types`` and ``result_types`` are those that ONNX gives its inputs and results.
    """

    operator: str
    title: str
    opset: int
    names: tuple[str, ...]
    values: tuple[OnnxValue | None, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    types: tuple[str, ...]
    result_types: tuple[str, ...]
    is_only_user: bool
    builder: OnnxGraphBuilder

    def reject(self, message: str) -> NoReturn:
        """Say that the node cannot be read."""
        raise InputError(f"{self.title}: {message}")

    def has(self, place: int) -> bool:
        """Whether an input is given."""
        return 0 <= place < len(self.values) and self.values[place] is not None

    def term(self, place: int) -> Term:
        """Return an input as a node; what is known becomes a weight."""
        onnx_value = self._given(place)
        if isinstance(onnx_value, Term):
            return onnx_value
        return self.weight(onnx_value, self.names[place])

    def terms(self) -> list[Term]:
        """Return all inputs as nodes."""
        return [self.term(place) for place in range(len(self.values))]

    def array(self, place: int, purpose: str) -> Array:
        """Return an input that must be known while the file is read."""
        known = self.known_array(place)
        if known is None:
            term = self.term(place)
            raise UnknownValueError(
                f"{self.title}: expected {purpose} known from constants, found "
                f"{printable(self.names[place])}, which is computed from the model's inputs: fix "
                "it before exporting, or give these inputs as values of read()",
                self.builder.inputs_of(term),
            )
        return known

    def integers(self, place: int, purpose: str) -> tuple[int, ...]:
        """Return an input that is a list of known integers."""
        array = self.array(place, purpose)
        if array.dtype.kind not in "iu":
            self.reject(f"expected integers for {purpose}, found {array.dtype.name}")
        return tuple(map(int, array.reshape(-1)))

    def known_array(self, place: int) -> Array | None:
        """Return an input's elements if they are known."""
        onnx_value = self._given(place)
        if isinstance(onnx_value, Term):
            return self.builder.value(onnx_value)
        is_half = onnx_value.dtype.name in HALF_TYPES
        return onnx_value.astype(np.float32) if is_half else onnx_value

    def shape(self, place: int) -> tuple[int, ...]:
        """Return the shape of an input."""
        onnx_value = self._given(place)
        return self.builder.shape(onnx_value) if isinstance(onnx_value, Term) else onnx_value.shape

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attributes.get(name, default)

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from 0."""
        if not -rank <= value < rank:
            self.reject(f"expected an axis from {-rank} to {rank - 1}, found {value}")
        return value % rank

    def axes(self, values: Sequence[int], rank: int) -> tuple[int, ...]:
        """Return different axes, counted from 0, in order."""
        result = tuple(sorted(self.axis(value, rank) for value in values))
        if len(set(result)) != len(result):
            self.reject(f"expected different axes, found {list(values)}")
        return result

    def expect_small(self, *extents: int) -> None:
        """Refuse to make an array of so many elements: a few numbers in a file must not."""
        if prod(extents) > MAX_ELEMENTS:
            self.reject(f"expected at most {MAX_ELEMENTS} elements, found {list(extents)}")

    def broadcast(self, *shapes: Sequence[int]) -> tuple[int, ...]:
        """Return the shape that several broadcast to."""
        try:
            return np.broadcast_shapes(*map(tuple, shapes))
        except ValueError:
            listed = ", ".join(str(list(shape)) for shape in shapes)
            self.reject(f"expected shapes that broadcast, found {listed}")

    def make(self, head: Head, *children: Term | Head) -> Term:
        """Return a node of the graph that is read."""
        return self.builder.make(head, *children)

    def pairwise(self, head: str, x: Term, y: Term) -> Term:
        """Return a function of pairs of elements."""
        return self.builder.pairwise(head, x, y)

    def scalar(self, value: float, dtype_source: Term) -> Term:
        """Return a number as a weight."""
        return self.builder.scalar(value, dtype_source)

    def weight(self, array: Array, name: str = "") -> Term:
        """Return elements as a weight, named after a result if nothing else is said."""
        return self.builder.weight(array, name or next(filter(None, self.outputs), "constant"))

    def _given(self, place: int) -> OnnxValue:
        onnx_value = self.values[place] if place < len(self.values) else None
        if onnx_value is None:
            self.reject(f"expected an input number {place}, found {len(self.values)} inputs")
        return onnx_value


ImportFunction: TypeAlias = Callable[[OnnxNode], Term | tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class OnnxImport:
    """Row of the table of ONNX operators: a name, its translation, the attributes it reads."""

    name: str
    translate: ImportFunction
    attributes: str = ""
