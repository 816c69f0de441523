"""Quantized tensors, from ONNX: integers q that stand for (q - zero point) · scale.

Dequantized numbers are exact: differences of integers, then one product. Products and convolutions
of quantized tensors are those of integers, as in the file; nothing is merged or estimated.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.convolution_pooling import convolution
from polygym.graphs.onnx.operators.elementwise import converted
from polygym.graphs.onnx.operators.matrix_products import broadcast_matmul
from polygym.rewrite.term import Term


def _spread(node: OnnxNode, place: int, shape: tuple[int, ...]) -> Term:
    """Return a scale or zero point so that it broadcasts: one, by an axis, or by blocks."""
    builder, x = node.builder, node.term(place)
    own = builder.shape(x)
    if len(own) == 0 or own == (1,):
        return builder.reshaped(x, ())
    axis = node.axis(node.attribute("axis", 1), len(shape))
    if len(own) == 1:
        if own[0] != shape[axis]:
            node.reject(f"expected one or {shape[axis]} numbers, found the shape {list(own)}")
        return builder.reshaped(x, (own[0], *(1,) * (len(shape) - axis - 1)))
    block = node.attribute("block_size", 0) or -(-shape[axis] // max(own[axis], 1))
    if len(own) != len(shape) or own[axis] * block < shape[axis]:
        node.reject(f"expected a number for each block of {list(shape)}, found {list(own)}")
    places = np.arange(shape[axis], dtype=np.int64) // block
    return node.make("gather", axis, x, node.weight(places, f"blocks_{block}"))


def _rounded(node: OnnxNode, x: Term, zero: Term | None, dtype: str) -> Term:
    """Return whole numbers, moved by a zero point and kept within a type."""
    if dtype not in ("int8", "uint8", "int16", "uint16", "int32"):
        node.reject(f"expected integers of 8, 16 or 32 bits as the result, found {dtype}")
    whole = node.make("round", x)
    if zero is not None:
        whole = node.pairwise("add", whole, converted(node, zero, node.builder.tensor(x).dtype))
    limits = np.iinfo(dtype)
    return node.make("cast", "int32", node.make("clip", int(limits.min), int(limits.max), whole))


def _quantize(node: OnnxNode) -> Term:
    x, shape = node.term(0), node.shape(0)
    scale = _spread(node, 1, shape)
    zero = _spread(node, 2, shape) if node.has(2) else None
    x = converted(node, x, node.builder.tensor(scale).dtype)
    return _rounded(node, node.pairwise("div", x, scale), zero, node.result_types[0])


def _dequantize(node: OnnxNode) -> Term:
    x, shape = node.term(0), node.shape(0)
    scale = _spread(node, 1, shape)
    if node.has(2):
        x = node.pairwise("sub", x, _spread(node, 2, shape))
    return node.pairwise("mul", converted(node, x, node.builder.tensor(scale).dtype), scale)


def _quantize_by_range(node: OnnxNode) -> tuple[Term, ...]:
    """Quantize to bytes by the least and the largest of all elements, 0 among them."""
    x = node.term(0)
    axes = shape_literal(tuple(range(len(node.shape(0)))))
    zero = node.scalar(0.0, x)
    high = node.pairwise("maximum", node.make("reduce-max", axes, 0, x), zero)
    low = node.make("neg", node.make("reduce-max", axes, 0, node.make("neg", x)))
    low = node.pairwise("minimum", low, zero)
    scale = node.pairwise("div", node.pairwise("sub", high, low), node.scalar(255.0, x))
    point = node.make("neg", node.pairwise("div", low, scale))
    point = node.make("round", node.make("clip", 0.0, 255.0, point))
    y = _rounded(node, node.pairwise("div", x, scale), point, "uint8")
    return y, scale, node.make("cast", "int32", point)


def _centred(node: OnnxNode, place: int, zero: int, axis: int | None = None) -> Term:
    """Return integers without their zero point, which may be one for each row along an axis."""
    x = node.term(place)
    if not node.has(zero):
        return x
    return node.pairwise("sub", x, _along_axis(node, zero, len(node.builder.shape(x)), axis))


def _along_axis(node: OnnxNode, place: int, rank: int, axis: int | None) -> Term:
    """Return a scale or a zero point that broadcasts: one, or one for each index of an axis."""
    x = node.term(place)
    shape = node.builder.shape(x)
    if shape == (1,):
        return node.builder.reshaped(x, ())
    if len(shape) == 1 and axis is not None:
        return node.builder.reshaped(x, (*shape, *(1,) * (rank - axis - 1)))
    return x


def _integer_matmul(node: OnnxNode) -> Term:
    rank = len(node.shape(0))
    return broadcast_matmul(node, _centred(node, 0, 2, rank - 2), _centred(node, 1, 3))


def _integer_conv(node: OnnxNode) -> Term:
    values = _centred(node, 0, 2), _centred(node, 1, 3, 0)
    return convolution(replace(node, values=values))


def _requantized(node: OnnxNode, total: Term, places: tuple[int, int, int, int], axis: int) -> Term:
    """Return sums of products in the quantization of the result: scales of a, b, y, its zero."""
    rank = len(node.builder.shape(total))
    a, b, y, zero = (_along_axis(node, place, rank, axis) for place in places)
    factor = node.pairwise("div", node.pairwise("mul", a, b), y)
    x = node.pairwise("mul", converted(node, total, node.builder.tensor(factor).dtype), factor)
    return _rounded(node, x, zero, node.result_types[0])


def _quantized_matmul(node: OnnxNode) -> Term:
    """Multiply (a, scale, zero, b, scale, zero), then quantize by a scale and zero."""
    rank = len(node.shape(0))
    a, b = _centred(node, 0, 2, rank - 2), _centred(node, 3, 5)
    total = broadcast_matmul(node, a, b)
    return _requantized(node, total, (1, 4, 6, 7), len(node.builder.shape(total)) - 1)


def _quantized_conv(node: OnnxNode) -> Term:
    values = [_centred(node, 0, 2), _centred(node, 3, 5, 0)]
    if node.has(8):
        values.append(node.term(8))
    total = convolution(replace(node, values=tuple(values)))
    return _requantized(node, total, (1, 4, 6, 7), 1)


_CONV = "auto_pad dilations group kernel_shape pads strides"
_TRANSLATIONS: tuple[tuple[str, Callable[[OnnxNode], Term | tuple[Term, ...]], str], ...] = (
    ("QuantizeLinear", _quantize, "axis block_size output_dtype precision saturate"),
    ("DequantizeLinear", _dequantize, "axis block_size output_dtype"),
    ("DynamicQuantizeLinear", _quantize_by_range, ""),
    ("MatMulInteger", _integer_matmul, ""),
    ("ConvInteger", _integer_conv, _CONV),
    ("QLinearMatMul", _quantized_matmul, ""),
    ("QLinearConv", _quantized_conv, _CONV),
)

ROWS: tuple[OnnxImport, ...] = tuple(OnnxImport(*entry) for entry in _TRANSLATIONS)
