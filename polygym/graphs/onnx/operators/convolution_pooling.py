"""Convolutions and pooling, from ONNX: one-dimensional ones as two-dimensional ones of height 1.

Pads are counted once and for all: what ``auto_pad`` and ``ceil_mode`` ask for becomes the pads that
give as many windows. They are called ``same`` or ``valid`` where they are just that.
:mod:`~polygym.graphs.onnx.operators.volumes` has the rows, and three dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from polygym.graphs.onnx.nodes import OnnxNode
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


def convolution(node: OnnxNode) -> Term:
    """Return a convolution of one or two dimensions."""
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
    w = with_gaps(node, w, pair_attribute(node, "dilations", rank))
    wide = node.builder.shape(w)[2:]
    at = window_geometry(node, (shape[2], shape[3]), (wide[0], wide[1]), rank)
    y = node.make("conv", *at.stride, at.padding("same", "valid"), "none", x, w)
    if node.has(2):
        bias = node.builder.reshaped(node.term(2), (1, kernel[0], 1, 1))
        y = node.pairwise("add", y, bias)
    return to_original_rank(node, y, rank)


def with_gaps(node: OnnxNode, x: Term, gaps: Sequence[int]) -> Term:
    """Put zeros between elements along the last axes: [a b] with a gap of 2 becomes [a 0 b]."""
    shape, rank = node.builder.shape(x), len(gaps)
    fixed, extents = shape[:-rank], shape[len(shape) - rank :]
    wide = tuple((extent - 1) * gap + 1 for extent, gap in zip(extents, gaps, strict=True))
    if wide == extents:
        return x
    node.expect_small(*fixed, *wide)
    if (known := node.builder.value(x)) is not None:
        spread = np.zeros((*fixed, *wide), known.dtype)
        spread[tuple(slice(None, None, gap) for gap in (*(1,) * len(fixed), *gaps))] = known
        return node.weight(spread, "dilated")
    x = node.builder.reshaped(x, (*fixed, *(part for extent in extents for part in (extent, 1))))
    after = (*(0,) * len(fixed), *(part for gap in gaps for part in (0, gap - 1)))
    x = node.make("pad", 0, shape_text((*(0,) * len(after), *after)), x)
    full = tuple(extent * gap for extent, gap in zip(extents, gaps, strict=True))
    x = node.builder.reshaped(x, (*fixed, *full))
    for place, extent in enumerate(wide):  # the zeros after the last element
        x = strided_elements(node, x, len(fixed) + place, 0, extent, 1)
    return x


def pool(node: OnnxNode, kind: str) -> Term:
    """Return ``max`` or ``avg`` of windows of one or two dimensions."""
    x, rank = image_of_rank_4(node)
    shape = node.builder.shape(x)
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

    The padded image has -∞ around it, or zeros.
    """
    size = node.builder.shape(x)[2:]
    if prod(kernel) > _MAX_SLICES:
        node.reject(f"expected at most {_MAX_SLICES} elements of a window, found {prod(kernel)}")
    wide = (kernel[0] - 1) * gaps[0] + 1, (kernel[1] - 1) * gaps[1] + 1
    at = window_geometry(node, (size[0], size[1]), wide, len(node.shape(0)) - 2)
    image = x
    if any(at.pads):
        top, left, bottom, right = at.pads
        least = -np.inf if kind == "max" else 0
        x = node.make("pad", least, shape_text((0, 0, top, left, 0, 0, bottom, right)), x)
    _, _, height, width = node.builder.shape(x)
    rows = (height - wide[0]) // at.stride[0] + 1
    columns = (width - wide[1]) // at.stride[1] + 1
    term: Term | None = None
    for down in range(kernel[0]):
        for across in range(kernel[1]):
            first = down * gaps[0], across * gaps[1]
            elements = strided_elements(node, x, 2, first[0], rows, at.stride[0])
            elements = strided_elements(node, elements, 3, first[1], columns, at.stride[1])
            head = "maximum" if kind == "max" else "add"
            term = elements if term is None else node.pairwise(head, term, elements)
    assert term is not None, "windows have elements"
    if kind == "max":
        return term
    return node.pairwise("mul", term, _gap_shares(node, image, at, kernel, gaps))


def _gap_shares(
    node: OnnxNode, x: Term, at: WindowGeometry, kernel: IntPair, gaps: IntPair
) -> Term:
    """Return one over how many elements a window with gaps counts."""
    if not any(at.pads):
        return node.scalar(1 / prod(kernel), x)
    around = (0, 0, 0, 0)
    if node.attribute("count_include_pad", 0):  # but not those of ceil_mode
        plain = replace(node, attributes={**node.attributes, "ceil_mode": 0})
        around = window_geometry(plain, at.size, at.kernel, len(node.shape(0)) - 2).pads
    counts = []
    for axis in range(2):
        total = at.size[axis] + at.pads[axis] + at.pads[2 + axis]
        first = np.arange(0, total - at.kernel[axis] + 1, at.stride[axis]) - at.pads[axis]
        places = first[:, None] + np.arange(kernel[axis]) * gaps[axis]
        is_counted = (places >= -around[axis]) & (places < at.size[axis] + around[2 + axis])
        counts.append(is_counted.sum(1))
    shares = 1 / np.maximum(np.multiply.outer(*counts), 1)
    return node.weight(shares.astype(node.builder.tensor(x).dtype), "shares")


def strided_elements(node: OnnxNode, x: Term, axis: int, first: int, count: int, step: int) -> Term:
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
