"""A node of an ONNX graph, for the functions that translate it, and the rows of their table.

An input is a :class:`~polygym.rewrite.term.Term`, or an array where it is known already.
:meth:`OnnxNode.term` gives it as a tensor, :meth:`OnnxNode.array` as numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, TypeAlias

import numpy as np

from polygym.errors import InputError
from polygym.graphs.onnx.format.tensors import Array
from polygym.graphs.onnx.nodes.graph_builder import OnnxGraphBuilder
from polygym.rewrite.term import Head, Term

OnnxValue: TypeAlias = Term | Array

MAX_ELEMENTS = 1 << 28
"""More than any table of a model has; a few numbers in a file must not ask for more."""


def shortest_float(value: Any) -> float:
    """Return a number of single precision by its shortest name.

    >>> shortest_float(np.float32(0.01))
    0.01
    """
    return float(str(np.float32(value)))


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """An operator with what it takes; ``is_only_user`` when nothing else takes its first input."""

    operator: str
    title: str
    opset: int
    names: tuple[str, ...]
    values: tuple[OnnxValue | None, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
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
        onnx_value = self._given(place)
        if isinstance(onnx_value, Term):
            known = self.builder.value(onnx_value)
            if known is None:
                self.reject(
                    f"expected {purpose} known from constants, found {self.names[place]}, which is "
                    "computed from the model's inputs: fix it before exporting"
                )
            return known
        return onnx_value

    def integers(self, place: int, purpose: str) -> tuple[int, ...]:
        """Return an input that is a list of known integers."""
        array = self.array(place, purpose)
        if array.dtype.kind not in "iu":
            self.reject(f"expected integers for {purpose}, found {array.dtype.name}")
        return tuple(map(int, array.reshape(-1)))

    def known_array(self, place: int) -> Array | None:
        """Return an input's elements if they are known."""
        onnx_value = self._given(place)
        return self.builder.value(onnx_value) if isinstance(onnx_value, Term) else onnx_value

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
