"""Arrays as they are read: transposed, sliced, expanded, without moving an element.

A view says at which subscripts of the array that is there the elements of a logical array lie: for
every axis of the one that is there an axis of the view times a step plus a beginning, or a
beginning alone. What lies in one piece is no view but the array itself from some element on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polygym.graphs.running.nests import Affine, constant

__all__ = ["Source", "View", "permuted", "plain", "reshaped", "sliced", "strides_of", "widened"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An array that is there when the model runs; what it comes from is kept elsewhere."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class View:
    """Elements of a source, from ``start`` on seen as an array of shape ``extents``.

    ``along[d]`` is (axis of the view or -1, step, beginning) for axis d of that array.
    """

    source: Source
    start: int
    extents: tuple[int, ...]
    along: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """Whether the view is the array itself."""
        return self.extents == self.shape and all(
            part == (axis, 1, 0) for axis, part in enumerate(self.along)
        )

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return self.source.dtype

    @property
    def elements(self) -> int:
        """How many elements the view has."""
        return prod(self.shape)

    def subscripts(self, logical: Sequence[Affine]) -> tuple[Affine, ...]:
        """Return where an element of the view lies."""
        return tuple(
            constant(begin) if axis < 0 else logical[axis] * step + begin
            for axis, step, begin in self.along
        )

    def seen(self, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the view as an array of NumPy, given the source's elements in one row."""
        offset, strides = strides_of(self)
        whole = flat[offset:]
        sizes = tuple(whole.itemsize * one for one in strides)
        return np.lib.stride_tricks.as_strided(whole, self.shape, sizes)


def plain(source: Source) -> View:
    """Return an array as it is."""
    axes = tuple((axis, 1, 0) for axis in range(len(source.shape)))
    return View(source, 0, source.shape, axes, source.shape)


def strides_of(view: View) -> tuple[int, tuple[int, ...]]:
    """Return the first element of a view in its source, and how far apart neighbours are."""
    strides = [0] * len(view.shape)
    offset, weight = view.start, 1
    for extent, (axis, step, begin) in zip(
        reversed(view.extents), reversed(view.along), strict=True
    ):
        offset += weight * begin
        if axis >= 0:
            strides[axis] += weight * step
        weight *= extent
    return offset, tuple(strides)


def permuted(view: View, order: Sequence[int]) -> View:
    """Return a view with axes in another order: axis i is axis order[i]."""
    there = {axis: place for place, axis in enumerate(order)}
    along = tuple((there.get(axis, -1), step, begin) for axis, step, begin in view.along)
    shape = tuple(view.shape[axis] for axis in order)
    return _settled(View(view.source, view.start, view.extents, along, shape))


def sliced(view: View, axis: int, start: int, count: int, step: int = 1) -> View:
    """Return every ``step``-th element along an axis, ``count`` of them."""
    along = tuple(
        (one, stride * step, begin + stride * start) if one == axis else (one, stride, begin)
        for one, stride, begin in view.along
    )
    shape = (*view.shape[:axis], count, *view.shape[axis + 1 :])
    return _settled(View(view.source, view.start, view.extents, along, shape))


def widened(view: View, shape: tuple[int, ...]) -> View:
    """Return a view with its elements again and again along axes of extent 1, or in front."""
    shift = len(shape) - len(view.shape)
    along = []
    for axis, step, begin in view.along:
        is_one = axis >= 0 and view.shape[axis] == 1 and shape[axis + shift] != 1
        along.append((-1, 0, begin) if axis < 0 or is_one else (axis + shift, step, begin))
    return _settled(View(view.source, view.start, view.extents, tuple(along), shape))


def reshaped(view: View, shape: tuple[int, ...]) -> View | None:
    """Return a view under another shape; None where elements would have to move.

    >>> image = plain(Source((2, 3), "float32"))
    >>> reshaped(image, (6,)).extents, reshaped(permuted(image, (1, 0)), (6,))
    ((6,), None)
    """
    if view.is_plain:
        axes = tuple((axis, 1, 0) for axis in range(len(shape)))
        return View(view.source, view.start, shape, axes, shape)
    old = [axis for axis, extent in enumerate(view.shape) if extent != 1]
    new = [axis for axis, extent in enumerate(shape) if extent != 1]
    if [view.shape[axis] for axis in old] != [shape[axis] for axis in new]:
        return None
    there = dict(zip(old, new, strict=True))
    along = tuple(
        (there[axis], step, begin) if axis in there else (-1, 0, begin)
        for axis, step, begin in view.along
    )
    return _settled(View(view.source, view.start, view.extents, along, shape))


def _settled(view: View) -> View:
    """Return a view that lies in one piece as the array from its first element on."""
    offset, strides = strides_of(view)
    expected = 1
    for extent, stride in zip(reversed(view.shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return view
        expected *= extent
    axes = tuple((axis, 1, 0) for axis in range(len(view.shape)))
    return View(view.source, offset, view.shape, axes, view.shape)
