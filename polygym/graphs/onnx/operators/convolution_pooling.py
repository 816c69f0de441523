"""Convolutions and pooling, from ONNX: one-dimensional ones as two-dimensional ones of height 1.

Pads are counted once and for all: what ``auto_pad`` and ``ceil_mode`` ask for becomes the pads that
give as many windows. They are called ``same`` or ``valid`` where they are just that.

Transposed convolutions, from ONNX, as convolutions.

Every element of the image adds its multiple of the kernel to the result, ``stride`` apart. The same
comes of an image with ``stride - 1`` zeros between its elements and enough of them around it, under
the kernel turned around::

    [a b] by [u v w], stride 2:   a u, a v, a w + b u, b v, b w
    0 0 a 0 b 0 0 by [w v u]:     a u, a v, a w + b u, b v, b w

Where windows stand side by side (as large as the stride, nothing around them) nothing overlaps: it
is a product by channels, whose results are put side by side.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.operators.types import TextData, pads_of, shape_text
from polygym.rewrite.term import Term

IntPair = tuple[int, int]

_MAX_SLICES = 81


@dataclass(frozen=True, slots=True)
class WindowGeometry:
    """Where windows lie over an image: sizes, strides, pads above, left, below, right."""

    size: IntPair
    kernel: IntPair
    stride: IntPair
    pads: tuple[int, int, int, int]

    def padding(self, *preferred: str) -> str:
        """Return the pads as a word, one of those preferred if it says the same."""
        for word in preferred:
            if pads_of(TextData(word), self.size, self.kernel, self.stride) == self.pads:
                return word
        return shape_text(self.pads)


def pair_attribute(node: OnnxNode, name: str, rank: int) -> IntPair:
    """Return an attribute of one number, or two."""
    literals = tuple(node.attribute(name, ()) or (1,) * rank)
    if len(literals) != rank or min(literals) < 1:
        node.reject(f"expected {rank} numbers from 1 on for {name}, found {list(literals)}")
    return (literals[0], literals[1]) if rank == 2 else (1, literals[0])


def image_of_rank_4(node: OnnxNode) -> tuple[Term, int]:
    """Return an image of rank 4, and of how many dimensions it was."""
    x = node.term(0)
    shape = node.builder.shape(x)
    rank = len(shape) - 2
    if rank not in (1, 2):
        node.reject(f"expected an image of one or two dimensions, found the shape {list(shape)}")
    return (x, 2) if rank == 2 else (node.builder.reshaped(x, (*shape[:2], 1, shape[2])), 1)


def window_geometry(node: OnnxNode, size: IntPair, kernel: IntPair, rank: int) -> WindowGeometry:
    """Return the windows of a node whose kernel (with its gaps) is known."""
    stride = pair_attribute(node, "strides", rank)
    mode = node.attribute("auto_pad", b"NOTSET")
    said = tuple(node.attribute("pads", ()) or (0,) * (2 * rank))
    if len(said) != 2 * rank or min(said) < 0:
        node.reject(f"expected {2 * rank} pads from 0 on, found {said}")
    before, after = (list(literals) for literals in (said[:rank], said[rank:]))
    if rank == 1:
        before, after = [0, *before], [0, *after]
    if mode == b"VALID":
        before, after = [0, 0], [0, 0]
    elif mode in (b"SAME_UPPER", b"SAME_LOWER"):
        upper = pads_of(TextData("same"), size, kernel, stride)
        before, after = list(upper[:2]), list(upper[2:])
        if mode == b"SAME_LOWER":
            before, after = after, before
    elif mode != b"NOTSET":
        node.reject(
            f"expected NOTSET, VALID, SAME_UPPER or SAME_LOWER for auto_pad, found {mode!r}"
        )
    if node.attribute("ceil_mode", 0):
        for axis in range(2):
            rest = size[axis] + before[axis] + after[axis] - kernel[axis]
            count = -(-rest // stride[axis]) + 1
            if (count - 1) * stride[axis] >= size[axis] + before[axis]:
                count -= 1  # a window that begins in the pads after the image is none
            needed = (count - 1) * stride[axis] + kernel[axis] - size[axis] - before[axis]
            after[axis] = max(after[axis], needed)
    return WindowGeometry(size, kernel, stride, (before[0], before[1], after[0], after[1]))


def to_original_rank(node: OnnxNode, y: Term, rank: int) -> Term:
    """Return what became of an image as one of as many dimensions as it had."""
    shape = node.builder.shape(y)
    return y if rank == 2 else node.builder.reshaped(y, (*shape[:2], shape[3]))


def _conv(node: OnnxNode) -> Term:
    x, rank = image_of_rank_4(node)
    shape, kernel = node.builder.shape(x), node.shape(1)
    if len(kernel) != rank + 2:
        node.reject(f"expected a kernel of rank {rank + 2}, found the shape {list(kernel)}")
    extents = kernel[2:]
    if tuple(node.attribute("kernel_shape", extents)) != extents:
        node.reject(f"expected kernel_shape {extents}, found {node.attribute('kernel_shape')}")
    groups = node.attribute("group", 1)
    if kernel[1] * groups != shape[1]:
        node.reject(
            f"expected {shape[1]} channels in {groups} groups, found a kernel for {kernel[1]} each"
        )
    w = node.term(1)
    if rank == 1:
        w = node.builder.reshaped(w, (*kernel[:2], 1, kernel[2]))
    gaps = pair_attribute(node, "dilations", rank)
    if gaps != (1, 1):
        w = _dilate_kernel(node, w, gaps)
    wide = node.builder.shape(w)[2:]
    at = window_geometry(node, (shape[2], shape[3]), (wide[0], wide[1]), rank)
    y = node.make("conv", *at.stride, at.padding("same", "valid"), "none", x, w)
    if node.has(2):
        bias = node.builder.reshaped(node.term(2), (1, kernel[0], 1, 1))
        y = node.pairwise("add", y, bias)
    return to_original_rank(node, y, rank)


def _dilate_kernel(node: OnnxNode, w: Term, gaps: IntPair) -> Term:
    """Put zeros between the elements of a kernel: [a b] with a gap of 2 becomes [a 0 b]."""
    known = node.builder.value(w)
    if known is None:
        node.reject(f"expected a kernel that is a constant where dilations are {list(gaps)}")
    height, width = known.shape[2:]
    extents = (height - 1) * gaps[0] + 1, (width - 1) * gaps[1] + 1
    node.expect_small(*known.shape[:2], *extents)
    wide = np.zeros((*known.shape[:2], *extents), known.dtype)
    wide[:, :, :: gaps[0], :: gaps[1]] = known
    return node.weight(wide, f"{node.names[1]}-dilated")


def _depth_pool(node: OnnxNode) -> tuple[OnnxNode, tuple[int, ...]] | None:
    """Return a pool along the first of three dimensions alone as one of two, and its shape.

    (n, c, d, h, w) under windows of k by 1 by 1 is (n, c, d, h w) under windows of k by 1.
    """
    shape = node.shape(0)
    names = {"kernel_shape": 1, "strides": 1, "dilations": 1}
    alls = {name: tuple(node.attribute(name, ()) or (usual,) * 3) for name, usual in names.items()}
    pads = tuple(node.attribute("pads", ()) or (0,) * 6)
    is_flat = all(len(all_) == 3 and all_[1:] == (1, 1) for all_ in alls.values())
    if len(shape) != 5 or not is_flat or len(pads) != 6 or any(pads[1:3] + pads[4:]):
        return None
    x = node.builder.reshaped(node.term(0), (*shape[:3], shape[3] * shape[4]))
    narrow = {name: all_[:2] for name, all_ in alls.items()}
    attributes = {**node.attributes, **narrow, "pads": (pads[0], 0, pads[3], 0)}
    return replace(node, values=(x,), attributes=attributes), shape[3:]


def _pool(node: OnnxNode, kind: str) -> Term:
    if (flat := _depth_pool(node)) is not None:
        y = _pool(flat[0], kind)
        return node.builder.reshaped(y, (*node.builder.shape(y)[:3], *flat[1]))
    x, rank = image_of_rank_4(node)
    shape = node.builder.shape(x)
    if len([name for name in node.outputs if name]) > 1:
        node.reject(
            "expected the values alone to be used, found the indices: they are not computed"
        )
    kernel = pair_attribute(node, "kernel_shape", rank)
    gaps = pair_attribute(node, "dilations", rank)
    if gaps != (1, 1):
        return to_original_rank(node, _dilated_pool(node, x, kernel, gaps, kind), rank)
    at = window_geometry(node, (shape[2], shape[3]), kernel, rank)
    if kind == "avg" and node.attribute("count_include_pad", 0) and any(at.pads):
        x, at = _pad_with_zeros(node, x, at, rank)
    padding = at.padding("valid", "same")
    y = node.make(f"pool{kind}", x, *kernel, *at.stride, padding, "none")
    return to_original_rank(node, y, rank)


def _dilated_pool(node: OnnxNode, x: Term, kernel: IntPair, gaps: IntPair, kind: str) -> Term:
    """Return what comes of windows with gaps: of as many slices as a window has elements.

    The padded image has the smallest number around it, or zeros that count.
    """
    size = node.builder.shape(x)[2:]
    if prod(kernel) > _MAX_SLICES:
        node.reject(f"expected at most {_MAX_SLICES} elements of a window, found {prod(kernel)}")
    wide = (kernel[0] - 1) * gaps[0] + 1, (kernel[1] - 1) * gaps[1] + 1
    at = window_geometry(node, (size[0], size[1]), wide, len(node.shape(0)) - 2)
    if kind == "avg" and any(at.pads) and not node.attribute("count_include_pad", 0):
        node.reject("expected a mean that counts its pads where windows have gaps")
    if any(at.pads):
        top, left, bottom, right = at.pads
        least = float(np.finfo(node.builder.tensor(x).dtype).min) if kind == "max" else 0
        x = node.make("pad", least, shape_text((0, 0, top, left, 0, 0, bottom, right)), x)
    _, _, height, width = node.builder.shape(x)
    rows = (height - wide[0]) // at.stride[0] + 1
    columns = (width - wide[1]) // at.stride[1] + 1
    term: Term | None = None
    for down in range(kernel[0]):
        for across in range(kernel[1]):
            first = down * gaps[0], across * gaps[1]
            elements = _strided_elements(node, x, 2, first[0], rows, at.stride[0])
            elements = _strided_elements(node, elements, 3, first[1], columns, at.stride[1])
            head = "maximum" if kind == "max" else "add"
            term = elements if term is None else node.pairwise(head, term, elements)
    assert term is not None, "windows have elements"
    if kind == "max":
        return term
    return node.pairwise("mul", term, node.scalar(1 / prod(kernel), term))


def _strided_elements(
    node: OnnxNode, x: Term, axis: int, first: int, count: int, step: int
) -> Term:
    """Return so many elements along an axis."""
    last = first + (count - 1) * step + 1
    if (first, last, step) == (0, node.builder.shape(x)[axis], 1):
        return x
    return node.make("slice", axis, first, last, step, x)


def _pad_with_zeros(
    node: OnnxNode, x: Term, at: WindowGeometry, rank: int
) -> tuple[Term, WindowGeometry]:
    """Put zeros around an image that count, and leave the pads of ``ceil_mode``, which do not."""
    plain = replace(node, attributes={**node.attributes, "ceil_mode": 0})
    counted = window_geometry(plain, at.size, at.kernel, rank).pads
    rest = at.pads[2] - counted[2], at.pads[3] - counted[3]
    top, left, bottom, right = counted
    if any(counted):
        x = node.make("pad", 0, shape_text((0, 0, top, left, 0, 0, bottom, right)), x)
    _, _, height, width = node.builder.shape(x)
    return x, WindowGeometry((height, width), at.kernel, at.stride, (0, 0, *rest))


def _max_pool(node: OnnxNode) -> Term:
    return _pool(node, "max")


def _average_pool(node: OnnxNode) -> Term:
    return _pool(node, "avg")


def _global_pool(head: str) -> OnnxImport:
    def translate(node: OnnxNode) -> Term:
        x = node.term(0)
        rank = len(node.builder.shape(x))
        if rank < 3:
            node.reject(f"expected an image, found the shape {list(node.builder.shape(x))}")
        axes = tuple(range(2, rank))
        return node.make(head, axes[0] if rank == 3 else shape_text(axes), 1, x)

    return OnnxImport("GlobalAveragePool" if head == "reduce-mean" else "GlobalMaxPool", translate)


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
    OnnxImport("Conv", _conv, "auto_pad dilations group kernel_shape pads strides"),
    OnnxImport(
        "MaxPool", _max_pool, "auto_pad ceil_mode dilations kernel_shape pads strides storage_order"
    ),
    OnnxImport(
        "AveragePool",
        _average_pool,
        "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
    ),
    _global_pool("reduce-mean"),
    _global_pool("reduce-max"),
    OnnxImport(
        "ConvTranspose",
        _conv_transpose,
        "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
    ),
)
