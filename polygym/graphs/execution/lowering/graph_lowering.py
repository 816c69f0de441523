"""A graph as operations on arrays: what has to be done when a model runs, and in order.

What moves nothing is a view. What is known from weights alone is computed here. Padding, and the
activations of products, are operations of their own.

Convolutions and pools as operations: padding by itself, in the form that runs fastest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

import numpy as np

from polygym.graphs.execution.ir.views import (
    ArrayOperation,
    ArrayOperations,
    ArraySource,
    ArrayView,
    broadcast_view,
    permute,
    reshape_view,
    slice_axis,
    whole_array,
    zero_array,
)
from polygym.graphs.execution.lowering.inset_padding import with_insets
from polygym.graphs.execution.lowering.product_lowering import (
    add_bias,
    is_single_place,
    lower_product,
    lower_single_place,
)
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.operators.definition import literal_numbers
from polygym.graphs.operators.types import NumberData, TensorType, TextData, pads_of
from polygym.rewrite.term import Head, Term

_SMALL_IMAGE = 64
"""Rows of a result with so few places fill vectors badly; then a convolution becomes a product."""

_SHORT_SUM = 32
"""So do vectors that read every other element, where a result is a sum of so few."""


def lower_convolution(
    operations: ArrayOperations,
    literals: Sequence[Head],
    operands: Sequence[ArrayView],
    tensor: TensorType,
) -> ArrayView:
    """Return a convolution, activated; literals and operands are those of the operator."""
    stride = int(literals[0]), int(literals[1])
    x, w, *bias = operands
    image, _ = _pad_image(operations, x, 0.0, literals[2], w.shape[2:], stride)
    rows, columns = tensor.shape[2:]
    if is_single_place(operations, image, w):
        return lower_single_place(operations, str(literals[3]), (image, w, *bias), tensor)
    if w.shape[2:] == (1, 1) and stride != (1, 1):
        image = slice_axis(slice_axis(image, 2, 0, rows, stride[0]), 3, 0, columns, stride[1])
        image, stride = operations.contiguous(image), (1, 1)
    elif _is_product(x, w, stride, rows * columns):
        channels = prod(w.shape[1:])
        shape = (x.shape[0], channels, rows, columns)
        window = (*w.shape[2:], *stride)
        image = operations.append("windows", window, (image,), shape, x.dtype)
        w = (
            reshape_view(
                w if w.is_whole_array else operations.contiguous(w), (w.shape[0], channels, 1, 1)
            )
            or w
        )
        stride = (1, 1)
    kernel = w if w.is_whole_array else operations.contiguous(w)
    array_view = operations.append("conv", stride, (image, kernel), tensor.shape, tensor.dtype)
    for added in bias:
        array_view = add_bias(operations, array_view, added, (1, tensor.shape[1], 1, 1))
    return operations.activated(str(literals[3]), array_view)


def _is_product(x: ArrayView, w: ArrayView, stride: tuple[int, int], pixels: int) -> bool:
    """Whether a convolution is faster as a product of the kernel and all windows."""
    if x.shape[1] != w.shape[1] or w.shape[2:] == (1, 1) or pixels == 1:
        return False
    return pixels <= _SMALL_IMAGE or (stride[1] > 1 and prod(w.shape[1:]) <= _SHORT_SUM)


def lower_pooling(
    operations: ArrayOperations,
    head: str,
    literals: Sequence[Head],
    x: ArrayView,
    tensor: TensorType,
) -> ArrayView:
    """Return the pool of an image, activated."""
    kernel, stride = tuple(map(int, literals[:2])), tuple(map(int, literals[2:4]))
    least = -inf if x.dtype.startswith("float") else float(np.iinfo(x.dtype).min)
    around = least if head == "poolmax" else 0.0
    image, is_padded = _pad_image(operations, x, around, literals[4], kernel, stride)
    operands = [image]
    if head == "poolavg" and is_padded:
        operands.append(_window_shares(operations, x, literals[4], kernel, stride, tensor))
    array_view = operations.append(head, (*kernel, *stride), operands, tensor.shape, tensor.dtype)
    return operations.activated(str(literals[5]), array_view)


def _pad_image(
    operations: ArrayOperations,
    x: ArrayView,
    value: float,
    padding: Head,
    kernel: Sequence[int],
    stride: Sequence[int],
) -> tuple[ArrayView, bool]:
    """Return an image with what a window sees around it, and whether there is anything."""
    height, width = x.shape[2:]
    word = TextData(padding) if isinstance(padding, str) else NumberData(padding)
    top, left, bottom, right = pads_of(
        word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1])
    )
    padded = operations.padded(x, value, (0, 0, top, left, 0, 0, bottom, right))
    return operations.with_last_row(padded), any((top, left, bottom, right))


def _window_shares(
    operations: ArrayOperations,
    x: ArrayView,
    padding: Head,
    kernel: Sequence[int],
    stride: Sequence[int],
    tensor: TensorType,
) -> ArrayView:
    """Return one over how many elements of the image every window sees."""
    word = TextData(padding) if isinstance(padding, str) else NumberData(padding)
    height, width = x.shape[2:]
    pads = pads_of(word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1]))
    key = ("shares", (height, width), tuple(kernel), tuple(stride), pads, tensor)
    if key not in operations.memo:
        counts = []
        for axis, (extent, before) in enumerate(((height, pads[0]), (width, pads[1]))):
            first = np.arange(tensor.shape[2 + axis]) * stride[axis] - before
            last = np.minimum(first + kernel[axis], extent)
            counts.append(last - np.maximum(first, 0))
        shares = (1 / np.multiply.outer(*counts)).astype(tensor.dtype)
        operations.memo[key] = whole_array(operations.constant(shares))
    return operations.memo[key]


_ROW_OPERATORS = frozenset({"softmax", "layer-norm"})


@dataclass(frozen=True, slots=True)
class LoweredGraph:
    """Operations in order; what the inputs, constants and results are among the arrays."""

    operations: tuple[ArrayOperation, ...]
    inputs: tuple[ArraySource, ...]
    constants: Mapping[ArraySource, np.ndarray[Any, Any]]
    outputs: tuple[ArrayView, ...]


def lower_graph(graph: Graph, weights: Mapping[str, np.ndarray[Any, Any]] | None) -> LoweredGraph:
    """Return the operations of a graph with these weights; with zeros where none are given."""
    tracer = _Lowering(graph, operations=ArrayOperations(is_zero=weights is None))
    tracer.compute_constants(weights)
    for term in graph.terms():
        if term.children and not _is_constant(graph, term) and term.head not in ("noop", "split"):
            tracer.views[term] = tracer.view(term)
    outputs = tuple(tracer.views[output] for _, output in graph.outputs)
    inputs = tuple(tracer.inputs[input_] for input_ in graph.inputs)
    operations = with_insets(tracer.operations.operations, {view.source for view in outputs})
    return LoweredGraph(operations, inputs, tracer.operations.constants, outputs)


def _is_constant(graph: Graph, node: Term) -> bool:
    data = graph.data(node)
    return isinstance(data, TensorType) and data.constant


@dataclass
class _Lowering:
    graph: Graph
    views: dict[Term, ArrayView] = field(default_factory=dict)
    operations: ArrayOperations = field(default_factory=ArrayOperations)
    inputs: dict[Term, ArraySource] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for term in self.graph.inputs:
            tensor = self.graph.tensor(term)
            self.inputs[term] = ArraySource(tensor.shape, tensor.dtype)

    def compute_constants(self, weights: Mapping[str, np.ndarray[Any, Any]] | None) -> None:
        """Compute what is known from weights alone and asked for by the rest."""
        asked: dict[Term, None] = {}
        for term in self.graph.terms():
            if term.children and not _is_constant(self.graph, term):
                asked |= {child: None for child in term.children if self._is_known(child)}
        asked |= {output: None for _, output in self.graph.outputs if self._is_known(output)}
        # The same again and again need not be there more than once.
        inner = {node: node.children[0] if node.head == "expand" else node for node in asked}
        roots = list(dict.fromkeys(inner.values()))
        arrays = (
            dict(zip(roots, evaluate(roots, weights), strict=True))
            if weights is not None
            else {root: self._zeros(root) for root in roots}
        )
        made = {
            node: whole_array(self.operations.constant(array)) for node, array in arrays.items()
        }
        for term, root in inner.items():
            self.views[term] = broadcast_view(made[root], self.graph.tensor(term).shape)

    def _zeros(self, node: Term) -> np.ndarray[Any, Any]:
        tensor = self.graph.tensor(node)
        return zero_array(tensor.shape, tensor.dtype)

    def _is_known(self, node: Term) -> bool:
        return bool(node.children) and _is_constant(self.graph, node)

    def view(self, node: Term) -> ArrayView:
        """Return the result of a node."""
        tensor = self.graph.tensor(node)
        literals = [child.head for child in node.children if not child.children]
        operands = [self.views[child] for child in node.children if child in self.views]
        match node.head:
            case "input":
                return whole_array(self.inputs[node])
            case "reshape":
                (x,) = operands
                return reshape_view(x, tensor.shape) or self._reshaped_copy(x, tensor.shape)
            case "transpose":
                return permute(operands[0], literal_numbers(literals[0]))
            case "expand":
                return broadcast_view(operands[0], tensor.shape)
            case "slice":
                axis, start, _, step = map(int, literals)
                return slice_axis(operands[0], axis, start, tensor.shape[axis], step)
            case "split0" | "split1":
                return self._part(node, tensor)
            case "cast" if operands[0].dtype == tensor.dtype:
                return operands[0]
            case "conv":
                return lower_convolution(self.operations, literals, operands, tensor)
            case "poolmax" | "poolavg":
                return lower_pooling(self.operations, str(node.head), literals, operands[0], tensor)
            case "matmul":
                return lower_product(self.operations, str(literals[0]), operands, tensor)
            case "pad":
                pads = literal_numbers(literals[1])
                return self.operations.padded(operands[0], float(literals[0]), pads)
            case "enlarge":
                small, large = (part.shape for part in operands)
                sides = [(b - a) // 2 for a, b in zip(small, large, strict=True)]
                return self.operations.padded(
                    operands[0], 0.0, (0, 0, *sides[2:], 0, 0, *sides[2:])
                )
            case "gather":
                table, indices = operands
                table = table if table.is_whole_array else self.operations.contiguous(table)
                return self.operations.append(
                    "gather", literals, (table, indices), tensor.shape, tensor.dtype
                )
            case _:
                if node.head in _ROW_OPERATORS:
                    operands = [self.operations.with_last_row(part) for part in operands]
                return self.operations.append(
                    str(node.head), literals, operands, tensor.shape, tensor.dtype
                )

    def _reshaped_copy(self, x: ArrayView, shape: tuple[int, ...]) -> ArrayView:
        array_view = reshape_view(self.operations.contiguous(x), shape)
        assert array_view is not None
        return array_view

    def _part(self, node: Term, tensor: TensorType) -> ArrayView:
        axis, at, x = node.children[0].children
        along, first = int(axis.head), int(at.head)
        start = first if node.head == "split1" else 0
        return slice_axis(self.views[x], along, start, tensor.shape[along])
