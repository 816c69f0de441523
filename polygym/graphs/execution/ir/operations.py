"""Operations on arrays, in the order of execution, and their construction.

Equal operations are one. What a view shows is moved where an operation needs it in one piece.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygym.graphs.execution.ir.views import ArraySource, ArrayView, whole_array
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Head

ACTIVATION = "activation "
"""Prefix of a function that belongs to the product before it, and never stands alone."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayOperation:
    """An operator, its literals, what it reads, and the array that it makes."""

    head: str
    literals: tuple[Head, ...]
    operands: tuple[ArrayView, ...]
    result: ArraySource

    @property
    def is_elementwise(self) -> bool:
        """Whether each element of the result needs one element of each operand."""
        operator = OPERATORS.get(self.head.removeprefix(ACTIVATION))
        return self.head == "copy" or (operator is not None and operator.element is not None)


@dataclass
class ArrayOperations:
    """Operations in order, and the arrays that are known ahead."""

    operations: list[ArrayOperation] = field(default_factory=list)
    constants: dict[ArraySource, np.ndarray[Any, Any]] = field(default_factory=dict)
    memo: dict[Any, ArrayView] = field(default_factory=dict)

    def constant(self, array: np.ndarray[Any, Any]) -> ArraySource:
        """Return an array that is known."""
        kept = np.ascontiguousarray(array).reshape(array.shape)
        source = ArraySource(kept.shape, kept.dtype.name)
        self.constants[source] = kept
        return source

    def append(
        self,
        head: str,
        literals: Sequence[Head],
        operands: Sequence[ArrayView],
        shape: tuple[int, ...],
        dtype: str,
    ) -> ArrayView:
        """Return what an operation makes, one that is there already if it is equal."""
        key = (head, tuple(map(repr, literals)), tuple(operands))
        if key not in self.memo:
            made = ArrayOperation(head, tuple(literals), tuple(operands), ArraySource(shape, dtype))
            self.operations.append(made)
            self.memo[key] = whole_array(made.result)
        return self.memo[key]

    def contiguous(self, view: ArrayView) -> ArrayView:
        """Return a view as an array of its own."""
        return self.append("copy", (), (view,), view.shape, view.dtype)

    def with_rows(self, x: ArrayView) -> ArrayView:
        """Return a matrix of which rows or columns lie in one piece each."""
        axis, step, _ = x.axes[-1] if x.axes else (-1, 1, 0)
        return x if step == 1 and axis >= len(x.shape) - 2 else self.contiguous(x)

    def with_last_row(self, x: ArrayView) -> ArrayView:
        """Return a view of which the last axis lies in one piece."""
        axis, step, _ = x.axes[-1] if x.axes else (-1, 1, 0)
        return x if step == 1 and axis == len(x.shape) - 1 else self.contiguous(x)

    def activated(self, activation: str, x: ArrayView) -> ArrayView:
        """Return a function of the elements of what was made before, or that itself."""
        if activation == "none":
            return x
        return self.append(ACTIVATION + activation, (), (x,), x.shape, x.dtype)

    def padded(self, x: ArrayView, value: float, pads: Sequence[int]) -> ArrayView:
        """Return an array with a value before and after every axis."""
        if not any(pads):
            return x
        rank = len(x.shape)
        shape = tuple(pads[i] + extent + pads[rank + i] for i, extent in enumerate(x.shape))
        return self.append("pad", (value, shape_text(tuple(pads))), (x,), shape, x.dtype)
