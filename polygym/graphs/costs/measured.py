"""Costs that are measured: the time of every operator on this machine, by the measuring worker.

An e-graph has hundreds of different operators and a choice among them asks for few. So nothing is
measured that need not be: an operator that has no time yet has an *estimate that is too good*, its
roofline on a machine faster than any; what is chosen under estimates is measured, and chosen again,
until all that is chosen has been measured
(:func:`polygym.graphs.optimization.optimizer.optimize_graph` does so).

Why that finds what measuring everything would have found: let c be the measured costs, e ≤ c the
ones that are used, equal to c on what was measured. A graph g that is best under e and measured as
a whole has c(g) = e(g) ≤ e(h) ≤ c(h) for every other graph h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, TypeAlias

from polygym.graphs.costs.node_work import is_executed
from polygym.graphs.costs.roofline import RooflineCosts
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData
from polygym.rewrite.term import Head
from polygym.tc.measured_times import MeasuredTimes, user_measured_times

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
