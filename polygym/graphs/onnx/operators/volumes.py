"""Convolutions and pools of images of one, two and three dimensions, from ONNX.

In three dimensions the planes that a window takes along the depth become channels: of
(n, c, d, h, w) under windows k deep, (n · d', c · k, h, w), then it is a convolution of planes.
Pools are those of planes, then along the depth: the largest of the largest, and means of as many
elements each.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode, shortest_float
from polygym.graphs.onnx.operators.convolution_pooling import (
    convolution,
    pair_attribute,
    pool,
    strided_elements,
    window_geometry,
)
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term

_WINDOW_ATTRIBUTES = {"kernel_shape": 1, "strides": 1, "dilations": 1}


def _per_plane(node: OnnxNode) -> dict[str, Any]:
    """Return the attributes of a node of three dimensions without those of the first."""
    attributes = dict(node.attributes)
    for name in _WINDOW_ATTRIBUTES:
        if name in attributes:
            attributes[name] = tuple(attributes[name])[1:]
    if pads := tuple(node.attribute("pads", ())):
        attributes["pads"] = (*pads[1:3], *pads[4:6])
    return attributes


def _along_depth(node: OnnxNode) -> dict[str, Any]:
    """Return the attributes of the first dimension, as of windows k by 1."""
    attributes = dict(node.attributes)
    for name in _WINDOW_ATTRIBUTES:
        if name in attributes:
            attributes[name] = (attributes[name][0], 1)
    if pads := tuple(node.attribute("pads", ())):
        attributes["pads"] = (pads[0], 0, pads[3], 0)
    return attributes


def _check_lengths(node: OnnxNode) -> None:
    """Refuse attributes that are not those of three dimensions."""
    for name, count in (*((name, 3) for name in _WINDOW_ATTRIBUTES), ("pads", 6)):
        numbers = tuple(node.attribute(name, ()))
        if numbers and len(numbers) != count:
            node.reject(f"expected {count} numbers for {name}, found {list(numbers)}")


def _conv(node: OnnxNode) -> Term:
    if len(node.shape(0)) != 5:
        return convolution(node)
    _check_lengths(node)
    kernel = node.shape(1)
    if len(kernel) != 5:
        node.reject(f"expected a kernel of rank 5, found the shape {list(kernel)}")
    if tuple(node.attribute("kernel_shape", kernel[2:])) != kernel[2:]:
        node.reject(f"expected kernel_shape {kernel[2:]}, found {node.attribute('kernel_shape')}")
    gap, *_ = node.attribute("dilations", (1, 1, 1))
    depth = replace(node, attributes=_along_depth(node))
    wide = (max((kernel[2] - 1) * gap + 1, 1), 1)
    at = window_geometry(depth, (node.shape(0)[2], 1), wide, 2)
    x = _padded_depth(node, node.term(0), at.pads[0], at.pads[2])
    planes = _planes(node, x, kernel[2], gap, at.stride[0])
    count, layers = node.shape(0)[0], (node.builder.shape(x)[2] - wide[0]) // at.stride[0] + 1
    w = node.builder.reshaped(node.term(1), (kernel[0], kernel[1] * kernel[2], *kernel[3:]))
    attributes = _per_plane(node)
    flat = replace(node, values=(planes, w, *node.values[2:]), attributes=attributes)
    return _in_layers(node, convolution(flat), count, layers)


def _padded_depth(node: OnnxNode, x: Term, before: int, after: int) -> Term:
    if not before and not after:
        return x
    return node.make("pad", 0, shape_text((0, 0, before, 0, 0, 0, 0, after, 0, 0)), x)


def _planes(node: OnnxNode, x: Term, depth: int, gap: int, stride: int) -> Term:
    """Return the planes of windows as channels: (n · d', c · k, h, w)."""
    count, channels, extent, *plane = node.builder.shape(x)
    layers = (extent - (depth - 1) * gap - 1) // stride + 1
    if layers < 1:
        node.reject(f"expected an image at least as deep as the window, found a depth of {extent}")
    parts = [strided_elements(node, x, 2, k * gap, layers, stride) for k in range(depth)]
    shape = (count, channels, 1, layers, *plane)
    parts = [node.builder.reshaped(part, shape) for part in parts]
    x = parts[0] if depth == 1 else node.make(f"concat{depth}", 2, *parts)
    x = node.builder.transposed(x, (0, 3, 1, 2, 4, 5))
    return node.builder.reshaped(x, (count * layers, channels * depth, *plane))


def _in_layers(node: OnnxNode, y: Term, count: int, layers: int) -> Term:
    """Return (n · d, f, h, w) as (n, f, d, h, w)."""
    _, filters, *plane = node.builder.shape(y)
    y = node.builder.reshaped(y, (count, layers, filters, *plane))
    return node.builder.transposed(y, (0, 2, 1, 3, 4))


def convolve(node: OnnxNode, x: Term, w: Term) -> Term:
    """Return a convolution without strides or pads, of one to three dimensions."""
    builder = node.builder
    (count, channels, *size), kernel = builder.shape(x), builder.shape(w)
    if len(size) == 3:
        x = _planes(node, x, kernel[2], 1, 1)
        layers = size[0] - kernel[2] + 1
        w = builder.reshaped(w, (kernel[0], kernel[1] * kernel[2], *kernel[3:]))
        y = node.make("conv", 1, 1, "valid", "none", x, w)
        return _in_layers(node, y, count, layers)
    if len(size) == 1:
        x = builder.reshaped(x, (count, channels, 1, *size))
        w = builder.reshaped(w, (*kernel[:2], 1, *kernel[2:]))
    y = node.make("conv", 1, 1, "valid", "none", x, w)
    shape = builder.shape(y)
    return builder.reshaped(y, (*shape[:2], shape[3])) if len(size) == 1 else y


def _of_volumes(pool_planes: Callable[[OnnxNode], Term]) -> Callable[[OnnxNode], Term]:
    """Return a pool that is also one of three dimensions: of planes, then along the depth."""

    def translate(node: OnnxNode) -> Term:
        if len(node.shape(0)) != 5:
            return pool_planes(node)
        _check_lengths(node)
        count, channels, depth, *plane = node.shape(0)
        x = node.builder.reshaped(node.term(0), (count, channels * depth, *plane))
        attributes = _per_plane(node)
        is_along_depth = all(
            set(attributes.get(name, (1,))) == {1} for name in _WINDOW_ATTRIBUTES
        ) and not any(attributes.get("pads", ()))
        y = x if is_along_depth else pool_planes(replace(node, values=(x,), attributes=attributes))
        plane = list(node.builder.shape(y)[2:])
        y = node.builder.reshaped(y, (count, channels, depth, prod(plane)))
        y = pool_planes(replace(node, values=(y,), attributes=_along_depth(node)))
        return node.builder.reshaped(y, (*node.builder.shape(y)[:3], *plane))

    return translate


def _max_pool(node: OnnxNode) -> Term | tuple[Term, ...]:
    if any(node.outputs[1:]):
        return _pool_with_places(node)
    return _of_volumes(lambda flat: pool(flat, "max"))(node)


def _pool_with_places(node: OnnxNode) -> tuple[Term, ...]:
    """Return the largest of each window of an image, and where it lies in the flat tensor."""
    shape, x = node.shape(0), node.term(0)
    if len(shape) != 4 or node.builder.tensor(x).is_integer:
        node.reject(f"expected an image of two dimensions for places, found {list(shape)}")
    count, channels, height, width = shape
    kernel, gaps = (pair_attribute(node, name, 2) for name in ("kernel_shape", "dilations"))
    wide = ((kernel[0] - 1) * gaps[0] + 1, (kernel[1] - 1) * gaps[1] + 1)
    at = window_geometry(node, (height, width), wide, 2)
    node.expect_small(*shape, *kernel)
    flat = np.arange(height * width).reshape(
        (height, width) if not node.attribute("storage_order", 0) else (width, height)
    )
    flat = flat.T if node.attribute("storage_order", 0) else flat
    places = flat + np.arange(count * channels).reshape(count, channels, 1, 1) * height * width
    top, left, bottom, right = at.pads
    if any(at.pads):
        around = shape_text((0, 0, top, left, 0, 0, bottom, right))
        x = node.make("pad", -np.inf, around, x)
        places = np.pad(places, ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows, columns = (
        (node.builder.shape(x)[2 + axis] - wide[axis]) // at.stride[axis] + 1 for axis in range(2)
    )
    best: tuple[Term, Term] | None = None
    for down in range(kernel[0]):
        for across in range(kernel[1]):
            first = down * gaps[0], across * gaps[1]
            values = strided_elements(node, x, 2, first[0], rows, at.stride[0])
            values = strided_elements(node, values, 3, first[1], columns, at.stride[1])
            there = places[:, :, first[0] :: at.stride[0], first[1] :: at.stride[1]][
                :, :, :rows, :columns
            ]
            found = values, node.weight(np.ascontiguousarray(there), "places")
            best = found if best is None else _larger(node, best, found)
    assert best is not None, "windows have elements"
    return best


def _larger(node: OnnxNode, one: tuple[Term, Term], other: tuple[Term, Term]) -> tuple[Term, Term]:
    is_larger = node.make("less", one[0], other[0])
    places = node.make("where", node.make("cast", "int64", is_larger), other[1], one[1])
    return node.pairwise("maximum", one[0], other[0]), places


def _lp_planes(node: OnnxNode) -> Term:
    """Return the sum of powers of each window, as a convolution of each channel by ones."""
    x, shape = node.term(0), node.shape(0)
    kernel = tuple(node.attribute("kernel_shape"))
    ones = node.weight(
        np.ones((shape[1], 1, *kernel), node.builder.tensor(x).dtype), f"ones_{shape[1]}"
    )
    attributes = {**node.attributes, "group": shape[1]}
    return convolution(replace(node, values=(x, ones), attributes=attributes))


def _lp_pool(node: OnnxNode) -> Term:
    p = node.attribute("p", 2)
    powers = _power(node, node.term(0), p)
    total = _of_volumes(_lp_planes)(replace(node, values=(powers,)))
    return _root(node, total, p)


def _power(node: OnnxNode, x: Term, p: int) -> Term:
    match p:
        case 1:
            return node.make("abs", x)
        case 2:
            return node.pairwise("mul", x, x)
    return node.make("pow", node.make("abs", x), node.scalar(p, x))


def _root(node: OnnxNode, x: Term, p: int) -> Term:
    match p:
        case 1:
            return x
        case 2:
            return node.make("sqrt", x)
    return node.make("pow", x, node.scalar(shortest_float(1 / p), x))


def _image_axes(node: OnnxNode) -> Term:
    rank = len(node.shape(0))
    if rank < 3:
        node.reject(f"expected an image, found the shape {list(node.shape(0))}")
    return shape_literal(tuple(range(2, rank)))


def _global_pool(head: str) -> Callable[[OnnxNode], Term]:
    return lambda node: node.make(head, _image_axes(node), 1, node.term(0))


def _global_lp_pool(node: OnnxNode) -> Term:
    p = node.attribute("p", 2)
    powers = _power(node, node.term(0), p)
    return _root(node, node.make("reduce-sum", _image_axes(node), 1, powers), p)


_WINDOWS = "auto_pad ceil_mode dilations kernel_shape pads strides"

ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("Conv", _conv, "auto_pad dilations group kernel_shape pads strides"),
    OnnxImport("MaxPool", _max_pool, f"{_WINDOWS} storage_order"),
    OnnxImport(
        "AveragePool",
        _of_volumes(lambda node: pool(node, "avg")),
        f"{_WINDOWS} count_include_pad",
    ),
    OnnxImport("LpPool", _lp_pool, f"{_WINDOWS} p"),
    OnnxImport("GlobalAveragePool", _global_pool("reduce-mean")),
    OnnxImport("GlobalMaxPool", _global_pool("reduce-max")),
    OnnxImport("GlobalLpPool", _global_lp_pool, "p"),
)
