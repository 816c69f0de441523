"""Shape functions: the type of a node, from the types of its children.

The definitions of operators share them. An invalid node is refused by an
:class:`~polygym.rewrite.domain.Inadmissible` with a sentence;
:mod:`polygym.graphs.operators.registry` puts the operator's name before it.
"""

from polygym.graphs.operators.types import (
    HALF_TYPES,
    Data,
    TensorBundle,
    TensorPair,
    TensorType,
    all_constant,
    check_activation,
    expect_any_tensor,
    expect_axis,
    expect_dtype,
    expect_integer,
    expect_number,
    expect_numbers,
    expect_pair,
    expect_tensor,
    expect_text,
    pads_of,
    parse_numbers,
    reject_node,
    shape_text,
)


def named_tensor(identifier: str, is_constant: bool) -> TensorType:
    """Return the tensor of ``name@64-1024`` or ``name@8:int64``.

    >>> named_tensor("ids@1-128:int64", False)
    TensorType(shape=(1, 128), dtype='int64', constant=False)
    """
    name, at, rest = identifier.rpartition("@")
    shape, _, dtype = rest.partition(":")
    try:
        extents = parse_numbers(shape)
    except ValueError:
        extents = (-1,)
    if not at or not name or min(extents, default=1) < 1:
        reject_node(f"expected a name and a shape such as x@64-1024, found {identifier!r}")
    return TensorType(extents, expect_dtype(dtype or "float32"), is_constant)


def graph_input(identifier: Data) -> TensorType:
    """``(input x@64-1024)``: an argument of the model."""
    return named_tensor(expect_text(identifier), False)


def weight(identifier: Data) -> TensorType:
    """``(weight w@64-1024)``: a constant of the model."""
    return expect_tensor(named_tensor(expect_text(identifier), True))


def noop(left: Data, right: Data) -> TensorBundle:
    """``(noop a b)``: the results of a graph as one node."""
    parts: list[TensorType] = []
    for part in (left, right):
        parts.extend(part.parts if isinstance(part, TensorBundle) else (expect_any_tensor(part),))
    return TensorBundle(tuple(parts))


def unary(x: Data) -> TensorType:
    """An operation on every element; the shape stays."""
    return expect_tensor(x)


def unary_with_number(_: Data, x: Data) -> TensorType:
    """The same with a number."""
    expect_number(_)
    return expect_tensor(x)


def clip(low: Data, high: Data, x: Data) -> TensorType:
    """Elements between two bounds."""
    if expect_number(low) > expect_number(high):
        reject_node(
            f"expected a lower bound below the upper, found {expect_number(low)} and "
            f"{expect_number(high)}"
        )
    return expect_tensor(x)


def equal_shapes(x: Data, y: Data) -> TensorType:
    """An operation on pairs of elements of tensors of one shape."""
    tensor_type, other = expect_tensor(x), expect_tensor(y)
    if tensor_type.shape != other.shape or tensor_type.dtype != other.dtype:
        reject_node(f"expected equal shapes, found {tensor_type} and {other}")
    return TensorType(tensor_type.shape, tensor_type.dtype, tensor_type.constant and other.constant)


def broadcast(x: Data, y: Data) -> TensorType:
    """The same where an extent of 1, or none, stands for any, as NumPy has it."""
    tensor_type, other = expect_tensor(x), expect_tensor(y)
    if tensor_type.dtype != other.dtype:
        reject_node(f"expected equal types, found {tensor_type.dtype} and {other.dtype}")
    rank = max(len(tensor_type.shape), len(other.shape))
    left, right = ((1,) * (rank - len(part.shape)) + part.shape for part in (tensor_type, other))
    for a, b in zip(left, right, strict=True):
        if a != b and 1 not in (a, b):
            reject_node(f"expected shapes that broadcast, found {tensor_type} and {other}")
    shape = tuple(max(a, b) for a, b in zip(left, right, strict=True))
    return TensorType(shape, tensor_type.dtype, tensor_type.constant and other.constant)


def integer_pair(x: Data, y: Data) -> TensorType:
    """The same for integers."""
    tensor = broadcast(x, y)
    return tensor if tensor.is_integer else reject_node(f"expected integers, found {tensor}")


def select(c: Data, x: Data, y: Data) -> TensorType:
    """One of two elements by a third, all broadcast to each other."""
    return broadcast(c, broadcast(x, y))


def _with_bias(tensor: TensorType, extent: int, bias: Data | None) -> TensorType:
    """A product or convolution to whose columns or channels a bias is added, if there is one."""
    if bias is None:
        return tensor
    added = expect_tensor(bias)
    if added.shape != (extent,) or added.dtype != tensor.dtype:
        reject_node(f"expected a bias of {extent} elements of {tensor.dtype}, found {added}")
    return TensorType(tensor.shape, tensor.dtype, tensor.constant and added.constant)


def matmul(activation: Data, x: Data, y: Data, bias: Data | None = None) -> TensorType:
    """Products of matrices; leading extents are equal, or the second has none."""
    tensor, other = expect_tensor(x), expect_tensor(y)
    check_activation(activation, tensor)
    if len(tensor.shape) < 2 or len(other.shape) < 2:
        reject_node(f"expected two matrices, found {tensor} and {other}")
    *batch, rows, inner = tensor.shape
    *own, again, columns = other.shape
    if inner != again or (own and own != batch) or tensor.dtype != other.dtype:
        reject_node(f"expected matrices that can be multiplied, found {tensor} and {other}")
    made = TensorType((*batch, rows, columns), tensor.dtype, tensor.constant and other.constant)
    return _with_bias(made, columns, bias)


def convolution(
    stride_h: Data,
    stride_w: Data,
    padding: Data,
    activation: Data,
    x: Data,
    w: Data,
    bias: Data | None = None,
) -> TensorType:
    """Convolution of an image (n, c, h, w) by (f, c / groups, kh, kw)."""
    image, kernel = expect_tensor(x, 4), expect_tensor(w, 4)
    check_activation(activation, image)
    count, channels, height, width = image.shape
    filters, inner, kernel_h, kernel_w = kernel.shape
    if channels % inner or filters % (channels // inner) or image.dtype != kernel.dtype:
        reject_node(f"expected channels in groups that fit, found {image} and {kernel}")
    sizes = _windows(stride_h, stride_w, padding, (height, width), (kernel_h, kernel_w))
    made = TensorType((count, filters, *sizes), image.dtype, image.constant and kernel.constant)
    return _with_bias(made, filters, bias)


def pooling(
    x: Data,
    kernel_h: Data,
    kernel_w: Data,
    stride_h: Data,
    stride_w: Data,
    padding: Data,
    activation: Data,
) -> TensorType:
    """The largest, or the mean, of every window; zeros around it are not counted."""
    image = expect_tensor(x, 4)
    check_activation(activation, image)
    count, channels, height, width = image.shape
    kernel = expect_integer(kernel_h, 1), expect_integer(kernel_w, 1)
    pads = pads_of(
        padding, (height, width), kernel, (expect_integer(stride_h, 1), expect_integer(stride_w, 1))
    )
    if max(pads[0], pads[2]) >= kernel[0] or max(pads[1], pads[3]) >= kernel[1]:
        reject_node(f"expected pads smaller than the window, found {shape_text(pads)}")
    sizes = _windows(stride_h, stride_w, padding, (height, width), kernel)
    return TensorType((count, channels, *sizes), image.dtype, image.constant)


def transpose(x: Data, permutation: Data) -> TensorType:
    """Axis i of the result is axis permutation[i]."""
    image = expect_tensor(x)
    order = expect_numbers(permutation)
    if sorted(order) != list(range(len(image.shape))):
        reject_node(f"expected a permutation of {len(image.shape)} axes, found {shape_text(order)}")
    return TensorType(tuple(image.shape[axis] for axis in order), image.dtype, image.constant)


def enlarge(w: Data, reference: Data) -> TensorType:
    """A kernel with zeros all around it, as large as another one."""
    kernel, large = expect_tensor(w, 4), expect_tensor(reference, 4)
    extents = kernel.shape[2:], large.shape[2:]
    for small, wide in zip(*extents, strict=True):
        if small > wide or (wide - small) % 2:
            reject_node(f"expected a kernel that fits into the middle of another, found {extents}")
    return TensorType((*kernel.shape[:2], *extents[1]), kernel.dtype, kernel.constant)


def concat(axis: Data, *parts: Data) -> TensorType:
    """Tensors one after the other along an axis."""
    all_ = [expect_tensor(part) for part in parts]
    first = all_[0]
    along = expect_axis(axis, len(first.shape))
    for tensor_type in all_[1:]:
        same = len(tensor_type.shape) == len(first.shape) and all(
            a == b or place == along
            for place, (a, b) in enumerate(zip(tensor_type.shape, first.shape, strict=True))
        )
        if not same or tensor_type.dtype != first.dtype:
            reject_node(
                f"expected shapes that differ along axis {along} alone: {first} and {tensor_type}"
            )
    total = sum(part.shape[along] for part in all_)
    shape = (*first.shape[:along], total, *first.shape[along + 1 :])
    return TensorType(shape, first.dtype, all_constant(*all_))


def split(axis: Data, at: Data, x: Data) -> TensorPair:
    """The first ``at`` along an axis, and the others."""
    whole = expect_tensor(x)
    along, size = expect_axis(axis, len(whole.shape)), expect_integer(at, 1)
    rest = whole.shape[along] - size
    if rest < 1:
        reject_node(f"expected to split {whole.shape[along]} below its end, found {size}")
    first, second = (
        TensorType(
            (*whole.shape[:along], extent, *whole.shape[along + 1 :]), whole.dtype, whole.constant
        )
        for extent in (size, rest)
    )
    return TensorPair(first, second)


def first_part(x: Data) -> TensorType:
    """The first part of a split."""
    return expect_pair(x).first


def second_part(x: Data) -> TensorType:
    """The second part of a split."""
    return expect_pair(x).second


def merge(w: Data, count: Data, groups: Data) -> TensorType:
    """The kernel of a convolution in groups, ``count`` groups made one, zeros between them."""
    kernel, many, parts = expect_tensor(w, 4), expect_integer(count, 1), expect_integer(groups, 1)
    filters, inner, *extents = kernel.shape
    if parts % many or filters % parts:
        reject_node(
            f"expected groups that can be merged by {many}, found {parts} of {filters} filters"
        )
    return TensorType((filters, inner * many, *extents), kernel.dtype, kernel.constant)


def reshape(x: Data, shape: Data) -> TensorType:
    """The same elements in the same order under another shape."""
    image = expect_tensor(x)
    tensor_type = TensorType(expect_numbers(shape), image.dtype, image.constant)
    if tensor_type.elements != image.elements:
        reject_node(f"expected a shape of {image.elements} elements, found {tensor_type}")
    return tensor_type


def expand(x: Data, shape: Data) -> TensorType:
    """The same elements again and again along axes of extent 1."""
    image = expect_tensor(x)
    wide = TensorType(expect_numbers(shape), image.dtype, image.constant)
    if broadcast(image, wide).shape != wide.shape:
        reject_node(f"expected a shape that {image} broadcasts to, found {wide}")
    return wide


def softmax(axis: Data, x: Data) -> TensorType:
    """Shares that add up to 1 along an axis."""
    expect_axis(axis, len(expect_tensor(x).shape))
    return expect_tensor(x)


def layer_norm(epsilon: Data, x: Data, scale: Data, bias: Data) -> TensorType:
    """Mean 0 and variance 1 along the last axis, then scaled and moved."""
    image, tensor, other = expect_tensor(x), expect_tensor(scale, 1), expect_tensor(bias, 1)
    expect_number(epsilon)
    fits = (
        tensor.shape == other.shape == image.shape[-1:]
        and tensor.dtype == other.dtype == image.dtype
    )
    if not fits:
        reject_node(
            f"expected scale and bias of the last extent of {image}, found {tensor} and {other}"
        )
    return TensorType(image.shape, image.dtype, all_constant(image, tensor, other))


def reduction(axes: Data, keep: Data, x: Data) -> TensorType:
    """Sum, mean or largest along axes, which stay with extent 1 or vanish."""
    image = expect_tensor(x)
    along, stays = expect_numbers(axes), expect_integer(keep)
    if (
        len(set(along)) != len(along)
        or any(axis >= len(image.shape) for axis in along)
        or not along
    ):
        reject_node(f"expected different axes of {image}, found {shape_text(along)}")
    shape = tuple(
        1 if place in along else extent
        for place, extent in enumerate(image.shape)
        if place not in along or stays
    )
    return TensorType(shape, image.dtype, image.constant)


def gather(axis: Data, table: Data, indices: Data) -> TensorType:
    """Slices of a table along an axis, chosen by indices."""
    rows, chosen = expect_tensor(table), expect_tensor(indices)
    along = expect_axis(axis, len(rows.shape))
    if not chosen.dtype.startswith("int"):
        reject_node(f"expected indices of integers, found {chosen.dtype}")
    shape = (*rows.shape[:along], *chosen.shape, *rows.shape[along + 1 :])
    return TensorType(shape, rows.dtype, all_constant(rows, chosen))


def strided_slice(axis: Data, start: Data, stop: Data, step: Data, x: Data) -> TensorType:
    """Every ``step``-th from ``start`` to before ``stop`` along an axis."""
    image = expect_tensor(x)
    along, first, last, by = (
        expect_axis(axis, len(image.shape)),
        expect_integer(start),
        expect_integer(stop),
        expect_integer(step, 1),
    )
    if not first < last <= image.shape[along]:
        reject_node(f"expected a range inside of {image.shape[along]}, found {first} to {last}")
    extent = -(-(last - first) // by)
    shape = (*image.shape[:along], extent, *image.shape[along + 1 :])
    return TensorType(shape, image.dtype, image.constant)


def pad(value: Data, pads: Data, x: Data) -> TensorType:
    """Elements of one value before and after every axis: first all before, then all after."""
    image = expect_tensor(x)
    expect_number(value)
    rank = len(image.shape)
    all_ = expect_numbers(pads, 2 * rank)
    shape = tuple(all_[i] + extent + all_[rank + i] for i, extent in enumerate(image.shape))
    return TensorType(shape, image.dtype, image.constant)


def cast(dtype: Data, x: Data) -> TensorType:
    """Elements of another type."""
    tensor = expect_any_tensor(x)
    return TensorType(tensor.shape, expect_dtype(expect_text(dtype)), tensor.constant)


def rounding(dtype: Data, x: Data) -> TensorType:
    """Elements of the same type, rounded to one of half precision."""
    if expect_text(dtype) not in HALF_TYPES:
        reject_node(f"expected one of {', '.join(HALF_TYPES)}, found {dtype}")
    return expect_tensor(x)


def _windows(
    stride_h: Data, stride_w: Data, padding: Data, size: tuple[int, int], kernel: tuple[int, int]
) -> tuple[int, int]:
    """Return how many windows there are below and beside each other."""
    steps = expect_integer(stride_h, 1), expect_integer(stride_w, 1)
    top, left, bottom, right = pads_of(padding, size, kernel, steps)
    rows = size[0] + top + bottom - kernel[0]
    columns = size[1] + left + right - kernel[1]
    if rows < 0 or columns < 0:
        reject_node(f"expected an image at least as large as the window {kernel}, found {size}")
    return rows // steps[0] + 1, columns // steps[1] + 1
