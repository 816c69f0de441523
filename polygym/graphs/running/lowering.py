"""A graph as operations on arrays: what has to be done when a model runs, and in order.

What moves nothing is a view. What is known from weights alone is computed here. Padding, and the
activations of products, are operations of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.reference import evaluate
from polygym.graphs.ir.types import Tensor, numbers_in
from polygym.graphs.running.images import convolution, pooling
from polygym.graphs.running.operations import Operation, Operations
from polygym.graphs.running.views import Source, View, permuted, plain, reshaped, sliced, widened
from polygym.rewrite.term import Head, Term

__all__ = ["Traced", "traced"]

_ROWS = frozenset({"softmax", "layer-norm"})

_WIDTHS = (64, 32, 16)
"""Columns of a known matrix that lie together, for a product with a single row."""


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
    return Traced(tuple(tracer.made.listed), inputs, tracer.made.constants, outputs)


def _is_constant(graph: Graph, one: Term) -> bool:
    data = graph.data(one)
    return isinstance(data, Tensor) and data.constant


@dataclass
class _Tracer:
    graph: Graph
    views: dict[Term, View] = field(default_factory=dict)
    made: Operations = field(default_factory=Operations)
    inputs: dict[Term, Source] = field(default_factory=dict)

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
        made = {one: plain(self.made.constant(array)) for one, array in arrays.items()}
        for one, root in inner.items():
            self.views[one] = widened(made[root], self.graph.tensor(one).shape)

    def _is_known(self, one: Term) -> bool:
        return bool(one.children) and _is_constant(self.graph, one)

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
                return convolution(self.made, literals, operands, tensor)
            case "poolmax" | "poolavg":
                return pooling(self.made, str(one.head), literals, operands[0], tensor)
            case "matmul":
                x, y = (self.made.with_rows(part) for part in operands)
                blocks = self._in_blocks(y) if prod(x.shape[:-1]) == 1 else None
                made = (
                    self.made.emit("matmul", (), (x, y), tensor.shape, tensor.dtype)
                    if blocks is None
                    else self.made.emit("matmul-row", (), (x, blocks), tensor.shape, tensor.dtype)
                )
                return self.made.activated(str(literals[0]), made)
            case "pad":
                pads = _numbers(literals[1])
                return self.made.padded(operands[0], float(literals[0]), pads)
            case "enlarge":
                small, large = (part.shape for part in operands)
                sides = [(b - a) // 2 for a, b in zip(small, large, strict=True)]
                return self.made.padded(operands[0], 0.0, (0, 0, *sides[2:], 0, 0, *sides[2:]))
            case "gather":
                table, indices = operands
                table = table if table.is_plain else self.made.moved(table)
                return self.made.emit(
                    "gather", literals, (table, indices), tensor.shape, tensor.dtype
                )
            case _:
                if one.head in _ROWS:
                    operands = [self.made.with_last_row(part) for part in operands]
                return self.made.emit(str(one.head), literals, operands, tensor.shape, tensor.dtype)

    def _again(self, x: View, shape: tuple[int, ...]) -> View:
        found = reshaped(self.made.moved(x), shape)
        assert found is not None
        return found

    def _part(self, one: Term, tensor: Tensor) -> View:
        axis, at, x = one.children[0].children
        along, first = int(axis.head), int(at.head)
        start = first if one.head == "split1" else 0
        return sliced(self.views[x], along, start, tensor.shape[along])

    def _in_blocks(self, y: View) -> View | None:
        """Return a known matrix as (columns / b, rows, b): what one vector needs lies together."""
        known = self.made.constants.get(y.source)
        if known is None or not y.is_plain or len(y.shape) != 2:
            return None
        rows, columns = y.shape
        key = ("blocks", y)
        if key not in self.made.known:
            width = next((one for one in _WIDTHS if columns % one == 0), 1)
            blocks = y.seen(known.reshape(-1)).reshape(rows, columns // width, width)
            self.made.known[key] = plain(self.made.constant(blocks.transpose(1, 0, 2)))
        return self.made.known[key]


def _numbers(word: Head) -> tuple[int, ...]:
    return numbers_in(word) if isinstance(word, str) else (int(word),)
