"""Discrete Fourier transforms, from ONNX, as products by matrices of cosines and sines.

X[k] is the sum of x[n] (cos(2πkn/N) - i sin(2πkn/N)). Real and imaginary parts are the last axis,
so a transform is a product of rows (n, 2) by a known matrix (n · 2, k · 2).
"""

from math import prod

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.elementwise import converted
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term


def _transform_matrix(
    extent: int, length: int, results: int, is_inverse: bool, parts: int
) -> Array:
    """Return (extent · parts, results · 2); what is beyond the extent is 0."""
    angles = 2 * np.pi * np.outer(np.arange(extent), np.arange(results)) / length
    cosine, sine = np.cos(angles), np.sin(angles) * (1 if is_inverse else -1)
    rows = [np.stack([cosine, sine], -1)]
    if parts == 2:
        rows.append(np.stack([-sine, cosine], -1))
    matrix = np.stack(rows, 1).reshape(extent * parts, results * 2)
    return matrix / length if is_inverse else matrix


def _with_extent(node: OnnxNode, x: Term, axis: int, length: int) -> Term:
    """Cut or fill an axis by zeros."""
    shape = node.builder.shape(x)
    if length < shape[axis]:
        return node.make("slice", axis, 0, length, 1, x)
    pads = [0] * (2 * len(shape))
    pads[len(shape) + axis] = length - shape[axis]
    return node.make("pad", 0, shape_text(tuple(pads)), x) if any(pads) else x


def _number(node: OnnxNode, place: int, name: str) -> int:
    numbers = node.integers(place, name)
    if len(numbers) != 1:
        node.reject(f"expected one number for {name}, found {list(numbers)}")
    return numbers[0]


def _inverse_to_real(length: int, results: int) -> Array:
    """Return the matrix from half of a spectrum, whose other half mirrors it, to real numbers."""
    whole = _transform_matrix(length, length, length, True, 2).reshape(length, 2, length, 2)
    half = whole[:results, :, :, 0].copy()
    for k in range(1, length - results + 1):
        half[k, 0] += whole[length - k, 0, :, 0]
        half[k, 1] -= whole[length - k, 1, :, 0]
    return half.reshape(results * 2, length)


def _product(node: OnnxNode, rows: Term, matrix: Array) -> Term:
    """Return a product that is computed in double precision: sums of it cancel."""
    made = node.make("matmul", "none", converted(node, rows, "float64"), node.weight(matrix, "dft"))
    return converted(node, made, node.builder.tensor(rows).dtype)


def _dft(node: OnnxNode) -> Term:
    x, builder = node.term(0), node.builder
    rank, parts = len(node.shape(0)), node.shape(0)[-1] if node.shape(0) else 0
    if node.opset >= 20:
        axis = _number(node, 2, "the axis") if node.has(2) else -2
    else:
        axis = node.attribute("axis", 1)
    axis = node.axis(axis, rank)
    if rank < 2 or parts not in (1, 2) or axis == rank - 1:
        node.reject(f"expected real or complex numbers, found the shape {list(node.shape(0))}")
    is_inverse, half = bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))
    known = _number(node, 1, "the length") if node.has(1) else 0
    is_real = is_inverse and half
    length = known or (2 * (node.shape(0)[axis] - 1) if is_real else node.shape(0)[axis])
    if length < 1:
        node.reject(f"expected a length from 1 on, found {length}")
    extent = length // 2 + 1 if is_real else length
    results = length // 2 + 1 if half and not is_inverse else length
    node.expect_small(2 * extent, 2 * results)
    matrix = (
        _inverse_to_real(length, extent)
        if is_real and parts == 2
        else _transform_matrix(extent, length, results, is_inverse, parts)
    )
    x = _with_extent(node, x, axis, extent)
    order = (*(place for place in range(rank - 1) if place != axis), axis, rank - 1)
    x = builder.transposed(x, order)
    outer = builder.shape(x)[:-2]
    rows = builder.reshaped(x, (prod(outer), extent * parts))
    made = _product(node, rows, matrix)
    made = builder.reshaped(made, (*outer, results, 1 if is_real and parts == 2 else 2))
    return builder.transposed(made, tuple(order.index(place) for place in range(rank)))


def _stft(node: OnnxNode) -> Term:
    """Transform windows of a signal, a step apart, each times a window of factors."""
    x, builder, step = node.term(0), node.builder, _number(node, 1, "the step")
    shape = builder.shape(x)
    if len(shape) == 2:
        x, shape = builder.reshaped(x, (*shape, 1)), (*shape, 1)
    window = node.term(2) if node.has(2) else None
    if node.has(3):
        length = _number(node, 3, "the length")
    else:
        length = builder.shape(window)[0] if window is not None else shape[1]
    if len(shape) != 3 or step < 1 or not 1 <= length <= shape[1] or shape[2] not in (1, 2):
        node.reject(f"expected a signal and windows inside of it, found {list(shape)}")
    frames = (shape[1] - length) // step + 1
    half = bool(node.attribute("onesided", 1)) and shape[2] == 1
    results = length // 2 + 1 if half else length
    node.expect_small(frames, 2 * length, 2 * results)
    places = np.arange(frames)[:, None] * step + np.arange(length)
    x = node.make("gather", 1, x, node.weight(places.astype(np.int64), "frames"))
    if window is not None:
        x = node.pairwise("mul", x, builder.reshaped(window, (length, 1)))
    rows = node.make("reshape", x, shape_literal((shape[0] * frames, length * shape[2])))
    matrix = _transform_matrix(length, length, results, False, shape[2])
    return builder.reshaped(_product(node, rows, matrix), (shape[0], frames, results, 2))


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("DFT", _dft, "axis inverse onesided"),
    OnnxImport("STFT", _stft, "onesided"),
)
