"""Transposed convolutions, from ONNX, as convolutions.

Every element of the image adds its multiple of the kernel to the result, ``stride`` apart. The same
comes of an image with ``stride - 1`` zeros between its elements and enough of them around it, under
the kernel turned around::

    [a b] by [u v w], stride 2:   a u, a v, a w + b u, b v, b w
    0 0 a 0 b 0 0 by [w v u]:     a u, a v, a w + b u, b v, b w

Where windows stand side by side (as large as the stride, nothing around them) nothing overlaps: it
is a product by channels, whose results are put side by side.
"""

import numpy as np

from polygym.graphs.onnx.format.tensors import Array
from polygym.graphs.onnx.nodes.onnx_node import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.convolution_pooling import (
    IntPair,
    image_of_rank_4,
    pair_attribute,
    to_original_rank,
)
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term


def _padding(
    node: OnnxNode, size: IntPair, wide: IntPair, stride: IntPair, rank: int
) -> tuple[IntPair, IntPair, IntPair]:
    """Return the pads before and after, which take away, and what is added after."""
    added = tuple(node.attribute("output_padding", ()) or (0,) * rank)
    said = tuple(node.attribute("pads", ()) or (0,) * (2 * rank))
    wanted = tuple(node.attribute("output_shape", ()))
    mode = node.attribute("auto_pad", b"NOTSET")
    if len(added) != rank or len(said) != 2 * rank or len(wanted) not in (0, rank):
        node.reject(f"expected {rank} numbers for output_padding and output_shape")
    if min((*added, *said)) < 0:
        node.reject(f"expected pads from 0 on, found {list(said)} and {list(added)}")
    if rank == 1:
        added, said = (0, *added), (0, said[0], 0, said[1])
        wanted = (1, *wanted) if wanted else ()
    before, after = list(said[:2]), list(said[2:])
    if mode in (b"SAME_UPPER", b"SAME_LOWER") and not wanted:
        wanted = (size[0] * stride[0], size[1] * stride[1])
    elif mode not in (b"NOTSET", b"VALID", b"SAME_UPPER", b"SAME_LOWER"):
        node.reject(f"expected NOTSET, VALID or SAME_UPPER for auto_pad, found {mode!r}")
    if wanted:
        for axis in range(2):
            whole = stride[axis] * (size[axis] - 1) + added[axis] + wide[axis]
            total = max(whole - wanted[axis], 0)
            less, more = total // 2, total - total // 2
            is_upper = mode == b"SAME_UPPER"
            before[axis], after[axis] = (less, more) if is_upper else (more, less)
            if whole - total != wanted[axis]:
                node.reject(f"expected an output_shape that can be, found {list(wanted)}")
    return (before[0], before[1]), (after[0], after[1]), (added[0], added[1])


def _flipped_kernel(known: Array, groups: int) -> Array:
    """Return the kernel (c, f / groups, h, w) as that of a convolution, turned around."""
    channels, each, *window = known.shape
    parts = known.reshape(groups, channels // groups, each, *window)
    kernel = parts.transpose(0, 2, 1, 3, 4).reshape(groups * each, channels // groups, *window)
    return np.ascontiguousarray(kernel[:, :, ::-1, ::-1])


def _zero_inserted(node: OnnxNode, x: Term, stride: IntPair) -> Term:
    """Put zeros between the elements of an image."""
    if stride == (1, 1):
        return x
    count, channels, height, width = node.builder.shape(x)
    x = node.builder.reshaped(x, (count, channels, height, 1, width, 1))
    pads = (0,) * 9 + (stride[0] - 1, 0, stride[1] - 1)
    x = node.make("pad", 0, shape_text(pads), x)
    x = node.builder.reshaped(x, (count, channels, height * stride[0], width * stride[1]))
    for axis, (extent, step) in enumerate(zip((height, width), stride, strict=True), 2):
        if step > 1:  # the zeros after the last element
            x = node.make("slice", axis, 0, (extent - 1) * step + 1, 1, x)
    return x


def _without_overlap(node: OnnxNode, x: Term, known: Array) -> Term:
    """Return the result of windows that do not overlap."""
    count, channels, height, width = node.builder.shape(x)
    _, filters, down, across = known.shape
    kernel = known.transpose(1, 2, 3, 0).reshape(-1, channels, 1, 1)
    y = node.make("conv", 1, 1, "valid", "none", x, node.weight(kernel, f"{node.names[1]}-rows"))
    y = node.builder.reshaped(y, (count, filters, down, across, height, width))
    y = node.builder.transposed(y, (0, 1, 4, 2, 5, 3))
    return node.builder.reshaped(y, (count, filters, height * down, width * across))


def _with_overlap(
    node: OnnxNode,
    x: Term,
    kernel: Array,
    stride: IntPair,
    around: tuple[IntPair, IntPair, IntPair],
) -> Term:
    """Return the result of windows that overlap, or leave gaps."""
    x = _zero_inserted(node, x, stride)
    before, after, added = around
    pads = [0] * 8
    for axis in range(2):
        reach = kernel.shape[2 + axis] - 1
        first, last = reach - before[axis], reach - after[axis] + added[axis]
        extent = node.builder.shape(x)[2 + axis]
        start, stop = max(-first, 0), extent - max(-last, 0)
        if start >= stop:
            node.reject("expected pads that leave something of the image")
        if (start, stop) != (0, extent):
            x = node.make("slice", 2 + axis, start, stop, 1, x)
        pads[2 + axis], pads[6 + axis] = max(first, 0), max(last, 0)
    if any(pads):
        x = node.make("pad", 0, shape_text(tuple(pads)), x)
    w = node.weight(kernel, f"{node.names[1]}-turned")
    return node.make("conv", 1, 1, "valid", "none", x, w)


def _conv_transpose(node: OnnxNode) -> Term:
    x, rank = image_of_rank_4(node)
    known = node.known_array(1)
    if known is None:
        node.reject("expected a kernel that is a constant, found one that is computed")
    if known.ndim != rank + 2:
        node.reject(f"expected a kernel of rank {rank + 2}, found the shape {list(known.shape)}")
    groups = node.attribute("group", 1)
    shape = node.builder.shape(x)
    if groups < 1 or known.shape[0] != shape[1] or shape[1] % groups:
        node.reject(f"expected {shape[1]} channels in {groups} groups, found {list(known.shape)}")
    extents = known.shape[2:]
    if tuple(node.attribute("kernel_shape", extents)) != extents:
        node.reject(f"expected kernel_shape {extents}, found {node.attribute('kernel_shape')}")
    if rank == 1:
        known = known.reshape(*known.shape[:2], 1, known.shape[2])
    stride, gaps = pair_attribute(node, "strides", rank), pair_attribute(node, "dilations", rank)
    wide = tuple((extent - 1) * gap + 1 for extent, gap in zip(known.shape[2:], gaps, strict=True))
    around = _padding(node, (shape[2], shape[3]), (wide[0], wide[1]), stride, rank)
    if wide == stride and groups == 1 and not any(map(any, around)):
        y = _without_overlap(node, x, known)
    else:
        node.expect_small(*known.shape[:2], *wide)
        spread = np.zeros((*known.shape[:2], *wide), known.dtype)
        spread[:, :, :: gaps[0], :: gaps[1]] = known
        y = _with_overlap(node, x, _flipped_kernel(spread, groups), stride, around)
    if node.has(2):
        bias = node.builder.reshaped(node.term(2), (1, node.builder.shape(y)[1], 1, 1))
        y = node.pairwise("add", y, bias)
    return to_original_rank(node, y, rank)


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport(
        "ConvTranspose",
        _conv_transpose,
        "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
    ),
)
