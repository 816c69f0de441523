"""Work of a node: operations on numbers, and the bytes that move at least.

Exact from shapes. A product counts a multiplication and an addition for every term; functions such
as the exponential count as ten. Bytes are those of all tensors that are read and the one written,
each once. Nodes that only rename memory (a reshape, a split of whole rows) do nothing.

Costs that are measured: the time of every operator on this machine, by the measuring worker.

An e-graph has hundreds of different operators and a choice among them asks for few. So nothing is
measured that need not be: an operator that has no time yet has an *estimate that is too good*, its
roofline on a machine faster than any; what is chosen under estimates is measured, and chosen again,
until all that is chosen has been measured
(:func:`polygym.graphs.optimization.optimize_graph` does so).

Why that finds what measuring everything would have found: let c be the measured costs, e ≤ c the
ones that are used, equal to c on what was measured. A graph g that is best under e and measured as
a whole has c(g) = e(g) ≤ e(h) ≤ c(h) for every other graph h.

Costs without running anything: microseconds under a roofline, the same on every machine.

A node takes as long as its arithmetic at full speed or its bytes at full bandwidth, whichever is
more, and a little for being called. What is known from weights alone is computed ahead and free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf
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
from polygym.tc.measured_times import MeasuredTimes, user_measured_times


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

_OPTIMISTIC = RooflineCosts(operations=250_000.0, bytes=200_000.0, call=0.0)
"""A machine that none is faster than, a core for a core; caches included."""


class NodeCosts(Protocol):
    """What an optimiser asks: the cost of nodes; and what has to be measured first."""

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


@dataclass
class MeasuredCosts:
    """Microseconds of operators under so many threads, from a store or measured now."""

    threads: int = 1
    store: MeasuredTimes = field(default_factory=lambda: MeasuredTimes(None, 1))
    measured_count: int = 0

    @staticmethod
    def of_user(threads: int = 1) -> MeasuredCosts:
        """Return the costs that are kept in the user's cache folder."""
        return MeasuredCosts(threads, user_measured_times("operators.sqlite", threads))

    @property
    def name(self) -> str:
        """What these costs are called."""
        return "measured"

    @property
    def unit(self) -> str:
        """What they count."""
        return "µs"

    def cost(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        """Return the time of a node, or an estimate that is too good where there is none."""
        if not is_executed(head, children, data):
            return 0.0
        operator = operator_key(head, children)
        if operator in self.store:
            seconds = self.store.get(operator)
            # What does not run is not chosen where there is anything else.
            return inf if seconds is None else 1e6 * seconds
        return _OPTIMISTIC.cost(head, children, data) / self.threads

    def now(self, head: Head, children: tuple[Any, ...], data: Data) -> float:
        """Return the time of a node, which is measured if it was not before."""
        if self.missing([(head, children, data)]):
            self.measure([(head, children, data)])
        return self.cost(head, children, data)

    def missing(self, nodes: Iterable[TypedNode]) -> list[TypedNode]:
        """Return the nodes that have no time yet, each operator once."""
        typed_nodes: dict[str, TypedNode] = {}
        for node in nodes:
            if is_executed(*node):
                operator = operator_key(node[0], node[1])
                if operator not in self.store:
                    typed_nodes.setdefault(operator, node)
        return list(typed_nodes.values())

    def measure(
        self, nodes: Iterable[TypedNode], progress: Callable[[str, float], None] | None = None
    ) -> None:
        """Measure the nodes that have no time yet, and keep what is found one by one."""
        from polygym.graphs.execution.timing.operator_timing import operator_seconds

        for head, children, _ in self.missing(nodes):
            operator = operator_key(head, children)
            seconds = operator_seconds(head, children, self.threads)
            self.store.put(operator, None if seconds in (None, inf) else seconds)
            self.measured_count += 1
            if progress is not None:
                progress(operator, seconds)


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
