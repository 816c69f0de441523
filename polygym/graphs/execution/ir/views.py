"""Arrays as they are read: transposed, sliced, expanded, without moving an element.

A view says at which subscripts of the array that is there the elements of a logical array lie: for
every axis of the one that is there an axis of the view times a step plus a beginning, or a
beginning alone. What lies in one piece is no view but the array itself from some element on.

Operations on arrays, in the order of execution, and their construction.

Equal operations are one. What a view shows is moved where an operation needs it in one piece.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from polygym.graphs.execution.ir.nests import AffineIndex, constant_index
from polygym.graphs.operators.registry import OPERATORS
from polygym.graphs.operators.types import numpy_type, shape_text
from polygym.rewrite.term import Head


@dataclass(frozen=True, slots=True, eq=False)
class ArraySource:
    """An array of a model; other tables keep where it comes from."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class ArrayView:
    """Elements of a source, from ``start`` on seen as an array of shape ``extents``.

    ``along[d]`` is (axis of the view or -1, step, beginning) for axis d of that array.
    """

    source: ArraySource
    start: int
    extents: tuple[int, ...]
    axes: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]

    @property
    def is_whole_array(self) -> bool:
        """Whether the view is the array itself."""
        return self.extents == self.shape and all(
            part == (axis, 1, 0) for axis, part in enumerate(self.axes)
        )

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return self.source.dtype

    @property
    def elements(self) -> int:
        """How many elements the view has."""
        return prod(self.shape)

    def subscripts(self, logical: Sequence[AffineIndex]) -> tuple[AffineIndex, ...]:
        """Return where an element of the view lies."""
        return tuple(
            constant_index(begin) if axis < 0 else logical[axis] * step + begin
            for axis, step, begin in self.axes
        )

    def as_array(self, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the view as an array of NumPy, given the source's elements in one row."""
        offset, strides = view_strides(self)
        size = flat.itemsize
        in_bytes = tuple(size * stride for stride in strides)
        return np.ndarray(self.shape, flat.dtype, flat, size * offset, in_bytes)


def whole_array(source: ArraySource) -> ArrayView:
    """Return an array as it is."""
    axes = tuple((axis, 1, 0) for axis in range(len(source.shape)))
    return ArrayView(source, 0, source.shape, axes, source.shape)


def view_strides(view: ArrayView) -> tuple[int, tuple[int, ...]]:
    """Return the first element of a view in its source, and how far apart neighbours are."""
    strides = [0] * len(view.shape)
    offset, weight = view.start, 1
    for extent, (axis, step, begin) in zip(
        reversed(view.extents), reversed(view.axes), strict=True
    ):
        offset += weight * begin
        if axis >= 0:
            strides[axis] += weight * step
        weight *= extent
    return offset, tuple(strides)


def permute(view: ArrayView, order: Sequence[int]) -> ArrayView:
    """Return a view with axes in another order: axis i is axis order[i]."""
    there = {axis: place for place, axis in enumerate(order)}
    along = tuple((there.get(axis, -1), step, begin) for axis, step, begin in view.axes)
    shape = tuple(view.shape[axis] for axis in order)
    return _normalize(ArrayView(view.source, view.start, view.extents, along, shape))


def slice_axis(view: ArrayView, axis: int, start: int, count: int, step: int = 1) -> ArrayView:
    """Return every ``step``-th element along an axis, ``count`` of them."""
    along = tuple(
        (place, stride * step, begin + stride * start) if place == axis else (place, stride, begin)
        for place, stride, begin in view.axes
    )
    shape = (*view.shape[:axis], count, *view.shape[axis + 1 :])
    return _normalize(ArrayView(view.source, view.start, view.extents, along, shape))


def broadcast_view(view: ArrayView, shape: tuple[int, ...]) -> ArrayView:
    """Return a view with its elements again and again along axes of extent 1, or in front."""
    shift = len(shape) - len(view.shape)
    along = []
    for axis, step, begin in view.axes:
        is_one = axis >= 0 and view.shape[axis] == 1 and shape[axis + shift] != 1
        along.append((-1, 0, begin) if axis < 0 or is_one else (axis + shift, step, begin))
    return _normalize(ArrayView(view.source, view.start, view.extents, tuple(along), shape))


def reshape_view(view: ArrayView, shape: tuple[int, ...]) -> ArrayView | None:
    """Return a view under another shape; None where elements would have to move.

    >>> image = whole_array(ArraySource((2, 3), "float32"))
    >>> reshape_view(image, (6,)).extents, reshape_view(permute(image, (1, 0)), (6,))
    ((6,), None)
    """
    if view.is_whole_array:
        axes = tuple((axis, 1, 0) for axis in range(len(shape)))
        return ArrayView(view.source, view.start, shape, axes, shape)
    old = [axis for axis, extent in enumerate(view.shape) if extent != 1]
    new = [axis for axis, extent in enumerate(shape) if extent != 1]
    if [view.shape[axis] for axis in old] != [shape[axis] for axis in new]:
        return None
    there = dict(zip(old, new, strict=True))
    along = tuple(
        (there[axis], step, begin) if axis in there else (-1, 0, begin)
        for axis, step, begin in view.axes
    )
    return _normalize(ArrayView(view.source, view.start, view.extents, along, shape))


def _normalize(view: ArrayView) -> ArrayView:
    """Return a view that lies in one piece as the array from its first element on."""
    offset, strides = view_strides(view)
    expected = 1
    for extent, stride in zip(reversed(view.shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return view
        expected *= extent
    axes = tuple((axis, 1, 0) for axis in range(len(view.shape)))
    return ArrayView(view.source, offset, view.shape, axes, view.shape)


INSET = "inset"
"""The elements of an array as they are, with zeros around them that are there already."""

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
        return self.head in ("copy", INSET) or (
            operator is not None and operator.element is not None
        )


@lru_cache(maxsize=1024)
def zero_array(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Return zeros, which take no memory until they are read."""
    return np.zeros(shape, numpy_type(dtype))


@dataclass
class ArrayOperations:
    """Operations in order, and the arrays that are known ahead; ``is_zero`` says they all are 0."""

    operations: list[ArrayOperation] = field(default_factory=list)
    constants: dict[ArraySource, np.ndarray[Any, Any]] = field(default_factory=dict)
    memo: dict[Any, ArrayView] = field(default_factory=dict)
    is_zero: bool = False

    def constant(self, array: np.ndarray[Any, Any]) -> ArraySource:
        """Return an array that is known."""
        kept = (
            zero_array(array.shape, array.dtype.name)
            if self.is_zero
            else np.ascontiguousarray(array).reshape(array.shape)
        )
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
