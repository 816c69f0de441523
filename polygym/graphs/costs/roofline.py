"""Costs without running anything: microseconds under a roofline, the same on every machine.

A node takes as long as its arithmetic at full speed or its bytes at full bandwidth, whichever is
more, and a little for being called. What is known from weights alone is computed ahead and free.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from polygym.graphs.costs.node_work import is_executed, node_work
from polygym.graphs.operators.types import Data
from polygym.rewrite.term import Head


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
