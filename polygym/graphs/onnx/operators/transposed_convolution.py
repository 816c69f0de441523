"""Transposed convolutions, from ONNX, as convolutions.

Every element of the image adds its multiple of the kernel to the result, ``stride`` apart. The same
comes of an image with ``stride - 1`` zeros between its elements and enough of them around it, under
the kernel turned around::

    [a b] by [u v w], stride 2:   a u, a v, a w + b u, b v, b w
    0 0 a 0 b 0 0 by [w v u]:     a u, a v, a w + b u, b v, b w

Where windows stand side by side (as large as the stride, nothing around them) nothing overlaps: it
is a product by channels, whose results are put side by side.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.convolution_pooling import strided_elements, with_gaps
from polygym.graphs.onnx.operators.volumes import convolve
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term

_Around = tuple[list[int], list[int], list[int]]
"""Pads before and after, which take away, and what is added after, for every axis."""


def _numbers(node: OnnxNode, name: str, count: int, default: int, least: int) -> list[int]:
    result = list(node.attribute(name, ()) or (default,) * count)
    if len(result) != count or min(result) < least:
        node.reject(f"expected {count} numbers from {least} on for {name}, found {result}")
    return result


def _padding(
    node: OnnxNode, size: Sequence[int], wide: Sequence[int], stride: Sequence[int]
) -> _Around:
    rank = len(size)
    added = _numbers(node, "output_padding", rank, 0, 0)
    said = _numbers(node, "pads", 2 * rank, 0, 0)
    wanted = list(node.attribute("output_shape", ()))
    mode = node.attribute("auto_pad", b"NOTSET")
    before, after = said[:rank], said[rank:]
    if len(wanted) not in (0, rank):
        node.reject(f"expected {rank} numbers for output_shape, found {wanted}")
    if mode in (b"SAME_UPPER", b"SAME_LOWER") and not wanted:
        wanted = [extent * step for extent, step in zip(size, stride, strict=True)]
    elif mode not in (b"NOTSET", b"VALID", b"SAME_UPPER", b"SAME_LOWER"):
        node.reject(f"expected NOTSET, VALID or SAME_UPPER for auto_pad, found {mode!r}")
    for axis in range(rank if wanted else 0):
        whole = stride[axis] * (size[axis] - 1) + added[axis] + wide[axis]
        total = max(whole - wanted[axis], 0)
        less, more = total // 2, total - total // 2
        before[axis], after[axis] = (less, more) if mode == b"SAME_UPPER" else (more, less)
        missing = wanted[axis] - (whole - total)
        if missing > (mode == b"NOTSET"):  # a single one comes after, more would be split
            node.reject(f"expected an output_shape that can be, found {wanted}")
        added[axis] += missing
    return before, after, added


def _flipped_kernel(node: OnnxNode, w: Term, groups: int) -> Term:
    """Return the kernel (c, f / groups, …) as that of a convolution, turned around."""
    builder = node.builder
    channels, each, *window = builder.shape(w)
    parts = builder.reshaped(w, (groups, channels // groups, each, *window))
    order = (0, 2, 1, *range(3, 3 + len(window)))
    known = builder.value(parts)
    shape = (groups * each, channels // groups, *window)
    if known is not None:
        turned = np.flip(known.transpose(order), tuple(range(3, 3 + len(window))))
        return node.weight(turned.reshape(shape), f"{node.names[1]}-turned")
    w = builder.reshaped(builder.transposed(parts, order), shape)
    for axis, extent in enumerate(window, 2):
        if extent > 1:
            backwards = node.weight(np.arange(extent)[::-1], f"backwards_{extent}")
            w = node.make("gather", axis, w, backwards)
    return w


def _without_overlap(node: OnnxNode, x: Term, w: Term) -> Term:
    """Return the result of windows that do not overlap."""
    builder = node.builder
    (count, channels, *size), (_, filters, *window) = builder.shape(x), builder.shape(w)
    rank = len(size)
    kernel = builder.transposed(w, (*range(1, 2 + rank), 0))
    if (known := builder.value(w)) is not None:
        kernel = node.weight(np.moveaxis(known, 0, -1), f"{node.names[1]}-rows")
    kernel = builder.reshaped(kernel, (filters * prod(window), channels, *(1,) * rank))
    y = builder.reshaped(convolve(node, x, kernel), (count, filters, *window, *size))
    order = (axis for place in range(rank) for axis in (2 + rank + place, 2 + place))
    y = builder.transposed(y, (0, 1, *order))
    return builder.reshaped(
        y, (count, filters, *(a * b for a, b in zip(size, window, strict=True)))
    )


def _with_overlap(
    node: OnnxNode, x: Term, kernel: Term, stride: Sequence[int], around: _Around
) -> Term:
    """Return the result of windows that overlap, or leave gaps."""
    x, rank = with_gaps(node, x, stride), len(stride)
    pads = [0] * (4 + 2 * rank)
    for axis, (before, after, added) in enumerate(zip(*around, strict=True), 2):
        reach = node.builder.shape(kernel)[axis] - 1
        first, last = reach - before, reach - after + added
        extent = node.builder.shape(x)[axis]
        start, stop = max(-first, 0), extent - max(-last, 0)
        if start >= stop:
            node.reject("expected pads that leave something of the image")
        x = strided_elements(node, x, axis, start, stop - start, 1)
        pads[axis], pads[2 + rank + axis] = max(first, 0), max(last, 0)
    if any(pads):
        x = node.make("pad", 0, shape_text(tuple(pads)), x)
    return convolve(node, x, kernel)


def _conv_transpose(node: OnnxNode) -> Term:
    x, w, builder = node.term(0), node.term(1), node.builder
    shape, kernel = builder.shape(x), builder.shape(w)
    rank = len(shape) - 2
    if rank not in (1, 2, 3) or len(kernel) != len(shape):
        node.reject(f"expected an image and a kernel of its rank, found {shape} and {kernel}")
    groups = node.attribute("group", 1)
    if groups < 1 or kernel[0] != shape[1] or shape[1] % groups:
        node.reject(f"expected {shape[1]} channels in {groups} groups, found {list(kernel)}")
    if tuple(node.attribute("kernel_shape", kernel[2:])) != kernel[2:]:
        node.reject(f"expected kernel_shape {kernel[2:]}, found {node.attribute('kernel_shape')}")
    stride, gaps = (_numbers(node, name, rank, 1, 1) for name in ("strides", "dilations"))
    w = with_gaps(node, w, gaps)
    wide = builder.shape(w)[2:]
    around = _padding(node, shape[2:], wide, stride)
    if list(wide) == stride and groups == 1 and not any(map(any, around)):
        y = _without_overlap(node, x, w)
    else:
        y = _with_overlap(node, x, _flipped_kernel(node, w, groups), stride, around)
    if node.has(2):
        extents = (1, builder.shape(y)[1], *(1,) * rank)
        y = node.pairwise("add", y, builder.reshaped(node.term(2), extents))
    return y


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport(
        "ConvTranspose",
        _conv_transpose,
        "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
    ),
)
