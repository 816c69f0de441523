"""A graph as a list of operations on arrays: what has to be done when a model runs, and in order.

What moves nothing is a view. What is known from weights alone is computed here. Padding, and the
activations of products, are operations of their own; equal operations are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

import numpy as np

from polygym.graphs.checks import pads_of
from polygym.graphs.graph import Graph
from polygym.graphs.operators import ELEMENTWISE
from polygym.graphs.reference import evaluate
from polygym.graphs.running.functions import ACTIVATION
from polygym.graphs.running.views import (
    Source,
    View,
    permuted,
    plain,
    reshaped,
    sliced,
    widened,
)
from polygym.graphs.types import Number, Tensor, Text, numbers_in, shape_text
from polygym.rewrite.term import Head, Term

__all__ = ["Operation", "Traced", "traced"]

_ROWS = frozenset({"softmax", "layer-norm", "conv", "poolmax", "poolavg"})

_FEW_PIXELS = 64
"""Rows of a result with so few places fill vectors badly; then a convolution becomes a product."""

_FEW_TERMS = 32
"""So do vectors that read every other element, where a result is a sum of so few."""

_WIDTHS = (64, 32, 16)
"""Columns of a known matrix that lie together, for a product with a single row."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator, its literals, what it reads, and the array that it makes."""

    head: str
    literals: tuple[Head, ...]
    operands: tuple[View, ...]
    result: Source

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result needs one element of each operand."""
        return self.head in _POINTWISE or self.head.startswith(ACTIVATION)


_POINTWISE = ELEMENTWISE | {"copy", "cast"}


@dataclass(frozen=True, slots=True)
class Traced:
    """Operations in order; what the inputs, constants and results are among the arrays."""

    operations: tuple[Operation, ...]
    inputs: tuple[Source, ...]
    constants: Mapping[Source, np.ndarray[Any, Any]]
    outputs: tuple[View, ...]


def traced(graph: Graph, weights: Mapping[str, np.ndarray[Any, Any]]) -> Traced:
    """Return the operations of a graph with these weights."""
    tracer = _Tracer(graph)
    tracer.compute_constants(weights)
    for one in graph.terms():
        if one.children and not _is_constant(graph, one) and one.head not in ("noop", "split"):
            tracer.views[one] = tracer.view(one)
    outputs = tuple(tracer.views[one] for _, one in graph.outputs)
    inputs = tuple(tracer.inputs[one] for one in graph.inputs)
    return Traced(tuple(tracer.operations), inputs, tracer.constants, outputs)


def _is_constant(graph: Graph, one: Term) -> bool:
    data = graph.data(one)
    return isinstance(data, Tensor) and data.constant


@dataclass
class _Tracer:
    graph: Graph
    views: dict[Term, View] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    constants: dict[Source, np.ndarray[Any, Any]] = field(default_factory=dict)
    inputs: dict[Term, Source] = field(default_factory=dict)
    _known: dict[Any, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in self.graph.inputs:
            tensor = self.graph.tensor(one)
            self.inputs[one] = Source(tensor.shape, tensor.dtype)

    def compute_constants(self, weights: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Compute what is known from weights alone and asked for by the rest."""
        asked: dict[Term, None] = {}
        for one in self.graph.terms():
            if one.children and not _is_constant(self.graph, one):
                asked |= {child: None for child in one.children if self._is_known(child)}
        asked |= {one: None for _, one in self.graph.outputs if self._is_known(one)}
        # The same again and again need not be there more than once.
        inner = {one: one.children[0] if one.head == "expand" else one for one in asked}
        roots = list(dict.fromkeys(inner.values()))
        arrays = dict(zip(roots, evaluate(roots, weights), strict=True))
        made = {one: plain(self.constant(array)) for one, array in arrays.items()}
        for one, root in inner.items():
            self.views[one] = widened(made[root], self.graph.tensor(one).shape)

    def _is_known(self, one: Term) -> bool:
        return bool(one.children) and _is_constant(self.graph, one)

    def constant(self, array: np.ndarray[Any, Any]) -> Source:
        """Return an array that is known."""
        kept = np.ascontiguousarray(array).reshape(array.shape)
        source = Source(kept.shape, kept.dtype.name)
        self.constants[source] = kept
        return source

    def emit(
        self,
        head: str,
        literals: Sequence[Head],
        operands: Sequence[View],
        shape: tuple[int, ...],
        dtype: str,
    ) -> View:
        """Return what an operation makes, one that is there already if it is equal."""
        key = (head, tuple(map(repr, literals)), tuple(operands))
        if key not in self._known:
            made = Operation(head, tuple(literals), tuple(operands), Source(shape, dtype))
            self.operations.append(made)
            self._known[key] = plain(made.result)
        return self._known[key]

    def moved(self, view: View) -> View:
        """Return a view as an array of its own."""
        return self.emit("copy", (), (view,), view.shape, view.dtype)

    def view(self, one: Term) -> View:
        """Return the result of a node."""
        tensor = self.graph.tensor(one)
        literals = [child.head for child in one.children if not child.children]
        operands = [self.views[child] for child in one.children if child in self.views]
        match one.head:
            case "input":
                return plain(self.inputs[one])
            case "reshape":
                (x,) = operands
                return reshaped(x, tensor.shape) or self._again(x, tensor.shape)
            case "transpose":
                return permuted(operands[0], _numbers(literals[0]))
            case "expand":
                return widened(operands[0], tensor.shape)
            case "slice":
                axis, start, _, step = map(int, literals)
                return sliced(operands[0], axis, start, tensor.shape[axis], step)
            case "split0" | "split1":
                return self._part(one, tensor)
            case "cast" if operands[0].dtype == tensor.dtype:
                return operands[0]
            case "conv":
                return self._convolution(literals, operands, tensor)
            case "poolmax" | "poolavg":
                return self._pooling(str(one.head), literals, operands[0], tensor)
            case "matmul":
                x, y = (self._with_rows(part) for part in operands)
                blocks = self._in_blocks(y) if prod(x.shape[:-1]) == 1 else None
                made = (
                    self.emit("matmul", (), (x, y), tensor.shape, tensor.dtype)
                    if blocks is None
                    else self.emit("matmul-row", (), (x, blocks), tensor.shape, tensor.dtype)
                )
                return self._activated(str(literals[0]), made)
            case "pad":
                pads = _numbers(literals[1])
                return self._padded(operands[0], float(literals[0]), pads)
            case "enlarge":
                small, large = (part.shape for part in operands)
                sides = [(b - a) // 2 for a, b in zip(small, large, strict=True)]
                return self._padded(operands[0], 0.0, (0, 0, *sides[2:], 0, 0, *sides[2:]))
            case "gather":
                table, indices = operands
                table = table if table.is_plain else self.moved(table)
                return self.emit("gather", literals, (table, indices), tensor.shape, tensor.dtype)
            case _:
                if one.head in _ROWS:
                    operands = [self._with_last_row(part) for part in operands]
                return self.emit(str(one.head), literals, operands, tensor.shape, tensor.dtype)

    def _again(self, x: View, shape: tuple[int, ...]) -> View:
        found = reshaped(self.moved(x), shape)
        assert found is not None
        return found

    def _part(self, one: Term, tensor: Tensor) -> View:
        axis, at, x = one.children[0].children
        along, first = int(axis.head), int(at.head)
        start = first if one.head == "split1" else 0
        return sliced(self.views[x], along, start, tensor.shape[along])

    def _with_rows(self, x: View) -> View:
        """Return a matrix of which rows or columns lie in one piece each."""
        axis, step, _ = x.along[-1] if x.along else (-1, 1, 0)
        return x if step == 1 and axis >= len(x.shape) - 2 else self.moved(x)

    def _with_last_row(self, x: View) -> View:
        """Return a view of which the last axis lies in one piece."""
        axis, step, _ = x.along[-1] if x.along else (-1, 1, 0)
        return x if step == 1 and axis == len(x.shape) - 1 else self.moved(x)

    def _activated(self, activation: str, x: View) -> View:
        if activation == "none":
            return x
        return self.emit(ACTIVATION + activation, (), (x,), x.shape, x.dtype)

    def _padded(self, x: View, value: float, pads: Sequence[int]) -> View:
        if not any(pads):
            return x
        rank = len(x.shape)
        shape = tuple(pads[i] + extent + pads[rank + i] for i, extent in enumerate(x.shape))
        return self.emit("pad", (value, shape_text(tuple(pads))), (x,), shape, x.dtype)

    def _around(
        self, x: View, value: float, padding: Head, kernel: Sequence[int], stride: Sequence[int]
    ) -> tuple[View, bool]:
        """Return an image with what a window sees around it, and whether there is anything."""
        height, width = x.shape[2:]
        word = Text(padding) if isinstance(padding, str) else Number(padding)
        top, left, bottom, right = pads_of(
            word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1])
        )
        padded = self._padded(x, value, (0, 0, top, left, 0, 0, bottom, right))
        return self._with_last_row(padded), any((top, left, bottom, right))

    def _convolution(
        self, literals: Sequence[Head], operands: Sequence[View], tensor: Tensor
    ) -> View:
        stride = int(literals[0]), int(literals[1])
        x, w = operands
        image, _ = self._around(x, 0.0, literals[2], w.shape[2:], stride)
        rows, columns = tensor.shape[2:]
        if w.shape[2:] == (1, 1) and stride != (1, 1):
            image = sliced(sliced(image, 2, 0, rows, stride[0]), 3, 0, columns, stride[1])
            image, stride = self.moved(image), (1, 1)
        elif self._is_product(x, w, stride, rows * columns):
            channels = prod(w.shape[1:])
            shape = (x.shape[0], channels, rows, columns)
            window = (*w.shape[2:], *stride)
            image = self.emit("windows", window, (image,), shape, x.dtype)
            w = reshaped(w if w.is_plain else self.moved(w), (w.shape[0], channels, 1, 1)) or w
            stride = (1, 1)
        kernel = w if w.is_plain else self.moved(w)
        made = self.emit("conv", stride, (image, kernel), tensor.shape, tensor.dtype)
        return self._activated(str(literals[3]), made)

    def _is_product(self, x: View, w: View, stride: tuple[int, int], pixels: int) -> bool:
        """Whether a convolution is faster as a product of the kernel and all windows."""
        if x.shape[1] != w.shape[1] or w.shape[2:] == (1, 1) or pixels == 1:
            return False
        return pixels <= _FEW_PIXELS or (stride[1] > 1 and prod(w.shape[1:]) <= _FEW_TERMS)

    def _in_blocks(self, y: View) -> View | None:
        """Return a known matrix as (columns / b, rows, b): what one vector needs lies together."""
        known = self.constants.get(y.source)
        if known is None or not y.is_plain or len(y.shape) != 2:
            return None
        rows, columns = y.shape
        key = ("blocks", y)
        if key not in self._known:
            width = next((one for one in _WIDTHS if columns % one == 0), 1)
            blocks = y.seen(known.reshape(-1)).reshape(rows, columns // width, width)
            self._known[key] = plain(self.constant(blocks.transpose(1, 0, 2)))
        return self._known[key]

    def _pooling(self, head: str, literals: Sequence[Head], x: View, tensor: Tensor) -> View:
        kernel, stride = tuple(map(int, literals[:2])), tuple(map(int, literals[2:4]))
        least = -inf if x.dtype.startswith("float") else float(np.iinfo(x.dtype).min)
        around = least if head == "poolmax" else 0.0
        image, is_padded = self._around(x, around, literals[4], kernel, stride)
        operands = [image]
        if head == "poolavg" and is_padded:
            operands.append(self._shares(x, literals[4], kernel, stride, tensor))
        made = self.emit(head, (*kernel, *stride), operands, tensor.shape, tensor.dtype)
        return self._activated(str(literals[5]), made)

    def _shares(
        self, x: View, padding: Head, kernel: Sequence[int], stride: Sequence[int], tensor: Tensor
    ) -> View:
        """Return one over how many elements of the image every window sees."""
        word = Text(padding) if isinstance(padding, str) else Number(padding)
        height, width = x.shape[2:]
        pads = pads_of(word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1]))
        key = ("shares", (height, width), tuple(kernel), tuple(stride), pads, tensor)
        if key not in self._known:
            counts = []
            for axis, (extent, before) in enumerate(((height, pads[0]), (width, pads[1]))):
                first = np.arange(tensor.shape[2 + axis]) * stride[axis] - before
                last = np.minimum(first + kernel[axis], extent)
                counts.append(last - np.maximum(first, 0))
            shares = (1 / np.multiply.outer(*counts)).astype(tensor.dtype)
            self._known[key] = plain(self.constant(shares))
        return self._known[key]


def _numbers(word: Head) -> tuple[int, ...]:
    return numbers_in(word) if isinstance(word, str) else (int(word),)
