"""Products as operations: with a single row and a known matrix, by blocks of its columns.

A product of one row reads its matrix once, so memory is its limit. With b columns lying together,
(columns / b, rows, b), vectors read one line after the other. A convolution of one place, such as
the gate of channels in a network of images, is such a product.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from polygym.graphs.execution.ir.views import (
    ArrayOperations,
    ArrayView,
    reshape_view,
    slice_axis,
    whole_array,
)
from polygym.graphs.operators.types import TensorType

_BLOCK_WIDTHS = (64, 32, 16)
"""Columns of a known matrix that lie together, for a product with a single row."""

_MAX_PADDING = 0.125
"""Largest share of columns of zeros that are added to fill the last block."""


def lower_product(
    operations: ArrayOperations, activation: str, operands: Sequence[ArrayView], tensor: TensorType
) -> ArrayView:
    """Return x · y, or x · y + bias, activated."""
    x, y = (operations.with_rows(part) for part in operands[:2])
    is_known = y.source in operations.constants and y.is_whole_array
    if prod(x.shape[:-1]) == 1 and is_known and len(y.shape) == 2:
        return _row_product(operations, activation, (x, y, *operands[2:]), tensor)
    made = operations.append("matmul", (), (x, y), tensor.shape, tensor.dtype)
    for added in operands[2:]:
        made = add_bias(operations, made, added, added.shape)
    return operations.activated(activation, made)


def add_bias(
    operations: ArrayOperations, x: ArrayView, bias: ArrayView, shape: tuple[int, ...]
) -> ArrayView:
    """Return a product with a bias added, as the operator after it would."""
    added = _reshaped(operations, bias, shape)
    return operations.append("add", (), (x, added), x.shape, x.dtype)


def _reshaped(operations: ArrayOperations, x: ArrayView, shape: tuple[int, ...]) -> ArrayView:
    result = reshape_view(x, shape) or reshape_view(operations.contiguous(x), shape)
    assert result is not None
    return result


def is_single_place(operations: ArrayOperations, image: ArrayView, w: ArrayView) -> bool:
    """Whether all of a single image is the one place of a known kernel, in one group."""
    return image.shape == (1, *w.shape[1:]) and w.source in operations.constants


def lower_single_place(
    operations: ArrayOperations, activation: str, operands: Sequence[ArrayView], tensor: TensorType
) -> ArrayView:
    """Return a convolution of one place: the image as a row times the kernel, transposed."""
    image, w, *bias = operands
    filters, terms = w.shape[0], prod(w.shape[1:])
    key = ("columns", w)
    if key not in operations.memo:
        known = w.as_array(operations.constants[w.source].reshape(-1))
        columns = operations.constant(known.reshape(filters, terms).T)
        operations.memo[key] = whole_array(columns)
    row = _reshaped(operations, image, (1, terms))
    added = (_reshaped(operations, part, (1, filters, 1, 1)) for part in bias)
    parts = (row, operations.memo[key], *added)
    return _row_product(operations, activation, parts, tensor)


def _row_product(
    operations: ArrayOperations, activation: str, operands: Sequence[ArrayView], tensor: TensorType
) -> ArrayView:
    """Return the product of a single row and a known matrix in blocks of columns, activated.

    Of the axes of the result after the columns, each has extent 1.
    """
    row, y, *bias = operands
    blocks = _column_blocks(operations, y)
    columns, whole, axis = y.shape[1], blocks.shape[0] * blocks.shape[2], len(row.shape) - 1
    shape = (*tensor.shape[:axis], whole, *tensor.shape[axis + 1 :])
    made = operations.append("matmul-row", (), (row, blocks), shape, tensor.dtype)
    for added in bias:
        filled = _filled(operations, added, axis - len(shape), whole)
        made = operations.append("add", (), (made, filled), shape, tensor.dtype)
    return slice_axis(operations.activated(activation, made), axis, 0, columns)


def _filled(operations: ArrayOperations, x: ArrayView, axis: int, extent: int) -> ArrayView:
    """Return an operand with zeros at the end of an axis, counted from the last."""
    if x.shape[axis] in (1, extent):
        return x
    pads = [0] * len(x.shape)
    pads[axis] = extent - x.shape[axis]
    known = operations.constants.get(x.source)
    if known is None:
        return operations.padded(x, 0.0, (*[0] * len(pads), *pads))
    key = ("filled", x, axis, extent)
    if key not in operations.memo:
        array = np.pad(x.as_array(known.reshape(-1)), [(0, count) for count in pads])
        operations.memo[key] = whole_array(operations.constant(array))
    return operations.memo[key]


def _column_blocks(operations: ArrayOperations, y: ArrayView) -> ArrayView:
    """Return a known matrix in blocks; the last one ends with zeros where columns do not fill it.

    They are as wide as a whole number of vectors, or there is no such width: then 1.
    """
    rows, columns = y.shape
    key = ("blocks", y)
    if key not in operations.memo:
        known = y.as_array(operations.constants[y.source].reshape(-1))
        width = _block_width(columns)
        count = -(-columns // width)
        padded = np.zeros((rows, count * width), known.dtype)
        padded[:, :columns] = known
        blocks = padded.reshape(rows, count, width).transpose(1, 0, 2)
        operations.memo[key] = whole_array(operations.constant(blocks))
    return operations.memo[key]


def _block_width(columns: int) -> int:
    """Return the width of blocks: the widest that divides, or else that adds few zeros.

    >>> _block_width(96), _block_width(1000), _block_width(10)
    (32, 64, 1)
    """
    dividing = (width for width in _BLOCK_WIDTHS if columns % width == 0)
    filling = (width for width in _BLOCK_WIDTHS if -columns % width <= _MAX_PADDING * columns)
    return next(dividing, next(filling, 1))
