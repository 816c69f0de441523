"""Whole numbers, from ONNX: places of the largest, running sums, floors, one among many.

What graphs have not is written by what they have. The place of the largest of (3, 9, 9): equal to
the largest are (0, 1, 1), there stand the places (0, 1, 2), otherwise more than any place, (3, 1,
2), and the smallest is 1. A running sum adds what is 1 before, then 2, 4, …, so that n elements
take log₂ n additions: (a, b, c, d), (a, a+b, b+c, c+d), (a, a+b, a+b+c, a+b+c+d).
"""

from collections.abc import Callable

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes.onnx_node import OnnxImport, OnnxNode
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term

_INTEGER_FROM = {"float64": 2.0**52, "float32": 2.0**23, "float16": 2.0**10, "bfloat16": 2.0**7}
"""From which number on a type has whole numbers alone."""


def _positions(node: OnnxNode, x: Term, axis: int) -> Term:
    """Return the places along an axis, in the type of x."""
    shape = node.builder.shape(x)
    dtype = node.builder.tensor(x).dtype
    if shape[axis] > _INTEGER_FROM.get(dtype, 2.0**52):
        node.reject(f"expected fewer places than {dtype} counts, found {shape[axis]}")
    node.expect_small(shape[axis])
    along = [shape[axis] if place == axis else 1 for place in range(len(shape))]
    return node.weight(np.arange(shape[axis]).astype(dtype).reshape(along), "places")


def _arg_reduction(is_largest: bool) -> Callable[[OnnxNode], Term]:
    def translate(node: OnnxNode) -> Term:
        x = node.term(0)
        rank = len(node.builder.shape(x))
        axis = node.axis(node.attribute("axis", 0), rank)
        if node.builder.tensor(x).dtype in ("float16", "bfloat16"):
            x = node.make("cast", "float32", x)
        if not is_largest:
            x = node.make("neg", x)
        along, last = shape_literal((axis,)), node.builder.shape(x)[axis] - 1
        best = node.make("equal", x, node.make("reduce-max", along, 1, x))
        places = _positions(node, x, axis)
        if node.attribute("select_last_index", 0):
            term = node.make("where", best, places, node.scalar(0.0, x))
        else:  # the smallest is what is left of the last place by the largest of what is left
            term = node.make("where", best, node.make("neg", places), node.scalar(-last, x))
        term = node.make("reduce-max", along, int(node.attribute("keepdims", 1) != 0), term)
        if not node.attribute("select_last_index", 0):
            term = node.make("neg", term)
        return term if node.builder.tensor(x).dtype == "int64" else _integers(node, term)

    return translate


def _integers(node: OnnxNode, x: Term) -> Term:
    return node.make("cast", "int64", x)


def _running_sum(node: OnnxNode) -> Term:
    x = node.term(0)
    axes = node.integers(1, "the axis")
    if len(axes) != 1:
        node.reject(f"expected one axis, found {list(axes)}")
    axis = node.axis(axes[0], len(node.builder.shape(x)))
    extent, is_reverse = node.builder.shape(x)[axis], bool(node.attribute("reverse", 0))
    step = 1
    while step < extent:
        x = node.pairwise("add", x, _shifted_along(node, x, axis, step, is_reverse))
        step *= 2
    return _shifted_along(node, x, axis, 1, is_reverse) if node.attribute("exclusive", 0) else x


def _shifted_along(node: OnnxNode, x: Term, axis: int, step: int, is_back: bool) -> Term:
    """Return what stands some places before, or behind; zeros where there is nothing."""
    shape = node.builder.shape(x)
    if step >= shape[axis]:
        return node.make("expand", node.scalar(0.0, x), shape_literal(shape))
    first, last = (step, shape[axis]) if is_back else (0, shape[axis] - step)
    kept = node.make("slice", axis, first, last, 1, x)
    pads = [0] * (2 * len(shape))
    pads[axis + (len(shape) if is_back else 0)] = step
    return node.make("pad", 0, shape_text(tuple(pads)), kept)


def _floor(node: OnnxNode, x: Term, is_ceiling: bool = False) -> Term:
    """Return the whole number below, or above.

    By way of integers: t, towards zero, is too large for what lies below 0 and is not whole, then
    t - (x < t). What is too large for that is whole, or no number, and stays.
    """
    tensor = node.builder.tensor(x)
    if tensor.dtype not in _INTEGER_FROM:
        return x
    most = _INTEGER_FROM[tensor.dtype]
    near = node.make("cast", tensor.dtype, _integers(node, node.make("clip", -most, most, x)))
    if is_ceiling:
        term = node.pairwise("add", near, node.make("less", near, x))
    else:
        term = node.pairwise("sub", near, node.make("less", x, near))
    is_small = node.make("less", node.make("abs", x), node.scalar(most, x))
    return node.make("where", is_small, term, x)


def _round(node: OnnxNode) -> Term:
    """Give the nearest whole number, of two as near the even one.

    f, the one below, and one more where x - f is above 1/2, or 1/2 and f odd.
    """
    x = node.term(0)
    if node.builder.tensor(x).dtype not in _INTEGER_FROM:
        return x
    below = _floor(node, x)
    rest, half = node.pairwise("sub", x, below), node.scalar(0.5, x)
    pairs = _floor(node, node.pairwise("mul", below, half))
    odd = node.pairwise("sub", below, node.pairwise("mul", pairs, node.scalar(2.0, x)))
    tie = node.pairwise("mul", node.make("equal", rest, half), odd)
    term = node.pairwise("add", below, node.make("less", half, rest))
    most = node.scalar(_INTEGER_FROM[node.builder.tensor(x).dtype], x)
    is_small = node.make("less", node.make("abs", x), most)
    return node.make("where", is_small, node.pairwise("add", term, tie), x)


def _sign(node: OnnxNode) -> Term:
    x = node.term(0)
    zero = node.scalar(0.0, x)
    return node.pairwise("sub", node.make("less", zero, x), node.make("less", x, zero))


def _is_nan(node: OnnxNode) -> Term:
    """Say where x is not equal to itself."""
    x = node.term(0)
    return node.pairwise("sub", node.scalar(1.0, x), node.make("equal", x, x))


def _is_infinite(node: OnnxNode) -> Term:
    """Say where x is ∞, -∞, or either, as is asked for."""
    x = node.term(0)
    infinity = node.scalar(np.inf, x)
    match bool(node.attribute("detect_negative", 1)), bool(node.attribute("detect_positive", 1)):
        case True, True:
            return node.make("equal", node.make("abs", x), infinity)
        case False, True:
            return node.make("equal", x, infinity)
        case True, False:
            return node.make("equal", node.make("neg", x), infinity)
    return node.make("less", x, node.scalar(-np.inf, x))


def _one_hot(node: OnnxNode) -> Term:
    indices = node.term(0)
    depth, values = node.array(1, "the depth"), node.array(2, "the values")
    if depth.size != 1 or values.size != 2:
        node.reject("expected one depth and two values")
    count, (off, on) = int(depth.reshape(())), values.reshape(-1)
    if count < 1:
        node.reject(f"expected a depth of 1 or more, found {count}")
    shape = node.builder.shape(indices)
    axis = node.axis(node.attribute("axis", -1), len(shape) + 1)
    node.expect_small(*shape, count)
    below = node.make("less", indices, node.scalar(0.0, indices))
    moved = node.pairwise("mul", below, node.scalar(count, indices))
    indices = node.pairwise("add", indices, moved)  # those below 0 count from the end
    apart = node.builder.reshaped(indices, (*shape[:axis], 1, *shape[axis:]))
    along = [count if place == axis else 1 for place in range(len(shape) + 1)]
    every = np.arange(count).astype(node.builder.tensor(indices).dtype).reshape(along)
    hit = node.make("equal", apart, node.weight(every, "places"))
    dtype = values.dtype.name
    if node.builder.tensor(hit).dtype != dtype:
        hit = node.make("cast", dtype, hit)
    return node.make("where", hit, node.weight(np.asarray(on)), node.weight(np.asarray(off)))


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("ArgMax", _arg_reduction(True), "axis keepdims select_last_index"),
    OnnxImport("ArgMin", _arg_reduction(False), "axis keepdims select_last_index"),
    OnnxImport("CumSum", _running_sum, "exclusive reverse"),
    OnnxImport("Floor", lambda node: _floor(node, node.term(0))),
    OnnxImport("Ceil", lambda node: _floor(node, node.term(0), is_ceiling=True)),
    OnnxImport("Round", _round),
    OnnxImport("Sign", _sign),
    OnnxImport("IsNaN", _is_nan),
    OnnxImport("IsInf", _is_infinite, "detect_negative detect_positive"),
    OnnxImport("OneHot", _one_hot, "axis"),
)
