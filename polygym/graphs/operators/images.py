"""Convolutions and pools of images, and operators that change their kernels."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from polygym.graphs.operators import shape_functions as shapes
from polygym.graphs.operators.definition import Array, GraphOperator, OnnxWriter
from polygym.graphs.operators.elementwise import activate, torch_activation, write_activation
from polygym.graphs.operators.types import NumberData, TensorType, TextData, pads_of
from polygym.rewrite.term import Head, Term


def _pads(
    padding: Head, image: Sequence[int], kernel: Sequence[int], stride: Sequence[int]
) -> tuple[int, int, int, int]:
    """Return the pads of an image (n, c, h, w): above, left, below, right."""
    literal = TextData(padding) if isinstance(padding, str) else NumberData(padding)
    size = (image[2], image[3])
    return pads_of(literal, size, (kernel[0], kernel[1]), (stride[0], stride[1]))


def _windows(
    x: Array, kernel: Sequence[int], stride: Sequence[int], padding: Head, fill: Any
) -> Array:
    """Return the windows of an image, (n, c, h, w, kernel_h, kernel_w), and a value around it."""
    top, left, bottom, right = _pads(padding, x.shape, kernel, stride)
    if top or left or bottom or right:
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    views = np.lib.stride_tricks.sliding_window_view(x, tuple(kernel), axis=(2, 3))
    return views[:, :, :: stride[0], :: stride[1]]


def _conv(
    stride_h: int, stride_w: int, padding: Head, activation: str, x: Array, w: Array, *bias: Array
) -> Array:
    filters, inner, *kernel = w.shape
    groups = x.shape[1] // inner
    windows = _windows(x, kernel, (stride_h, stride_w), padding, 0)
    count, _, rows, columns, *_ = windows.shape
    # One product of matrices a group: the windows' elements by the filters'.
    left = windows.reshape(count, groups, inner, rows, columns, -1)
    left = left.transpose(1, 0, 3, 4, 2, 5).reshape(groups, count * rows * columns, -1)
    right = w.reshape(groups, filters // groups, -1).transpose(0, 2, 1)
    made = np.matmul(left, right).reshape(groups, count, rows, columns, filters // groups)
    made = made.transpose(1, 0, 4, 2, 3).reshape(count, filters, rows, columns)
    return activate(activation, sum((added.reshape(-1, 1, 1) for added in bias), made))


def _conv_in_torch(
    torch: Any,
    stride_h: int,
    stride_w: int,
    padding: Head,
    activation: str,
    image: TensorType,
    kernel: TensorType,
    *_: TensorType,
) -> Callable[..., Any]:
    functional, stride = torch.nn.functional, (stride_h, stride_w)
    activated = torch_activation(torch, activation)
    groups = image.shape[1] // kernel.shape[1]
    top, left, bottom, right = _pads(padding, image.shape, kernel.shape[2:], stride)
    if (top, left) == (bottom, right):
        return lambda x, *operands: activated(
            functional.conv2d(x, *operands, stride=stride, padding=(top, left), groups=groups)
        )
    pads = [left, right, top, bottom]
    return lambda x, *operands: activated(
        functional.conv2d(functional.pad(x, pads), *operands, stride=stride, groups=groups)
    )


def _write_conv(
    writer: OnnxWriter,
    stride_h: Term,
    stride_w: Term,
    padding: Term,
    activation: Term,
    x: Term,
    w: Term,
    *bias: Term,
) -> str:
    stride = [int(step.head) for step in (stride_h, stride_w)]
    image, kernel = writer.tensor(x).shape, writer.tensor(w).shape
    result = writer.operator(
        "Conv",
        *map(writer.name, (x, w, *bias)),
        kernel_shape=kernel[2:],
        strides=stride,
        pads=list(_pads(padding.head, image, kernel[2:], stride)),
        group=image[1] // kernel[1],
    )
    return write_activation(writer, result, activation)


def _pool_max(x: Array, *literals: Any) -> Array:
    kernel, stride, (padding, activation) = literals[:2], literals[2:4], literals[4:]
    # Every window has an element of the image, so the smallest element around it is neutral.
    least = -np.inf if np.issubdtype(x.dtype, np.floating) else x.min()  # of NaN there is none
    views = _windows(x, kernel, stride, padding, least)
    return activate(activation, np.asarray(views.max(axis=(4, 5))))


def _pool_average(x: Array, *literals: Any) -> Array:
    kernel, stride, (padding, activation) = literals[:2], literals[2:4], literals[4:]
    total = _windows(x, kernel, stride, padding, 0).sum(axis=(4, 5))
    ones = np.ones((1, 1, *x.shape[2:]), dtype=np.int64)
    counts = _windows(ones, kernel, stride, padding, 0).sum(axis=(4, 5))
    counts = counts.astype(x.dtype if x.dtype == object else np.result_type(x, np.float32))
    return activate(activation, np.asarray(total / counts))


def _pool_max_in_torch(torch: Any, image: TensorType, *literals: Any) -> Callable[..., Any]:
    functional, kernel, stride = torch.nn.functional, literals[:2], literals[2:4]
    activated = torch_activation(torch, literals[5])
    top, left, bottom, right = _pads(literals[4], image.shape, kernel, stride)
    pads = [left, right, top, bottom]
    return lambda x: activated(
        functional.max_pool2d(functional.pad(x, pads, value=-torch.inf), kernel, stride)
    )


def _pool_average_in_torch(torch: Any, image: TensorType, *literals: Any) -> Callable[..., Any]:
    functional, kernel, stride = torch.nn.functional, literals[:2], literals[2:4]
    activated = torch_activation(torch, literals[5])
    top, left, bottom, right = _pads(literals[4], image.shape, kernel, stride)
    pads = [left, right, top, bottom]
    if not any(pads):
        return lambda x: activated(functional.avg_pool2d(x, kernel, stride))
    inside = functional.pad(torch.ones(1, 1, *image.shape[2:]), pads)
    shares = functional.avg_pool2d(inside, kernel, stride)
    return lambda x: activated(
        functional.avg_pool2d(functional.pad(x, pads), kernel, stride) / shares
    )


def _pool(name: str, doc: str, kind: str, **facts: Any) -> GraphOperator:
    """Define a pool, a function of the windows of an image."""

    def write(writer: OnnxWriter, x: Term, *literals: Term) -> str:
        kernel_h, kernel_w, *stride = (int(number.head) for number in literals[:4])
        kernel = [kernel_h, kernel_w]
        pads = _pads(literals[4].head, writer.tensor(x).shape, kernel, stride)
        result = writer.operator(
            kind, writer.name(x), kernel_shape=kernel, strides=stride, pads=list(pads)
        )
        return write_activation(writer, result, literals[5])

    return GraphOperator(
        name,
        "x:T kernel_h:N kernel_w:N stride_h:N stride_w:N padding:S activation:S",
        doc,
        infer=shapes.pooling,
        onnx=write,
        operations=lambda result, _, height, width, *__: (
            result.elements * height.value * width.value
        ),
        onnx_needs_floating=True,
        **facts,
    )


def _enlarge(w: Array, reference: Array) -> Array:
    rows, columns = _sides(w.shape, reference.shape)
    return np.pad(w, ((0, 0), (0, 0), (rows, rows), (columns, columns)))


def _sides(small: Sequence[int], large: Sequence[int]) -> tuple[int, int]:
    """Return the zeros on each side of a kernel that is enlarged: rows, columns."""
    return (large[2] - small[2]) // 2, (large[3] - small[3]) // 2


def _enlarge_in_torch(torch: Any, small: TensorType, large: TensorType) -> Callable[..., Any]:
    rows, columns = _sides(small.shape, large.shape)
    return lambda w, _: torch.nn.functional.pad(w, [columns, columns, rows, rows])


def _write_enlarge(writer: OnnxWriter, w: Term, reference: Term) -> str:
    sides = _sides(writer.tensor(w).shape, writer.tensor(reference).shape)
    pads = writer.constant([0, 0, *sides, 0, 0, *sides], "int64")
    return writer.operator("Pad", writer.name(w), pads)


def _merge(w: Array, count: int, groups: int) -> Array:
    filters, inner, *extents = w.shape
    made = np.zeros((filters, inner * count, *extents), w.dtype)
    each = filters // groups
    for group in range(groups):
        rows, first = slice(group * each, (group + 1) * each), group % count * inner
        made[rows, first : first + inner] = w[rows]
    return made


def _merge_in_torch(torch: Any, kernel: TensorType, count: int, groups: int) -> Callable[..., Any]:
    size, inner = kernel.shape[0] // groups, kernel.shape[1]

    def merged(w: Any) -> Any:
        rows = []
        for group in range(groups):
            part = w[group * size : (group + 1) * size]
            before, after = group % count, count - 1 - group % count
            pads = [0, 0, 0, 0, before * inner, after * inner]
            rows.append(torch.nn.functional.pad(part, pads))
        return torch.cat(rows, 0)

    return merged


def _write_merge(writer: OnnxWriter, w: Term, times: Term, parts: Term) -> str:
    """Repeat the kernel's channels, and keep those of each filter's own group.

    Of ``count`` groups made one, the filters of the g-th have their channels at the g-th place.
    """
    count, groups = int(times.head), int(parts.head)
    filters, inner = writer.tensor(w).shape[:2]
    place = np.arange(filters) // (filters // groups) % count
    mask = np.repeat(place[:, None] == np.arange(count), inner, axis=1)
    repeated = writer.operator("Concat", *[writer.name(w)] * count, axis=1)
    kept = writer.constant(mask[:, :, None, None], "bool")
    zero = writer.constant(0, writer.tensor(w).dtype)
    return writer.operator("Where", kept, repeated, zero)


OPERATORS = (
    GraphOperator(
        "conv",
        "stride_h:N stride_w:N padding:S activation:S x:T w:T",
        "convolution in groups, a bias for every channel, then the activation",
        infer=shapes.convolution,
        reference=_conv,
        torch=_conv_in_torch,
        onnx=_write_conv,
        operations=lambda result, *children: 2 * result.elements * prod(children[5].shape[1:]),
        onnx_needs_floating=True,
        optional="bias:T",
    ),
    _pool(
        "poolmax",
        "largest of every window",
        "MaxPool",
        reference=_pool_max,
        torch=_pool_max_in_torch,
    ),
    _pool(
        "poolavg",
        "mean of every window, without padding",
        "AveragePool",
        reference=_pool_average,
        torch=_pool_average_in_torch,
        needs_floating=True,
        is_inexact=True,
    ),
    GraphOperator(
        "enlarge",
        "w:T reference:T",
        "zeros around a kernel",
        infer=shapes.enlarge,
        reference=_enlarge,
        torch=_enlarge_in_torch,
        onnx=_write_enlarge,
        moved=lambda written, w, _: w.bytes + written,
    ),
    GraphOperator(
        "merge",
        "w:T count:N groups:N",
        "kernel with every `count` groups made one",
        infer=shapes.merge,
        reference=_merge,
        torch=_merge_in_torch,
        onnx=_write_merge,
    ),
)
