"""Whole numbers, from ONNX: places of the largest, running sums, signs, one among many.

Graphs have no operator for them. The place of the largest of (3, 9, 9): equal to the largest are
(0, 1, 1), there stand the places (0, 1, 2), otherwise more than any place, (3, 1, 2), and the
smallest is 1. A running sum adds what is 1 before, then 2, 4, …, so that n elements take log₂ n
additions: (a, b, c, d), (a, a+b, b+c, c+d), (a, a+b, a+b+c, a+b+c+d).
"""

from collections.abc import Callable
from math import prod

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.elementwise import converted, expand_to
from polygym.graphs.onnx.operators.gather_scatter import elements_along
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term

_INTEGER_FROM = {"float64": 2.0**52, "float32": 2.0**23}
"""From which number on a type has whole numbers alone."""

_MAX_COMPARISONS = 1 << 26


def _modulo(node: OnnxNode) -> Term:
    """Give the remainder with the sign of y; with fmod that of x."""
    x, y = node.term(0), node.term(1)
    rest = node.make("remainder", x, y)
    if node.attribute("fmod", 0):
        return rest
    if not node.builder.tensor(x).is_integer:
        node.reject("expected fmod=1 for floating-point numbers, found 0")
    zero = node.scalar(0, x)
    below, wanted = node.make("less", rest, zero), node.make("less", y, zero)
    differs = node.pairwise("sub", below, wanted)
    has_rest = node.pairwise("sub", node.scalar(1, x), node.make("equal", rest, zero))
    moves = node.pairwise("mul", differs, has_rest)
    return node.make("where", moves, node.pairwise("add", rest, y), rest)


def _bit_not(node: OnnxNode, x: Term) -> Term:
    """Return -1 - x, whose bits are the others."""
    return node.pairwise("sub", node.scalar(-1, x), x)


def _bit_shift(node: OnnxNode) -> Term:
    """Multiply by a power of 2, or divide: unsigned integers stand in wider ones."""
    x, y = node.term(0), node.term(1)
    width = np.iinfo(node.types[0]).bits
    powers = node.weight(1 << np.arange(width, dtype=np.int64), f"powers_{width}")
    inside = node.make("clip", 0, width - 1, y)
    by = converted(node, node.make("gather", 0, powers, inside), node.builder.tensor(x).dtype)
    is_left = node.attribute("direction") == b"LEFT"
    shifted = node.make("mul" if is_left else "quotient", x, by)
    too_far = node.make("less", node.scalar(width - 1, y), y)
    return node.make("where", too_far, node.scalar(0, x), shifted)


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
        if not is_largest:
            x = node.make("neg", x)
        along, last = shape_literal((axis,)), node.builder.shape(x)[axis] - 1
        best = node.make("equal", x, node.make("reduce-max", along, 1, x))
        if node.builder.tensor(x).dtype != "int64":  # NaN counts as the largest, as in NumPy
            best = node.pairwise("add", best, _unequal_to_itself(node, x))
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


def _running(node: OnnxNode, head: str, neutral: int) -> Term:
    """Combine every element with all before it, or all behind it."""
    x = node.term(0)
    axes = node.integers(1, "the axis")
    if len(axes) != 1:
        node.reject(f"expected one axis, found {list(axes)}")
    axis = node.axis(axes[0], len(node.builder.shape(x)))
    extent, is_reverse = node.builder.shape(x)[axis], bool(node.attribute("reverse", 0))
    step = 1
    while step < extent:
        x = node.pairwise(head, x, _shifted_along(node, x, axis, step, is_reverse, neutral))
        step *= 2
    if not node.attribute("exclusive", 0):
        return x
    return _shifted_along(node, x, axis, 1, is_reverse, neutral)


def _shifted_along(
    node: OnnxNode, x: Term, axis: int, step: int, is_back: bool, neutral: int
) -> Term:
    """Return what stands some places before, or behind; a number where there is nothing."""
    shape = node.builder.shape(x)
    if step >= shape[axis]:
        return node.make("expand", node.scalar(neutral, x), shape_literal(shape))
    first, last = (step, shape[axis]) if is_back else (0, shape[axis] - step)
    kept = node.make("slice", axis, first, last, 1, x)
    pads = [0] * (2 * len(shape))
    pads[axis + (len(shape) if is_back else 0)] = step
    return node.make("pad", neutral, shape_text(tuple(pads)), kept)


def _reversed_sequences(node: OnnxNode) -> Term:
    """Turn the first so many elements of each sequence around; the others stay."""
    x = node.term(0)
    shape = node.builder.shape(x)
    times, batch = node.attribute("time_axis", 0), node.attribute("batch_axis", 1)
    if {times, batch} != {0, 1} or len(shape) < 2 or node.shape(1) != (shape[batch],):
        node.reject(f"expected lengths for {list(shape)}, found the shape {list(node.shape(1))}")
    along = [shape[times] if place == times else 1 for place in range(2)]
    apart = [shape[batch] if place == batch else 1 for place in range(2)]
    lengths = node.builder.reshaped(converted(node, node.term(1), "int64"), tuple(apart))
    place = node.weight(np.arange(shape[times]).reshape(along), f"times_{shape[times]}")
    last = node.pairwise("sub", lengths, node.scalar(1, lengths))
    inside = node.make("less", place, lengths)
    turned = node.make("where", inside, node.pairwise("sub", last, place), place)
    wide = node.builder.reshaped(turned, (*shape[:2], *(1,) * (len(shape) - 2)))
    return elements_along(node, x, expand_to(node, wide, shape), times)


def _first_largest(node: OnnxNode, score: Term, axis: int) -> Term:
    """Return the first place of the largest along an axis, which stays; no score is NaN."""
    along, places = shape_literal((axis,)), _positions(node, score, axis)
    best = node.make("equal", score, node.make("reduce-max", along, 1, score))
    least = node.scalar(-node.builder.shape(score)[axis], score)
    first = node.make("where", best, node.make("neg", places), least)
    return node.make("neg", node.make("reduce-max", along, 1, first))


def _hardmax(node: OnnxNode) -> Term:
    """Give 1 at the first place of the largest, otherwise 0."""
    x = node.term(0)
    axis = node.axis(node.attribute("axis", -1), len(node.builder.shape(x)))
    return node.make("equal", _positions(node, x, axis), _first_largest(node, x, axis))


def _largest_few(node: OnnxNode) -> tuple[Term, ...]:
    """Give the k largest or smallest along an axis, in order, and their places.

    An element's rank is how many come before it: larger ones, and equal ones at smaller places.
    NaN counts as the largest.
    """
    x, wanted = node.term(0), node.integers(1, "k")
    rank = len(node.builder.shape(x))
    axis = node.axis(node.attribute("axis", -1), rank)
    order = (*(place for place in range(rank) if place != axis), axis)
    x = node.builder.transposed(x, order)
    *outer, extent = node.builder.shape(x)
    if len(wanted) != 1 or not 1 <= wanted[0] <= extent:
        node.reject(f"expected a number from 1 to {extent} for k, found {list(wanted)}")
    if prod(outer) * extent * extent > _MAX_COMPARISONS:
        node.reject(f"expected at most {_MAX_COMPARISONS} comparisons, found rows of {extent}")
    places = _selected_places(node, _ranks(node, _sort_key(node, x)), wanted[0])
    values = elements_along(node, x, places, rank - 1)
    back = tuple(order.index(place) for place in range(rank))
    return node.builder.transposed(values, back), node.builder.transposed(places, back)


def _sort_key(node: OnnxNode, x: Term) -> Term:
    """Return numbers of which the largest come first."""
    key = x
    if not node.attribute("largest", 1):
        is_integer = node.builder.tensor(x).is_integer
        key = _bit_not(node, x) if is_integer else node.make("neg", x)
    if node.builder.tensor(x).is_integer:
        return key
    extreme = node.scalar(np.inf if node.attribute("largest", 1) else -np.inf, x)
    return node.make("where", node.make("equal", x, x), key, extreme)


def _ranks(node: OnnxNode, key: Term) -> Term:
    *outer, extent = node.builder.shape(key)
    row = node.builder.reshaped(key, (*outer, 1, extent))
    column = node.builder.reshaped(key, (*outer, extent, 1))
    dtype = node.builder.tensor(key).dtype
    earlier = node.weight(np.tril(np.ones((extent, extent), dtype), -1), f"earlier_{extent}")
    ties = node.pairwise("mul", node.make("equal", column, row), earlier)
    before = node.pairwise("add", node.make("less", column, row), ties)
    ranks = node.make("reduce-sum", shape_literal((len(outer) + 1,)), 0, before)
    return converted(node, ranks, "int64")


def _selected_places(node: OnnxNode, ranks: Term, count: int) -> Term:
    """Return which element has each of the first ranks."""
    *outer, extent = node.builder.shape(ranks)
    wanted = node.weight(np.arange(count).reshape(count, 1), f"ranks_{count}")
    hit = node.make("equal", node.builder.reshaped(ranks, (*outer, 1, extent)), wanted)
    places = node.pairwise("mul", hit, node.weight(np.arange(extent), f"places_{extent}"))
    return node.make("reduce-sum", shape_literal((len(outer) + 1,)), 0, places)


def _sign(node: OnnxNode) -> Term:
    x = node.term(0)
    zero = node.scalar(0.0, x)
    sign = node.pairwise("sub", node.make("less", zero, x), node.make("less", x, zero))
    return node.make("where", node.make("equal", x, x), sign, x)  # NaN stays NaN


def _is_nan(node: OnnxNode) -> Term:
    """Say where x is not equal to itself."""
    return _unequal_to_itself(node, node.term(0))


def _unequal_to_itself(node: OnnxNode, x: Term) -> Term:
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
    on_, off_ = (node.weight(np.asarray(value)) for value in (on, off))
    hit = converted(node, hit, node.builder.tensor(on_).dtype)
    return node.make("where", hit, on_, off_)


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("Mod", _modulo, "fmod"),
    OnnxImport("BitShift", _bit_shift, "direction"),
    OnnxImport("BitwiseNot", lambda node: _bit_not(node, node.term(0))),
    OnnxImport("ArgMax", _arg_reduction(True), "axis keepdims select_last_index"),
    OnnxImport("ArgMin", _arg_reduction(False), "axis keepdims select_last_index"),
    OnnxImport("Hardmax", _hardmax, "axis"),
    OnnxImport("TopK", _largest_few, "axis largest sorted"),
    OnnxImport("CumSum", lambda node: _running(node, "add", 0), "exclusive reverse"),
    OnnxImport("CumProd", lambda node: _running(node, "mul", 1), "exclusive reverse"),
    OnnxImport("ReverseSequence", _reversed_sequences, "batch_axis time_axis"),
    OnnxImport("Sign", _sign),
    OnnxImport("IsNaN", _is_nan),
    OnnxImport("IsInf", _is_infinite, "detect_negative detect_positive"),
    OnnxImport("OneHot", _one_hot, "axis"),
)
