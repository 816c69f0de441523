"""What has to be done when a model runs, as a list of operations on arrays that is being written.

Equal operations are one. What a view shows is moved where an operation needs it in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygym.graphs.ir.operators import ELEMENTWISE
from polygym.graphs.ir.types import shape_text
from polygym.graphs.running.functions import ACTIVATION
from polygym.graphs.running.views import Source, View, plain
from polygym.rewrite.term import Head

__all__ = ["Operation", "Operations"]

_POINTWISE = ELEMENTWISE | {"copy", "cast"}


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


@dataclass
class Operations:
    """Operations in order, and the arrays that are known ahead."""

    listed: list[Operation] = field(default_factory=list)
    constants: dict[Source, np.ndarray[Any, Any]] = field(default_factory=dict)
    known: dict[Any, View] = field(default_factory=dict)

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
        if key not in self.known:
            made = Operation(head, tuple(literals), tuple(operands), Source(shape, dtype))
            self.listed.append(made)
            self.known[key] = plain(made.result)
        return self.known[key]

    def moved(self, view: View) -> View:
        """Return a view as an array of its own."""
        return self.emit("copy", (), (view,), view.shape, view.dtype)

    def with_rows(self, x: View) -> View:
        """Return a matrix of which rows or columns lie in one piece each."""
        axis, step, _ = x.along[-1] if x.along else (-1, 1, 0)
        return x if step == 1 and axis >= len(x.shape) - 2 else self.moved(x)

    def with_last_row(self, x: View) -> View:
        """Return a view of which the last axis lies in one piece."""
        axis, step, _ = x.along[-1] if x.along else (-1, 1, 0)
        return x if step == 1 and axis == len(x.shape) - 1 else self.moved(x)

    def activated(self, activation: str, x: View) -> View:
        """Return a function of the elements of what was made before, or that itself."""
        if activation == "none":
            return x
        return self.emit(ACTIVATION + activation, (), (x,), x.shape, x.dtype)

    def padded(self, x: View, value: float, pads: Sequence[int]) -> View:
        """Return an array with a value before and after every axis."""
        if not any(pads):
            return x
        rank = len(x.shape)
        shape = tuple(pads[i] + extent + pads[rank + i] for i, extent in enumerate(x.shape))
        return self.emit("pad", (value, shape_text(tuple(pads))), (x,), shape, x.dtype)
