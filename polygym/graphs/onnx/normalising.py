"""Normalisations, softmax and reductions, from ONNX.

Batch normalisation by known statistics is y = x f + s with f = scale / √(variance + ε) and
s = bias - mean f. Where x is a convolution or product by a weight, f goes into the weight and s
into the bias. The others are ``layer-norm`` along one axis that stands for several.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod

import numpy as np

from polygym.graphs.ir.build import words
from polygym.graphs.ir.types import numbers_in
from polygym.graphs.onnx.nodes import Node, real
from polygym.graphs.onnx.rows import Row
from polygym.graphs.onnx.tensors import Array
from polygym.rewrite.term import Term

__all__ = ["ROWS"]


def _batch(node: Node) -> Term:
    if node.attribute("training_mode", 0) or not node.attribute("spatial", 1):
        node.refuse("expected normalisation by known statistics: export it after model.eval()")
    if len([name for name in node.outputs if name]) > 1:
        node.refuse("expected one result, found statistics: export it after model.eval()")
    x = node.term(0)
    shape = node.builder.shape(x)
    names = ("scale", "bias", "mean", "variance")
    parts = [node.array(place, name) for place, name in enumerate(names, 1)]
    if len(shape) < 2 or any(part.shape != shape[1:2] for part in parts):
        node.refuse(f"expected scale, bias, mean and variance for each channel of {list(shape)}")
    scale, bias, mean, variance = (part.astype(np.float64) for part in parts)
    factor = scale / np.sqrt(variance + node.attribute("epsilon", 1e-5))
    shift = bias - mean * factor
    if node.is_alone and (scaled := _into_weight(node, x, factor)) is not None:
        x, inner = scaled
        shift = shift + inner * factor
    else:
        x = node.pairwise("mul", x, _spread(node, factor, shape, "scale"))
    return node.pairwise("add", x, _spread(node, shift, shape, "shift"))


def _spread(node: Node, values: Array, shape: tuple[int, ...], suffix: str) -> Term:
    """Return a number for each channel as a weight that broadcasts."""
    extents = (-1, *(1,) * (len(shape) - 2))
    if len(shape) > 2:
        extents = (1, *extents)
    dtype = node.builder.tensor(node.term(0)).dtype
    return node.weight(values.astype(dtype).reshape(extents), f"{node.names[0]}-{suffix}")


def _into_weight(node: Node, x: Term, factor: Array) -> tuple[Term, Array] | None:
    """Return x without its bias and scaled, and the bias; nothing if x has no weight to scale."""
    builder, bias = node.builder, np.zeros(1)
    if x.head in ("add", "ewadd"):
        x, added = x.children
        known = builder.value(added)
        if known is None or known.size not in (1, len(factor)):
            return None
        if known.size > 1 and known.shape[-1 if len(builder.shape(x)) == 2 else -3] != known.size:
            return None
        bias = known.reshape(-1).astype(np.float64)
    if x.head not in ("conv", "matmul") or len(builder.shape(x)) not in (2, 4):
        return None
    *first, image, w = x.children
    known = builder.value(w)
    if known is None or known.shape[0 if x.head == "conv" else -1] != len(factor):
        return None
    wide = factor.reshape(-1, 1, 1, 1) if x.head == "conv" else factor
    name = str(w.children[0].head).rpartition("@")[0]
    scaled = node.weight((known * wide).astype(known.dtype), f"{name}-scaled")
    return node.make(x.head, *first, image, scaled), bias


def _along_last(node: Node, x: Term, epsilon: float) -> Term:
    """Return x with mean 0 and variance 1 along its last axis."""
    tensor = node.builder.tensor(x)
    extent, dtype = tensor.shape[-1], tensor.dtype
    ones = node.weight(np.ones(extent, dtype), f"ones_{extent}")
    zeros = node.weight(np.zeros(extent, dtype), f"zeros_{extent}")
    return node.make("layer-norm", epsilon, x, ones, zeros)


def _layer(node: Node) -> Term:
    if len([name for name in node.outputs if name]) > 1:
        node.refuse("expected the normalised tensor alone, found its statistics used")
    x = node.term(0)
    shape = node.builder.shape(x)
    axis = node.axis(node.attribute("axis", -1), len(shape))
    epsilon = real(node.attribute("epsilon", 1e-5))
    extent = prod(shape[axis:])
    flat = node.builder.reshaped(x, (*shape[:axis], extent))
    if all(prod(node.shape(place)) == extent for place in (1, 2) if node.has(place)):
        scale = node.builder.reshaped(node.term(1), (extent,))
        bias = (
            node.builder.reshaped(node.term(2), (extent,))
            if node.has(2)
            else node.weight(np.zeros(extent, node.builder.tensor(x).dtype), f"zeros_{extent}")
        )
        found = node.make("layer-norm", epsilon, flat, scale, bias)
        return node.builder.reshaped(found, shape)
    found = node.builder.reshaped(_along_last(node, flat, epsilon), shape)
    found = node.pairwise("mul", found, node.term(1))
    return node.pairwise("add", found, node.term(2)) if node.has(2) else found


def _root_mean_square(node: Node) -> Term:
    """Divide x by √(mean of x² + ε), then scale."""
    x = node.term(0)
    rank = len(node.builder.shape(x))
    axes = tuple(range(node.axis(node.attribute("axis", -1), rank), rank))
    mean = node.make("reduce-mean", words(axes), 1, node.pairwise("mul", x, x))
    epsilon = node.scalar(real(node.attribute("epsilon", 1e-5)), x)
    root = node.make("sqrt", node.pairwise("add", mean, epsilon))
    return node.pairwise("mul", node.pairwise("div", x, root), node.term(1))


def _in_groups(node: Node, groups: int) -> Term:
    """Normalise the channels of each group together, then scale and move every channel."""
    x = node.term(0)
    shape = node.builder.shape(x)
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        node.refuse(f"expected channels in {groups} groups, found the shape {list(shape)}")
    flat = node.builder.reshaped(x, (shape[0], groups, prod(shape[1:]) // groups))
    normal = _along_last(node, flat, real(node.attribute("epsilon", 1e-5)))
    found = node.builder.reshaped(normal, shape)
    for place, head in ((1, "mul"), (2, "add")):
        one = node.term(place)
        one = node.builder.reshaped(one, (1, shape[1], *(1,) * (len(shape) - 2)))
        found = node.pairwise(head, found, one)
    return found


def _group(node: Node) -> Term:
    return _in_groups(node, node.attribute("num_groups"))


def _instance(node: Node) -> Term:
    return _in_groups(node, node.shape(0)[1] if len(node.shape(0)) > 1 else 0)


def _local_response(node: Node) -> Term:
    """Divide x by (bias + alpha / n · sum of x² over n channels around) to the power of beta.

    The sum is a convolution by ones of the channels as rows of an image.
    """
    x = node.term(0)
    shape = node.builder.shape(x)
    size = node.attribute("size")
    if len(shape) < 3 or size < 1 or node.builder.tensor(x).dtype.startswith("int"):
        node.refuse(f"expected an image of floating-point numbers and a size, found {size}")
    node.expect_small(size)
    before = (size - 1) // 2
    flat = node.builder.reshaped(x, (shape[0], 1, shape[1], prod(shape[2:])))
    square = node.pairwise("mul", flat, flat)
    ones = node.weight(np.ones((1, 1, size, 1), node.builder.tensor(x).dtype), f"ones_{size}")
    pads = f"{before}-0-{size - 1 - before}-0"
    total = node.make("conv", 1, 1, pads, "none", square, ones)
    total = node.builder.reshaped(total, shape)
    alpha, beta = real(node.attribute("alpha", 1e-4)), real(node.attribute("beta", 0.75))
    total = node.pairwise("mul", total, node.scalar(alpha / size, x))
    total = node.pairwise("add", total, node.scalar(real(node.attribute("bias", 1.0)), x))
    return node.pairwise("div", x, node.make("pow", total, node.scalar(beta, x)))


def _flat_for_softmax(node: Node) -> tuple[Term, int]:
    """Return what softmax goes over, and the axis: before opset 13 all from an axis on are one."""
    x = node.term(0)
    shape = node.builder.shape(x)
    axis = node.axis(node.attribute("axis", -1 if node.opset >= 13 else 1), max(len(shape), 1))
    if node.opset >= 13 or axis == len(shape) - 1:
        return x, axis
    return node.builder.reshaped(x, (prod(shape[:axis]), prod(shape[axis:]))), 1


def _softmax(node: Node) -> Term:
    x, axis = _flat_for_softmax(node)
    return node.builder.reshaped(node.make("softmax", axis, x), node.shape(0))


def _log_softmax(node: Node) -> Term:
    """Take m, the largest, and log of the sum of exp(x - m) from x."""
    x, axis = _flat_for_softmax(node)
    moved = node.pairwise("sub", x, node.make("reduce-max", axis, 1, x))
    total = node.make("reduce-sum", axis, 1, node.make("exp", moved))
    found = node.pairwise("sub", moved, node.make("log", total))
    return node.builder.reshaped(found, node.shape(0))


def _plain(head: str) -> Callable[[Node, Term, Term, int], Term]:
    return lambda node, x, axes, keep: node.make(head, axes, keep, x)


def _smallest(node: Node, x: Term, axes: Term, keep: int) -> Term:
    return node.make("neg", node.make("reduce-max", axes, keep, node.make("neg", x)))


def _log_sum_exp(node: Node, x: Term, axes: Term, keep: int) -> Term:
    """Add m, the largest, to the log of the sum of exp(x - m)."""
    largest = node.make("reduce-max", axes, 1, x)
    total = node.make("reduce-sum", axes, 1, node.make("exp", node.pairwise("sub", x, largest)))
    found = node.pairwise("add", largest, node.make("log", total))
    along = numbers_in(str(axes.head))
    shape = node.builder.shape(found)
    rest = tuple(extent for place, extent in enumerate(shape) if keep or place not in along)
    return node.builder.reshaped(found, rest)


def _sum_of(*functions: str) -> Callable[[Node, Term, Term, int], Term]:
    """Return a sum, with functions of elements before and of the sum after it (``>`` between)."""
    at = functions.index(">")

    def applied(node: Node, name: str, x: Term) -> Term:
        return node.pairwise("mul", x, x) if name == "square" else node.make(name, x)

    def reduction(node: Node, x: Term, axes: Term, keep: int) -> Term:
        x = reduce(lambda one, name: applied(node, name, one), functions[:at], x)
        x = node.make("reduce-sum", axes, keep, x)
        return reduce(lambda one, name: applied(node, name, one), functions[at + 1 :], x)

    return reduction


def _reduction(name: str, reduction: Callable[[Node, Term, Term, int], Term]) -> Row:
    def translate(node: Node) -> Term:
        x = node.term(0)
        rank = len(node.builder.shape(x))
        said = node.integers(1, "axes") if node.has(1) else node.attribute("axes")
        if not said and node.attribute("noop_with_empty_axes", 0):
            node.refuse("expected axes, found none and noop_with_empty_axes")
        axes = node.axes(said or range(rank), rank)
        return reduction(node, x, words(axes), node.attribute("keepdims", 1)) if axes else x

    return Row(name, translate, "axes keepdims noop_with_empty_axes")


ROWS: tuple[Row, ...] = (
    Row("BatchNormalization", _batch, "epsilon momentum spatial training_mode"),
    Row("LayerNormalization", _layer, "axis epsilon stash_type"),
    Row("RMSNormalization", _root_mean_square, "axis epsilon stash_type"),
    Row("GroupNormalization", _group, "epsilon num_groups stash_type"),
    Row("InstanceNormalization", _instance, "epsilon"),
    Row("LRN", _local_response, "alpha beta bias size"),
    Row("Softmax", _softmax, "axis"),
    Row("LogSoftmax", _log_softmax, "axis"),
    _reduction("ReduceMean", _plain("reduce-mean")),
    _reduction("ReduceSum", _plain("reduce-sum")),
    _reduction("ReduceMax", _plain("reduce-max")),
    _reduction("ReduceMin", _smallest),
    _reduction("ReduceL1", _sum_of("abs", ">")),
    _reduction("ReduceL2", _sum_of("square", ">", "sqrt")),
    _reduction("ReduceSumSquare", _sum_of("square", ">")),
    _reduction("ReduceLogSumExp", _log_sum_exp),
    _reduction("ReduceLogSum", _sum_of(">", "log")),
)
