"""How much a node does: operations on numbers, and bytes that have to move at least.

Exact from shapes. A product counts a multiplication and an addition for every term; functions such
as the exponential count as ten. Bytes are those of all tensors that are read and the one written,
each once. What only renames memory (a reshape, the parts of a split that lie one after the other)
does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from polygym.graphs.ir.operators import ELEMENTWISE
from polygym.graphs.ir.types import Data, NumberData, TensorBundle, TensorPair, TensorType
from polygym.rewrite.term import Head

__all__ = ["FREE_OPERATORS", "NodeWork", "is_executed", "is_view", "node_work"]

FREE_OPERATORS = frozenset({"input", "weight", "noop", "split0", "split1", "reshape"})
"""Operators that never move a byte."""

_FUNCTION_COST = 10
_EXPENSIVE = frozenset("tanh sigmoid gelu gelu-tanh exp log erf elu pow sin cos".split())


@dataclass(frozen=True, slots=True)
class NodeWork:
    """Operations on numbers, and bytes moved at least."""

    operations: int
    bytes: int


def node_work(head: Head, children: tuple[Any, ...], data: Data) -> NodeWork:
    """Return what a node does, given what its children and itself are.

    >>> from polygym.graphs.ir.types import Text
    >>> work_of("matmul", (Text("none"), Tensor((2, 3)), Tensor((3, 4))), Tensor((2, 4)))
    Work(operations=48, bytes=104)
    """
    if head in FREE_OPERATORS or isinstance(data, NumberData) or is_view(head, children):
        return NodeWork(0, 0)
    tensors = [tensor_type for tensor_type in children if isinstance(tensor_type, TensorType)]
    moved = sum(tensor.bytes for tensor in tensors) + _bytes_written(data)
    match head:
        case "gather" | "slice":
            # Of the table only what is chosen is read.
            moved = 2 * _bytes_written(data) + sum(tensor.bytes for tensor in tensors[1:])
        case "expand":
            moved = tensors[0].bytes + _bytes_written(data)
        case "enlarge":
            moved = tensors[0].bytes + _bytes_written(data)
        case _:
            pass
    return NodeWork(_operations(str(head), children, tensors, data), moved)


def is_executed(head: Head, children: tuple[Any, ...], data: Data) -> bool:
    """Whether a node does anything when a model runs: what only weights decide is done before."""
    if not children or (isinstance(data, TensorType) and data.constant):
        return False
    tensors = [tensor_type for tensor_type in children if isinstance(tensor_type, TensorType)]
    if tensors and all(tensor.constant for tensor in tensors):
        return False
    return node_work(head, children, data) != NodeWork(0, 0)


def is_view(head: Head, children: tuple[Any, ...]) -> bool:
    """Whether the parts of a split are memory that is there already: nothing stands before."""
    if head != "split":
        return False
    axis, _, x = children
    return bool(prod(x.shape[: axis.value]) == 1)


def _bytes_written(data: Data) -> int:
    match data:
        case TensorType():
            return data.bytes
        case TensorPair(first, second):
            return first.bytes + second.bytes
        case TensorBundle(parts):
            return sum(tensor_type.bytes for tensor_type in parts)
        case _:
            return 0


def _operations(head: str, children: tuple[Any, ...], tensors: list[TensorType], data: Data) -> int:
    if not isinstance(data, TensorType):
        return 0
    count = data.elements
    match head:
        case "matmul":
            return 2 * count * tensors[0].shape[-1]
        case "conv":
            return 2 * count * prod(tensors[1].shape[1:])
        case "poolmax" | "poolavg":
            return count * int(children[1].value) * int(children[2].value)
        case "softmax":
            return count * (_FUNCTION_COST + 4)
        case "layer-norm":
            return count * 8
        case "reduce-sum" | "reduce-mean" | "reduce-max":
            return tensors[0].elements
        case _ if head in _EXPENSIVE:
            return count * _FUNCTION_COST
        case _ if head in ELEMENTWISE:
            return count
        case _:
            return 0
