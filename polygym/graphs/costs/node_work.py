"""Work of a node: operations on numbers, and the bytes that move at least.

Exact from shapes. A product counts a multiplication and an addition for every term; functions such
as the exponential count as ten. Bytes are those of all tensors that are read and the one written,
each once. Nodes that only rename memory (a reshape, a split of whole rows) do nothing.
"""

from dataclasses import dataclass
from typing import Any

from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import Data, TensorBundle, TensorPair, TensorType
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
