"""Convolutions and pools as operations: padding by itself, in the form that runs fastest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from polygym.graphs.execution.ir.operations import ArrayOperations
from polygym.graphs.execution.ir.views import ArrayView, reshape_view, slice_axis, whole_array
from polygym.graphs.operators.type_checks import pads_of
from polygym.graphs.operators.types import NumberData, TensorType, TextData
from polygym.rewrite.term import Head

__all__ = ["lower_convolution", "lower_pooling"]

_SMALL_IMAGE = 64
"""Rows of a result with so few places fill vectors badly; then a convolution becomes a product."""

_SHORT_SUM = 32
"""So do vectors that read every other element, where a result is a sum of so few."""


def lower_convolution(
    operations: ArrayOperations,
    literals: Sequence[Head],
    operands: Sequence[ArrayView],
    tensor: TensorType,
) -> ArrayView:
    """Return a convolution, activated; literals and operands are those of the operator."""
    stride = int(literals[0]), int(literals[1])
    x, w = operands
    image, _ = _pad_image(operations, x, 0.0, literals[2], w.shape[2:], stride)
    rows, columns = tensor.shape[2:]
    if w.shape[2:] == (1, 1) and stride != (1, 1):
        image = slice_axis(slice_axis(image, 2, 0, rows, stride[0]), 3, 0, columns, stride[1])
        image, stride = operations.contiguous(image), (1, 1)
    elif _is_product(x, w, stride, rows * columns):
        channels = prod(w.shape[1:])
        shape = (x.shape[0], channels, rows, columns)
        window = (*w.shape[2:], *stride)
        image = operations.append("windows", window, (image,), shape, x.dtype)
        w = (
            reshape_view(
                w if w.is_whole_array else operations.contiguous(w), (w.shape[0], channels, 1, 1)
            )
            or w
        )
        stride = (1, 1)
    kernel = w if w.is_whole_array else operations.contiguous(w)
    array_view = operations.append("conv", stride, (image, kernel), tensor.shape, tensor.dtype)
    return operations.activated(str(literals[3]), array_view)


def _is_product(x: ArrayView, w: ArrayView, stride: tuple[int, int], pixels: int) -> bool:
    """Whether a convolution is faster as a product of the kernel and all windows."""
    if x.shape[1] != w.shape[1] or w.shape[2:] == (1, 1) or pixels == 1:
        return False
    return pixels <= _SMALL_IMAGE or (stride[1] > 1 and prod(w.shape[1:]) <= _SHORT_SUM)


def lower_pooling(
    operations: ArrayOperations,
    head: str,
    literals: Sequence[Head],
    x: ArrayView,
    tensor: TensorType,
) -> ArrayView:
    """Return the pool of an image, activated."""
    kernel, stride = tuple(map(int, literals[:2])), tuple(map(int, literals[2:4]))
    least = -inf if x.dtype.startswith("float") else float(np.iinfo(x.dtype).min)
    around = least if head == "poolmax" else 0.0
    image, is_padded = _pad_image(operations, x, around, literals[4], kernel, stride)
    operands = [image]
    if head == "poolavg" and is_padded:
        operands.append(_window_shares(operations, x, literals[4], kernel, stride, tensor))
    array_view = operations.append(head, (*kernel, *stride), operands, tensor.shape, tensor.dtype)
    return operations.activated(str(literals[5]), array_view)


def _pad_image(
    operations: ArrayOperations,
    x: ArrayView,
    value: float,
    padding: Head,
    kernel: Sequence[int],
    stride: Sequence[int],
) -> tuple[ArrayView, bool]:
    """Return an image with what a window sees around it, and whether there is anything."""
    height, width = x.shape[2:]
    word = TextData(padding) if isinstance(padding, str) else NumberData(padding)
    top, left, bottom, right = pads_of(
        word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1])
    )
    padded = operations.padded(x, value, (0, 0, top, left, 0, 0, bottom, right))
    return operations.with_last_row(padded), any((top, left, bottom, right))


def _window_shares(
    operations: ArrayOperations,
    x: ArrayView,
    padding: Head,
    kernel: Sequence[int],
    stride: Sequence[int],
    tensor: TensorType,
) -> ArrayView:
    """Return one over how many elements of the image every window sees."""
    word = TextData(padding) if isinstance(padding, str) else NumberData(padding)
    height, width = x.shape[2:]
    pads = pads_of(word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1]))
    key = ("shares", (height, width), tuple(kernel), tuple(stride), pads, tensor)
    if key not in operations.memo:
        counts = []
        for axis, (extent, before) in enumerate(((height, pads[0]), (width, pads[1]))):
            first = np.arange(tensor.shape[2 + axis]) * stride[axis] - before
            last = np.minimum(first + kernel[axis], extent)
            counts.append(last - np.maximum(first, 0))
        shares = (1 / np.multiply.outer(*counts)).astype(tensor.dtype)
        operations.memo[key] = whole_array(operations.constant(shares))
    return operations.memo[key]
