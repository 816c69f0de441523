"""Convolutions and pools as operations: padding by itself, in the form that runs fastest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from polygym.graphs.ir.checks import pads_of
from polygym.graphs.ir.types import Number, Tensor, Text
from polygym.graphs.running.operations import Operations
from polygym.graphs.running.views import View, plain, reshaped, sliced
from polygym.rewrite.term import Head

__all__ = ["convolution", "pooling"]

_FEW_PIXELS = 64
"""Rows of a result with so few places fill vectors badly; then a convolution becomes a product."""

_FEW_TERMS = 32
"""So do vectors that read every other element, where a result is a sum of so few."""


def convolution(
    made: Operations, literals: Sequence[Head], operands: Sequence[View], tensor: Tensor
) -> View:
    """Return a convolution, activated; literals and operands are those of the operator."""
    stride = int(literals[0]), int(literals[1])
    x, w = operands
    image, _ = _around(made, x, 0.0, literals[2], w.shape[2:], stride)
    rows, columns = tensor.shape[2:]
    if w.shape[2:] == (1, 1) and stride != (1, 1):
        image = sliced(sliced(image, 2, 0, rows, stride[0]), 3, 0, columns, stride[1])
        image, stride = made.moved(image), (1, 1)
    elif _is_product(x, w, stride, rows * columns):
        channels = prod(w.shape[1:])
        shape = (x.shape[0], channels, rows, columns)
        window = (*w.shape[2:], *stride)
        image = made.emit("windows", window, (image,), shape, x.dtype)
        w = reshaped(w if w.is_plain else made.moved(w), (w.shape[0], channels, 1, 1)) or w
        stride = (1, 1)
    kernel = w if w.is_plain else made.moved(w)
    found = made.emit("conv", stride, (image, kernel), tensor.shape, tensor.dtype)
    return made.activated(str(literals[3]), found)


def _is_product(x: View, w: View, stride: tuple[int, int], pixels: int) -> bool:
    """Whether a convolution is faster as a product of the kernel and all windows."""
    if x.shape[1] != w.shape[1] or w.shape[2:] == (1, 1) or pixels == 1:
        return False
    return pixels <= _FEW_PIXELS or (stride[1] > 1 and prod(w.shape[1:]) <= _FEW_TERMS)


def pooling(made: Operations, head: str, literals: Sequence[Head], x: View, tensor: Tensor) -> View:
    """Return the pool of an image, activated."""
    kernel, stride = tuple(map(int, literals[:2])), tuple(map(int, literals[2:4]))
    least = -inf if x.dtype.startswith("float") else float(np.iinfo(x.dtype).min)
    around = least if head == "poolmax" else 0.0
    image, is_padded = _around(made, x, around, literals[4], kernel, stride)
    operands = [image]
    if head == "poolavg" and is_padded:
        operands.append(_shares(made, x, literals[4], kernel, stride, tensor))
    found = made.emit(head, (*kernel, *stride), operands, tensor.shape, tensor.dtype)
    return made.activated(str(literals[5]), found)


def _around(
    made: Operations,
    x: View,
    value: float,
    padding: Head,
    kernel: Sequence[int],
    stride: Sequence[int],
) -> tuple[View, bool]:
    """Return an image with what a window sees around it, and whether there is anything."""
    height, width = x.shape[2:]
    word = Text(padding) if isinstance(padding, str) else Number(padding)
    top, left, bottom, right = pads_of(
        word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1])
    )
    padded = made.padded(x, value, (0, 0, top, left, 0, 0, bottom, right))
    return made.with_last_row(padded), any((top, left, bottom, right))


def _shares(
    made: Operations,
    x: View,
    padding: Head,
    kernel: Sequence[int],
    stride: Sequence[int],
    tensor: Tensor,
) -> View:
    """Return one over how many elements of the image every window sees."""
    word = Text(padding) if isinstance(padding, str) else Number(padding)
    height, width = x.shape[2:]
    pads = pads_of(word, (height, width), (kernel[0], kernel[1]), (stride[0], stride[1]))
    key = ("shares", (height, width), tuple(kernel), tuple(stride), pads, tensor)
    if key not in made.known:
        counts = []
        for axis, (extent, before) in enumerate(((height, pads[0]), (width, pads[1]))):
            first = np.arange(tensor.shape[2 + axis]) * stride[axis] - before
            last = np.minimum(first + kernel[axis], extent)
            counts.append(last - np.maximum(first, 0))
        shares = (1 / np.multiply.outer(*counts)).astype(tensor.dtype)
        made.known[key] = plain(made.constant(shares))
    return made.known[key]
