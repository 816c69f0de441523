"""Work of a node: operations on numbers, and the bytes that move at least.

Exact from shapes. A product counts a multiplication and an addition for every term; functions such
as the exponential count as ten. Bytes are those of all tensors that are read and the one written,
each once. Nodes that only rename memory (a reshape, a split of whole rows) do nothing.

Costs without running anything: microseconds under a roofline, the same on every machine.

A node takes as long as its arithmetic at full speed or its bytes at full bandwidth, whichever is
more, and a little for being called. What is known from weights alone is computed ahead and free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeAlias

from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import (
    Data,
    NumberData,
    TensorBundle,
    TensorPair,
    TensorType,
    TextData,
)
from polygym.rewrite.term import Head


@dataclass(frozen=True, slots=True)
class NodeWork:
    """Operations on numbers, and bytes moved at least."""

    operations: int
    bytes: int


def node_work(head: Head, children: tuple[Any, ...], data: Data) -> NodeWork:
    """Return the work of a node, from the types of its children and of itself.

    >>> from polygym.graphs.operators.types import TextData
    >>> operands = (TextData("none"), TensorType((2, 3)), TensorType((3, 4)))
    >>> node_work("matmul", operands, TensorType((2, 4)))
    NodeWork(operations=48, bytes=104)
    """
    if not children or _is_free(head, children):
        return NodeWork(0, 0)
    operator = operator_named(head)
    tensors = [child for child in children if isinstance(child, TensorType)]
    written = _bytes_written(data)
    if operator.moved is not None:
        moved = operator.moved(written, *tensors)
    else:
        moved = written + sum(tensor.bytes for tensor in tensors)
    if not isinstance(data, TensorType):
        return NodeWork(0, moved)
    if callable(operator.operations):
        return NodeWork(operator.operations(data, *children), moved)
    return NodeWork(operator.operations * data.elements, moved)


def is_executed(head: Head, children: tuple[Any, ...], data: Data) -> bool:
    """Whether a node does anything when a model runs; nodes of weights alone run ahead."""
    if not children or (isinstance(data, TensorType) and data.constant):
        return False
    tensors = [tensor_type for tensor_type in children if isinstance(tensor_type, TensorType)]
    if tensors and all(tensor.constant for tensor in tensors):
        return False
    return node_work(head, children, data) != NodeWork(0, 0)


def _is_free(head: Head, children: tuple[Any, ...]) -> bool:
    """Whether a node only renames memory, such as a reshape or a split of whole rows."""
    is_free = operator_named(head).is_free
    return is_free(*children) if callable(is_free) else is_free


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


@dataclass(frozen=True)
class RooflineCosts:
    """A machine in three numbers: operations and bytes a microsecond, and what a call costs.

    The usual ones are those of a core of a server with vectors of 16 floats, with its share of the
    memory's bandwidth.

    >>> from polygym.graphs.operators.types import TensorType, TextData
    >>> left, right = TensorType((64, 1024)), TensorType((1024, 1024), constant=True)
    >>> children = (TextData("none"), left, right)
    >>> round(RooflineCosts().cost("matmul", children, TensorType((64, 1024))), 1)
    1580.0
    """

    operations: float = 85_000.0
    bytes: float = 15_000.0
    call: float = 1.0

    @property
    def name(self) -> str:
        """What these costs are called."""
        return "static"

    @property
    def unit(self) -> str:
        """What they count."""
        return "µs"

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        """Return what a node costs."""
        result: float = self._remembered(head, children, data)
        return result

    @cached_property
    def _remembered(self) -> Any:
        return lru_cache(maxsize=1 << 18)(self._computed)

    def _computed(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        if not is_executed(head, children, data):
            return 0.0
        done = node_work(head, children, data)
        return max(done.operations / self.operations, done.bytes / self.bytes) + self.call


TypedNode: TypeAlias = tuple[Head, tuple[Any, ...], Data]
"""A node as costs know it: the head, the data of the children, the data of the node."""


class NodeCosts(Protocol):
    """What an optimiser asks: the cost of nodes."""

    @property
    def name(self) -> str:
        """What these costs are called."""
        ...

    @property
    def unit(self) -> str:
        """What they count."""
        ...

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        """Return what a node costs, or less where it was not measured yet."""
        ...


def operator_key(head: Head, children: tuple[Any, ...]) -> str:
    """Return an operator with its literals and the shapes and types of its tensors.

    >>> weight = TensorType((3, 4), constant=True)
    >>> operator_key("matmul", (TextData("none"), TensorType((2, 3)), weight))
    'matmul none 2-3 3-4*'

    A star says that a tensor is known ahead: its code may lay it out as it likes.
    """
    words = [str(head)]
    for tensor_type in children:
        match tensor_type:
            case NumberData(value) | TextData(value):
                words.append(str(value))
            case TensorType():
                words.append(f"{tensor_type}*" if tensor_type.constant else str(tensor_type))
            case _:
                words.append("pair")
    return " ".join(words)
