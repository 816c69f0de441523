"""Normalisations, softmax and reductions, from ONNX.

Batch normalisation by known statistics is y = x f + s with f = scale / √(variance + ε) and
s = bias - mean f. Where x is a convolution or product by a weight, f goes into the weight and s
into the bias. The others are ``layer-norm`` along one axis that stands for several.
"""

from collections.abc import Callable
from functools import reduce
from math import prod

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode, shortest_float
from polygym.graphs.operators.types import parse_numbers
from polygym.rewrite.term import Term


def _batch_norm(node: OnnxNode) -> Term:
    if node.attribute("training_mode", 0) or not node.attribute("spatial", 1):
        node.reject("expected normalisation by known statistics: export it after model.eval()")
    if len([name for name in node.outputs if name]) > 1:
        node.reject("expected one result, found statistics: export it after model.eval()")
    x = node.term(0)
    shape = node.builder.shape(x)
    names = ("scale", "bias", "mean", "variance")
    places = range(1, 1 + len(names))
    if len(shape) < 2 or any(node.shape(place) != shape[1:2] for place in places):
        node.reject(f"expected {', '.join(names)} for each channel of {list(shape)}")
    parts = [node.known_array(place) for place in places]
    if any(part is None for part in parts):
        return _batch_norm_by_inputs(node, x)
    scale, bias, mean, variance = (part.astype(np.float64) for part in parts if part is not None)
    factor = scale / np.sqrt(variance + node.attribute("epsilon", 1e-5))
    shift = bias - mean * factor
    if node.is_only_user and (scaled := _fold_into_weight(node, x, factor)) is not None:
        x, inner = scaled
        shift = shift + inner * factor
    else:
        x = node.pairwise("mul", x, _channel_weight(node, factor, shape, "scale"))
    return node.pairwise("add", x, _channel_weight(node, shift, shape, "shift"))


def _batch_norm_by_inputs(node: OnnxNode, x: Term) -> Term:
    """Return what comes of statistics that are computed."""
    rank = len(node.builder.shape(x))
    scale, bias, mean, variance = (
        node.builder.reshaped(node.term(place), (node.shape(place)[0], *(1,) * (rank - 2)))
        for place in range(1, 5)
    )
    epsilon = node.scalar(shortest_float(node.attribute("epsilon", 1e-5)), x)
    root = node.make("sqrt", node.pairwise("add", variance, epsilon))
    normal = node.make("div", node.pairwise("sub", x, mean), root)
    return node.pairwise("add", node.pairwise("mul", normal, scale), bias)


def _channel_weight(node: OnnxNode, values: Array, shape: tuple[int, ...], suffix: str) -> Term:
    """Return a number for each channel as a weight that broadcasts."""
    extents = (-1, *(1,) * (len(shape) - 2))
    if len(shape) > 2:
        extents = (1, *extents)
    dtype = node.builder.tensor(node.term(0)).dtype
    return node.weight(values.astype(dtype).reshape(extents), f"{node.names[0]}-{suffix}")


def _fold_into_weight(node: OnnxNode, x: Term, factor: Array) -> tuple[Term, Array] | None:
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


def _normalized_last_axis(node: OnnxNode, x: Term, epsilon: float) -> Term:
    """Return x with mean 0 and variance 1 along its last axis."""
    tensor = node.builder.tensor(x)
    extent, dtype = tensor.shape[-1], tensor.dtype
    ones = node.weight(np.ones(extent, dtype), f"ones_{extent}")
    zeros = node.weight(np.zeros(extent, dtype), f"zeros_{extent}")
    return node.make("layer-norm", epsilon, x, ones, zeros)


def _layer_norm(node: OnnxNode) -> tuple[Term, ...]:
    """Give the normalised tensor, and if they are used its mean and one over its deviation."""
    y, x = _layer_norm_value(node), node.term(0)
    if not any(node.outputs[1:]):
        return (y,)
    rank = len(node.builder.shape(x))
    axes = shape_literal(tuple(range(node.axis(node.attribute("axis", -1), rank), rank)))
    mean = node.make("reduce-mean", axes, 1, x)
    apart = node.pairwise("sub", x, mean)
    variance = node.make("reduce-mean", axes, 1, node.pairwise("mul", apart, apart))
    epsilon = node.scalar(shortest_float(node.attribute("epsilon", 1e-5)), x)
    root = node.make("sqrt", node.pairwise("add", variance, epsilon))
    return y, mean, node.make("reciprocal", root)


def _layer_norm_value(node: OnnxNode) -> Term:
    x = node.term(0)
    shape = node.builder.shape(x)
    axis = node.axis(node.attribute("axis", -1), len(shape))
    epsilon = shortest_float(node.attribute("epsilon", 1e-5))
    extent = prod(shape[axis:])
    flat = node.builder.reshaped(x, (*shape[:axis], extent))
    if all(prod(node.shape(place)) == extent for place in (1, 2) if node.has(place)):
        scale = node.builder.reshaped(node.term(1), (extent,))
        bias = (
            node.builder.reshaped(node.term(2), (extent,))
            if node.has(2)
            else node.weight(np.zeros(extent, node.builder.tensor(x).dtype), f"zeros_{extent}")
        )
        term = node.make("layer-norm", epsilon, flat, scale, bias)
        return node.builder.reshaped(term, shape)
    term = node.builder.reshaped(_normalized_last_axis(node, flat, epsilon), shape)
    term = node.pairwise("mul", term, node.term(1))
    return node.pairwise("add", term, node.term(2)) if node.has(2) else term


def _rms_norm(node: OnnxNode) -> Term:
    """Divide x by √(mean of x² + ε), then scale."""
    x = node.term(0)
    rank = len(node.builder.shape(x))
    axes = tuple(range(node.axis(node.attribute("axis", -1), rank), rank))
    mean = node.make("reduce-mean", shape_literal(axes), 1, node.pairwise("mul", x, x))
    epsilon = node.scalar(shortest_float(node.attribute("epsilon", 1e-5)), x)
    root = node.make("sqrt", node.pairwise("add", mean, epsilon))
    return node.pairwise("mul", node.pairwise("div", x, root), node.term(1))


def _mean_variance_norm(node: OnnxNode) -> Term:
    x = node.term(0)
    rank = len(node.builder.shape(x))
    axes = shape_literal(node.axes(node.attribute("axes", (0, 2, 3)), rank))
    apart = node.pairwise("sub", x, node.make("reduce-mean", axes, 1, x))
    variance = node.make("reduce-mean", axes, 1, node.pairwise("mul", apart, apart))
    root = node.pairwise("add", node.make("sqrt", variance), node.scalar(1e-9, x))
    return node.make("div", apart, root)


def _lp_norm(node: OnnxNode) -> Term:
    """Divide by the norm along an axis; zeros stay zeros."""
    x, p = node.term(0), node.attribute("p", 2)
    axis = node.axis(node.attribute("axis", -1), len(node.builder.shape(x)))
    if p not in (1, 2):
        node.reject(f"expected 1 or 2 for p, found {p}")
    powers = node.make("abs", x) if p == 1 else node.pairwise("mul", x, x)
    norm = node.make("reduce-sum", axis, 1, powers)
    norm = norm if p == 1 else node.make("sqrt", norm)
    is_zero = node.make("equal", norm, node.scalar(0.0, x))
    return node.make("div", x, node.make("where", is_zero, node.scalar(1.0, x), norm))


def _group_normalized(node: OnnxNode, groups: int) -> Term:
    """Normalise the channels of each group together, then scale and move every channel."""
    x = node.term(0)
    shape = node.builder.shape(x)
    if len(shape) < 3 or groups < 1 or shape[1] % groups:
        node.reject(f"expected channels in {groups} groups, found the shape {list(shape)}")
    flat = node.builder.reshaped(x, (shape[0], groups, prod(shape[1:]) // groups))
    normal = _normalized_last_axis(node, flat, shortest_float(node.attribute("epsilon", 1e-5)))
    term = node.builder.reshaped(normal, shape)
    for place, head in ((1, "mul"), (2, "add")):
        operand = node.term(place)
        operand = node.builder.reshaped(operand, (1, shape[1], *(1,) * (len(shape) - 2)))
        term = node.pairwise(head, term, operand)
    return term


def _group_norm(node: OnnxNode) -> Term:
    return _group_normalized(node, node.attribute("num_groups"))


def _instance_norm(node: OnnxNode) -> Term:
    return _group_normalized(node, node.shape(0)[1] if len(node.shape(0)) > 1 else 0)


def _local_response(node: OnnxNode) -> Term:
    """Divide x by (bias + alpha / n · sum of x² over n channels around) to the power of beta.

    The sum is a convolution by ones of the channels as rows of an image.
    """
    x = node.term(0)
    shape = node.builder.shape(x)
    size = node.attribute("size")
    if len(shape) < 3 or size < 1 or node.builder.tensor(x).dtype.startswith("int"):
        node.reject(f"expected an image of floating-point numbers and a size, found {size}")
    node.expect_small(size)
    before = (size - 1) // 2
    flat = node.builder.reshaped(x, (shape[0], 1, shape[1], prod(shape[2:])))
    square = node.pairwise("mul", flat, flat)
    ones = node.weight(np.ones((1, 1, size, 1), node.builder.tensor(x).dtype), f"ones_{size}")
    pads = f"{before}-0-{size - 1 - before}-0"
    total = node.make("conv", 1, 1, pads, "none", square, ones)
    total = node.builder.reshaped(total, shape)
    alpha, beta = (
        shortest_float(node.attribute("alpha", 1e-4)),
        shortest_float(node.attribute("beta", 0.75)),
    )
    total = node.pairwise("mul", total, node.scalar(alpha / size, x))
    total = node.pairwise("add", total, node.scalar(shortest_float(node.attribute("bias", 1.0)), x))
    return node.pairwise("div", x, node.make("pow", total, node.scalar(beta, x)))


def _flat_for_softmax(node: OnnxNode) -> tuple[Term, int]:
    """Return what softmax goes over, and the axis: before opset 13 all from an axis on are one."""
    x = node.term(0)
    shape = node.builder.shape(x)
    axis = node.axis(node.attribute("axis", -1 if node.opset >= 13 else 1), max(len(shape), 1))
    if node.opset >= 13 or axis == len(shape) - 1:
        return x, axis
    return node.builder.reshaped(x, (prod(shape[:axis]), prod(shape[axis:]))), 1


def _softmax(node: OnnxNode) -> Term:
    x, axis = _flat_for_softmax(node)
    return node.builder.reshaped(node.make("softmax", axis, x), node.shape(0))


def _log_softmax(node: OnnxNode) -> Term:
    """Take m, the largest, and log of the sum of exp(x - m) from x."""
    x, axis = _flat_for_softmax(node)
    moved = node.pairwise("sub", x, node.make("reduce-max", axis, 1, x))
    total = node.make("reduce-sum", axis, 1, node.make("exp", moved))
    term = node.pairwise("sub", moved, node.make("log", total))
    return node.builder.reshaped(term, node.shape(0))


def _direct_reduction(head: str) -> Callable[[OnnxNode, Term, Term, int], Term]:
    return lambda node, x, axes, keep: node.make(head, axes, keep, x)


def _reduce_min(node: OnnxNode, x: Term, axes: Term, keep: int) -> Term:
    return node.make("neg", node.make("reduce-max", axes, keep, node.make("neg", x)))


def _log_sum_exp(node: OnnxNode, x: Term, axes: Term, keep: int) -> Term:
    """Add m, the largest, to the log of the sum of exp(x - m); a finite m, since ∞ - ∞ is NaN."""
    largest, dtype = node.make("reduce-max", axes, 1, x), node.builder.tensor(x).dtype
    if dtype.startswith("float"):  # others are refused by the exponential
        most = float(np.finfo(dtype).max)
        largest = node.make("clip", -most, most, largest)
    total = node.make("reduce-sum", axes, 1, node.make("exp", node.pairwise("sub", x, largest)))
    term = node.pairwise("add", largest, node.make("log", total))
    along = parse_numbers(str(axes.head))
    shape = node.builder.shape(term)
    rest = tuple(extent for place, extent in enumerate(shape) if keep or place not in along)
    return node.builder.reshaped(term, rest)


def _composed_sum(*functions: str) -> Callable[[OnnxNode, Term, Term, int], Term]:
    """Return a sum, with functions of elements before and of the sum after it (``>`` between)."""
    at = functions.index(">")

    def applied(node: OnnxNode, name: str, x: Term) -> Term:
        return node.pairwise("mul", x, x) if name == "square" else node.make(name, x)

    def reduction(node: OnnxNode, x: Term, axes: Term, keep: int) -> Term:
        x = reduce(lambda term, name: applied(node, name, term), functions[:at], x)
        x = node.make("reduce-sum", axes, keep, x)
        return reduce(lambda term, name: applied(node, name, term), functions[at + 1 :], x)

    return reduction


def _without_axes(node: OnnxNode, name: str, x: Term) -> Term:
    """Return what a reduction makes of each element alone."""
    match name:
        case "ReduceL1" | "ReduceL2":
            return node.make("abs", x)
        case "ReduceSumSquare":
            return node.pairwise("mul", x, x)
        case "ReduceLogSum":
            return node.make("log", x)
    return x


def _reduction(name: str, reduction: Callable[[OnnxNode, Term, Term, int], Term]) -> OnnxImport:
    def translate(node: OnnxNode) -> Term:
        said = node.integers(1, "axes") if node.has(1) else node.attribute("axes")
        x = node.term(0)
        rank = len(node.builder.shape(x))
        if not said and node.attribute("noop_with_empty_axes", 0):
            return _without_axes(node, name, x)
        axes = node.axes(said or range(rank), rank)
        if not axes:
            return _without_axes(node, name, x)
        return reduction(node, x, shape_literal(axes), node.attribute("keepdims", 1))

    return OnnxImport(name, translate, "axes keepdims noop_with_empty_axes")


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("BatchNormalization", _batch_norm, "epsilon momentum spatial training_mode"),
    OnnxImport("LayerNormalization", _layer_norm, "axis epsilon stash_type"),
    OnnxImport("RMSNormalization", _rms_norm, "axis epsilon stash_type"),
    OnnxImport("GroupNormalization", _group_norm, "epsilon num_groups stash_type"),
    OnnxImport("InstanceNormalization", _instance_norm, "epsilon"),
    OnnxImport("MeanVarianceNormalization", _mean_variance_norm, "axes"),
    OnnxImport("LpNormalization", _lp_norm, "axis p"),
    OnnxImport("LRN", _local_response, "alpha beta bias size"),
    OnnxImport("Softmax", _softmax, "axis"),
    OnnxImport("LogSoftmax", _log_softmax, "axis"),
    _reduction("ReduceMean", _direct_reduction("reduce-mean")),
    _reduction("ReduceSum", _direct_reduction("reduce-sum")),
    _reduction("ReduceProd", _direct_reduction("reduce-prod")),
    _reduction("ReduceMax", _direct_reduction("reduce-max")),
    _reduction("ReduceMin", _reduce_min),
    _reduction("ReduceL1", _composed_sum("abs", ">")),
    _reduction("ReduceL2", _composed_sum("square", ">", "sqrt")),
    _reduction("ReduceSumSquare", _composed_sum("square", ">")),
    _reduction("ReduceLogSumExp", _log_sum_exp),
    _reduction("ReduceLogSum", _composed_sum(">", "log")),
)
