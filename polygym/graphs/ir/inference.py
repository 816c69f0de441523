"""Shapes and types of what operators make, given those of what they take.

One function an operator, from the data of all children (literals first, as in the text of a node)
to the data of the node. A node that makes no sense is refused by an :class:`Inadmissible` with a
sentence; :mod:`polygym.graphs.ir.operators` puts the operator's name before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from polygym.graphs.ir.checks import (
    activated,
    axis_of,
    constant,
    expect_dtype,
    number,
    numbers,
    pads_of,
    pair,
    real,
    refuse,
    tensor,
    whole,
    word,
)
from polygym.graphs.ir.types import Bundle, Data, Pair, Tensor, numbers_in, shape_text

__all__ = ["named_tensor"]


def named_tensor(identifier: str, is_constant: bool) -> Tensor:
    """Return the tensor of ``name@64-1024`` or ``name@8:int64``.

    >>> named_tensor("ids@1-128:int64", False)
    Tensor(shape=(1, 128), dtype='int64', constant=False)
    """
    name, at, rest = identifier.rpartition("@")
    shape, _, dtype = rest.partition(":")
    try:
        extents = numbers_in(shape)
    except ValueError:
        extents = (-1,)
    if not at or not name or min(extents, default=1) < 1:
        refuse(f"expected a name and a shape such as x@64-1024, found {identifier!r}")
    return Tensor(extents, expect_dtype(dtype or "float32"), is_constant)


def of_reals(infer: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the same for operators whose results are no integers: integers are refused."""

    @wraps(infer)
    def inferred(*children: Data) -> Tensor:
        return real(infer(*children))

    return inferred


def entering(identifier: Data) -> Tensor:
    """``(input x@64-1024)``: what a caller gives."""
    return named_tensor(word(identifier), False)


def weight(identifier: Data) -> Tensor:
    """``(weight w@64-1024)``: what is known ahead."""
    return named_tensor(word(identifier), True)


def noop(left: Data, right: Data) -> Bundle:
    """``(noop a b)``: the results of a graph as one node."""
    parts: list[Tensor] = []
    for one in (left, right):
        parts.extend(one.parts if isinstance(one, Bundle) else (tensor(one),))
    return Bundle(tuple(parts))


def unary(x: Data) -> Tensor:
    """An operation on every element; the shape stays."""
    return tensor(x)


def unary_with(_: Data, x: Data) -> Tensor:
    """The same with a number."""
    number(_)
    return tensor(x)


def clip(low: Data, high: Data, x: Data) -> Tensor:
    """Elements between two bounds."""
    if number(low) > number(high):
        refuse(f"expected a lower bound below the upper, found {number(low)} and {number(high)}")
    return tensor(x)


def equal_shapes(x: Data, y: Data) -> Tensor:
    """An operation on pairs of elements of tensors of one shape."""
    one, other = tensor(x), tensor(y)
    if one.shape != other.shape or one.dtype != other.dtype:
        refuse(f"expected equal shapes, found {one} and {other}")
    return Tensor(one.shape, one.dtype, one.constant and other.constant)


def broadcast(x: Data, y: Data) -> Tensor:
    """The same where an extent of 1, or none, stands for any, as NumPy has it."""
    one, other = tensor(x), tensor(y)
    if one.dtype != other.dtype:
        refuse(f"expected equal types, found {one.dtype} and {other.dtype}")
    rank = max(len(one.shape), len(other.shape))
    left, right = ((1,) * (rank - len(part.shape)) + part.shape for part in (one, other))
    for a, b in zip(left, right, strict=True):
        if a != b and 1 not in (a, b):
            refuse(f"expected shapes that broadcast, found {one} and {other}")
    shape = tuple(max(a, b) for a, b in zip(left, right, strict=True))
    return Tensor(shape, one.dtype, one.constant and other.constant)


def choice(c: Data, x: Data, y: Data) -> Tensor:
    """One of two elements by a third, all broadcast to each other."""
    return broadcast(c, broadcast(x, y))


def matmul(activation: Data, x: Data, y: Data) -> Tensor:
    """Products of matrices; leading extents are equal, or the second has none."""
    one, other = tensor(x), tensor(y)
    activated(activation, one)
    if len(one.shape) < 2 or len(other.shape) < 2:
        refuse(f"expected two matrices, found {one} and {other}")
    *batch, rows, inner = one.shape
    *own, again, columns = other.shape
    if inner != again or (own and own != batch) or one.dtype != other.dtype:
        refuse(f"expected matrices that can be multiplied, found {one} and {other}")
    return Tensor((*batch, rows, columns), one.dtype, one.constant and other.constant)


def convolution(
    stride_h: Data, stride_w: Data, padding: Data, activation: Data, x: Data, w: Data
) -> Tensor:
    """Convolution of an image (n, c, h, w) by (f, c / groups, kh, kw)."""
    image, kernel = tensor(x, 4), tensor(w, 4)
    activated(activation, image)
    count, channels, height, width = image.shape
    filters, inner, kernel_h, kernel_w = kernel.shape
    if channels % inner or filters % (channels // inner) or image.dtype != kernel.dtype:
        refuse(f"expected channels in groups that fit, found {image} and {kernel}")
    sizes = _windows(stride_h, stride_w, padding, (height, width), (kernel_h, kernel_w))
    return Tensor((count, filters, *sizes), image.dtype, image.constant and kernel.constant)


def pooling(
    x: Data,
    kernel_h: Data,
    kernel_w: Data,
    stride_h: Data,
    stride_w: Data,
    padding: Data,
    activation: Data,
) -> Tensor:
    """The largest, or the mean, of every window; zeros around it are not counted."""
    image = tensor(x, 4)
    activated(activation, image)
    count, channels, height, width = image.shape
    kernel = whole(kernel_h, 1), whole(kernel_w, 1)
    pads = pads_of(padding, (height, width), kernel, (whole(stride_h, 1), whole(stride_w, 1)))
    if max(pads[0], pads[2]) >= kernel[0] or max(pads[1], pads[3]) >= kernel[1]:
        refuse(f"expected pads smaller than the window, found {shape_text(pads)}")
    sizes = _windows(stride_h, stride_w, padding, (height, width), kernel)
    return Tensor((count, channels, *sizes), image.dtype, image.constant)


def transpose(x: Data, permutation: Data) -> Tensor:
    """Axis i of the result is axis permutation[i]."""
    image = tensor(x)
    order = numbers(permutation)
    if sorted(order) != list(range(len(image.shape))):
        refuse(f"expected a permutation of {len(image.shape)} axes, found {shape_text(order)}")
    return Tensor(tuple(image.shape[axis] for axis in order), image.dtype, image.constant)


def enlarge(w: Data, reference: Data) -> Tensor:
    """A kernel with zeros all around it, as large as another one."""
    kernel, large = tensor(w, 4), tensor(reference, 4)
    extents = kernel.shape[2:], large.shape[2:]
    for small, wide in zip(*extents, strict=True):
        if small > wide or (wide - small) % 2:
            refuse(f"expected a kernel that fits into the middle of another, found {extents}")
    return Tensor((*kernel.shape[:2], *extents[1]), kernel.dtype, kernel.constant)


def concat(axis: Data, *parts: Data) -> Tensor:
    """Tensors one after the other along an axis."""
    all_ = [tensor(one) for one in parts]
    first = all_[0]
    along = axis_of(axis, len(first.shape))
    for one in all_[1:]:
        same = len(one.shape) == len(first.shape) and all(
            a == b or place == along
            for place, (a, b) in enumerate(zip(one.shape, first.shape, strict=True))
        )
        if not same or one.dtype != first.dtype:
            refuse(f"expected shapes that differ along axis {along} alone: {first} and {one}")
    total = sum(one.shape[along] for one in all_)
    shape = (*first.shape[:along], total, *first.shape[along + 1 :])
    return Tensor(shape, first.dtype, constant(*all_))


def split(axis: Data, at: Data, x: Data) -> Pair:
    """The first ``at`` along an axis, and the others."""
    whole_one = tensor(x)
    along, size = axis_of(axis, len(whole_one.shape)), whole(at, 1)
    rest = whole_one.shape[along] - size
    if rest < 1:
        refuse(f"expected to split {whole_one.shape[along]} below its end, found {size}")
    first, second = (
        Tensor(
            (*whole_one.shape[:along], extent, *whole_one.shape[along + 1 :]),
            whole_one.dtype,
            whole_one.constant,
        )
        for extent in (size, rest)
    )
    return Pair(first, second)


def first_of(x: Data) -> Tensor:
    """The first part of a split."""
    return pair(x).first


def second_of(x: Data) -> Tensor:
    """The second part of a split."""
    return pair(x).second


def merge(w: Data, count: Data, groups: Data) -> Tensor:
    """The kernel of a convolution in groups, ``count`` groups made one, zeros between them."""
    kernel, many, parts = tensor(w, 4), whole(count, 1), whole(groups, 1)
    filters, inner, *extents = kernel.shape
    if parts % many or filters % parts:
        refuse(f"expected groups that can be merged by {many}, found {parts} of {filters} filters")
    return Tensor((filters, inner * many, *extents), kernel.dtype, kernel.constant)


def reshape(x: Data, shape: Data) -> Tensor:
    """The same elements in the same order under another shape."""
    image = tensor(x)
    found = Tensor(numbers(shape), image.dtype, image.constant)
    if found.elements != image.elements:
        refuse(f"expected a shape of {image.elements} elements, found {found}")
    return found


def expand(x: Data, shape: Data) -> Tensor:
    """The same elements again and again along axes of extent 1."""
    image = tensor(x)
    wide = Tensor(numbers(shape), image.dtype, image.constant)
    if broadcast(image, wide).shape != wide.shape:
        refuse(f"expected a shape that {image} broadcasts to, found {wide}")
    return wide


def softmax(axis: Data, x: Data) -> Tensor:
    """Shares that add up to 1 along an axis."""
    axis_of(axis, len(tensor(x).shape))
    return tensor(x)


def layer_norm(epsilon: Data, x: Data, scale: Data, bias: Data) -> Tensor:
    """Mean 0 and variance 1 along the last axis, then scaled and moved."""
    image, one, other = tensor(x), tensor(scale, 1), tensor(bias, 1)
    number(epsilon)
    fits = one.shape == other.shape == image.shape[-1:] and one.dtype == other.dtype == image.dtype
    if not fits:
        refuse(f"expected scale and bias of the last extent of {image}, found {one} and {other}")
    return Tensor(image.shape, image.dtype, constant(image, one, other))


def reduction(axes: Data, keep: Data, x: Data) -> Tensor:
    """Sum, mean or largest along axes, which stay with extent 1 or vanish."""
    image = tensor(x)
    along, stays = numbers(axes), whole(keep)
    if len(set(along)) != len(along) or any(one >= len(image.shape) for one in along) or not along:
        refuse(f"expected different axes of {image}, found {shape_text(along)}")
    shape = tuple(
        1 if place in along else extent
        for place, extent in enumerate(image.shape)
        if place not in along or stays
    )
    return Tensor(shape, image.dtype, image.constant)


def gather(axis: Data, table: Data, indices: Data) -> Tensor:
    """Slices of a table along an axis, chosen by indices."""
    rows, chosen = tensor(table), tensor(indices)
    along = axis_of(axis, len(rows.shape))
    if not chosen.dtype.startswith("int"):
        refuse(f"expected indices of integers, found {chosen.dtype}")
    shape = (*rows.shape[:along], *chosen.shape, *rows.shape[along + 1 :])
    return Tensor(shape, rows.dtype, constant(rows, chosen))


def strided(axis: Data, start: Data, stop: Data, step: Data, x: Data) -> Tensor:
    """Every ``step``-th from ``start`` to before ``stop`` along an axis."""
    image = tensor(x)
    along, first, last, by = (
        axis_of(axis, len(image.shape)),
        whole(start),
        whole(stop),
        whole(step, 1),
    )
    if not first < last <= image.shape[along]:
        refuse(f"expected a range inside of {image.shape[along]}, found {first} to {last}")
    extent = -(-(last - first) // by)
    shape = (*image.shape[:along], extent, *image.shape[along + 1 :])
    return Tensor(shape, image.dtype, image.constant)


def pad(value: Data, pads: Data, x: Data) -> Tensor:
    """Elements of one value before and after every axis: first all before, then all after."""
    image = tensor(x)
    number(value)
    rank = len(image.shape)
    all_ = numbers(pads, 2 * rank)
    shape = tuple(all_[i] + extent + all_[rank + i] for i, extent in enumerate(image.shape))
    return Tensor(shape, image.dtype, image.constant)


def cast(dtype: Data, x: Data) -> Tensor:
    """Elements of another type."""
    return Tensor(tensor(x).shape, expect_dtype(word(dtype)), tensor(x).constant)


def _windows(
    stride_h: Data,
    stride_w: Data,
    padding: Data,
    size: tuple[int, int],
    kernel: tuple[int, int],
) -> tuple[int, int]:
    """Return how many windows there are below and beside each other."""
    steps = whole(stride_h, 1), whole(stride_w, 1)
    top, left, bottom, right = pads_of(padding, size, kernel, steps)
    rows = size[0] + top + bottom - kernel[0]
    columns = size[1] + left + right - kernel[1]
    if rows < 0 or columns < 0:
        refuse(f"expected an image at least as large as the window {kernel}, found {size}")
    return rows // steps[0] + 1, columns // steps[1] + 1
