"""Elements chosen by places, and elements put at places, from ONNX.

All of it is ``gather`` of what is laid out flat. In a matrix of b columns, element (i, j) is number
i b + j of the flat one, whether i and j are known or computed: ``GatherElements`` and ``GatherND``
compute these places. What is put at places that are known is chosen too: of (a, b, c, d), with x
and y put at the places 2 and 0, each place says which of (x, y) it would get, (1, 0, 0, 0), and
whether it gets any, (1, 0, 1, 0), so that the result is (y, b, x, d). Places below 0 count from the
end.

Whole numbers, from ONNX: places of the largest, running sums, floors, one among many.

What graphs have not is written by what they have. The place of the largest of (3, 9, 9): equal to
the largest are (0, 1, 1), there stand the places (0, 1, 2), otherwise more than any place, (3, 1,
2), and the smallest is 1. A running sum adds what is 1 before, then 2, 4, …, so that n elements
take log₂ n additions: (a, b, c, d), (a, a+b, b+c, c+d), (a, a+b, a+b+c, a+b+c+d).
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.ir.graph import signature_of
from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term


def nonnegative_indices(node: OnnxNode, indices: Term, extents: Sequence[int]) -> Term:
    """Return computed places, those below 0 by an extent more: one, or one for each column."""
    dtype = node.builder.tensor(indices).dtype
    wide = np.asarray(extents[0] if len(extents) == 1 else extents, dtype)
    if _are_shifted(node, indices, wide):
        return indices
    below = node.make("less", indices, node.weight(np.zeros((), dtype), "constant_0"))
    shift = node.pairwise("mul", below, node.weight(wide, f"extents_{'_'.join(map(str, extents))}"))
    return node.pairwise("add", indices, shift)


def _are_shifted(node: OnnxNode, indices: Term, wide: Array) -> bool:
    """Whether those below 0 were shifted already: the file was read and written before."""
    if indices.head not in ("add", "ewadd"):
        return False
    plain, shift = indices.children
    if shift.head not in ("mul", "ewmul") or shift.children[0].head != "less":
        return False
    (first, zero), extent = shift.children[0].children, shift.children[1]
    return first is plain and all(
        part.head == "weight"
        and np.array_equal(node.builder.values[signature_of(part).name], expected)
        for part, expected in ((zero, np.zeros((), wide.dtype)), (extent, wide))
    )


def _nonnegative_constants(node: OnnxNode, indices: Array, extents: Array) -> Array:
    """Return known places counted from the start, as 64-bit integers."""
    if indices.dtype.kind not in "iu":
        node.reject(f"expected integers for indices, found {indices.dtype.name}")
    wide = indices.astype(np.int64)
    if wide.size and (np.any(wide < -extents) or np.any(wide >= extents)):
        node.reject(
            f"expected indices below {extents.tolist()}, found {wide.min()} to {wide.max()}"
        )
    return np.where(wide < 0, wide + extents, wide)


def _strides(shape: Sequence[int]) -> list[int]:
    """Return how far apart neighbours lie along each axis of what is laid out flat.

    >>> _strides((2, 3, 4))
    [12, 4, 1]
    """
    return [prod(shape[place + 1 :]) for place in range(len(shape))]


def _computed_indices(node: OnnxNode, place: int) -> Term:
    """Return computed indices as 64-bit integers, so that flat places fit."""
    term = node.term(place)
    dtype = node.builder.tensor(term).dtype
    if not dtype.startswith("int"):
        node.reject(f"expected integers for indices, found {dtype}")
    return term if dtype == "int64" else node.make("cast", "int64", term)


def _flat_offsets(node: OnnxNode, shape: Sequence[int], of: Sequence[int], skipped: int) -> Array:
    """Return the flat place of each index of a shape within another one, an axis left out.

    The shape may have fewer axes: then the others count as 0.
    """
    node.expect_small(*shape)
    total = np.zeros(tuple(shape), np.int64)
    for axis, (stride, extent) in enumerate(zip(_strides(of), shape, strict=False)):
        if axis != skipped:
            along = [extent if place == axis else 1 for place in range(len(shape))]
            total += stride * np.arange(extent).reshape(along)
    return total


def _index_shape(node: OnnxNode, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Return the shape of indices along one axis, which must fit, and the axis."""
    chosen = node.shape(1)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    fits = len(chosen) == len(shape) and all(
        extent <= other
        for place, (extent, other) in enumerate(zip(chosen, shape, strict=True))
        if place != axis
    )
    if not fits:
        node.reject(f"expected indices that fit into {list(shape)}, found {list(chosen)}")
    return chosen, axis


def _gather_elements(node: OnnxNode) -> Term:
    """Choose, for each index, the element that stands there along an axis."""
    x = node.term(0)
    shape = node.builder.shape(x)
    chosen, axis = _index_shape(node, shape)
    stride, rest = _strides(shape)[axis], _flat_offsets(node, chosen, shape, axis)
    known = node.known_array(1)
    if known is not None:
        places = _nonnegative_constants(node, known, np.asarray(shape[axis]))
        flat = node.weight(rest + stride * places, node.names[1])
    else:
        moved = nonnegative_indices(node, _computed_indices(node, 1), (shape[axis],))
        moved = node.pairwise("mul", moved, node.weight(np.asarray(stride), f"stride_{stride}"))
        flat = node.pairwise("add", moved, node.weight(rest, "places"))
    return node.make("gather", 0, node.builder.reshaped(x, (prod(shape),)), flat)


def _gather_slices(node: OnnxNode) -> Term:
    """Choose slices by several indices each, the last axis of the indices."""
    x, batch = node.term(0), node.attribute("batch_dims", 0)
    shape, chosen = node.builder.shape(x), node.shape(1)
    count = chosen[-1] if chosen else 0
    lead = batch + count
    if not chosen or batch < 0 or count < 1 or lead > len(shape) or batch >= len(chosen):
        node.reject(f"expected indices into {list(shape)}, found the shape {list(chosen)}")
    if chosen[:batch] != shape[:batch]:
        node.reject(f"expected {list(shape[:batch])} to come first, found {list(chosen)}")
    strides = np.array(_strides(shape[:lead])[batch:], np.int64)
    extents = shape[batch:lead]
    own = chosen[:-1]
    rest = _flat_offsets(node, own[:batch], shape[:lead], -1)
    rest = rest.reshape((*own[:batch], *(1,) * (len(own) - batch)))
    known = node.known_array(1)
    if known is not None:
        places = _nonnegative_constants(node, known, np.asarray(extents))
        flat = node.weight(np.asarray((places * strides).sum(-1) + rest), node.names[1])
    else:
        moved = nonnegative_indices(node, _computed_indices(node, 1), extents)
        moved = node.pairwise("mul", moved, node.weight(strides, "strides"))
        flat = node.make("reduce-sum", shape_literal((len(chosen) - 1,)), 0, moved)
        if batch:
            flat = node.pairwise("add", flat, node.weight(rest, "places"))
    whole = node.builder.reshaped(x, (prod(shape[:lead]), *shape[lead:]))
    return node.make("gather", 0, whole, flat)


def _scatter_rows(node: OnnxNode, rows: int, positions: Array, x: Term, updates: Term) -> Term:
    """Put rows of updates at known rows of x; of several for one row the last one stays."""
    node.expect_small(rows)
    source, hit = np.zeros(rows, np.int64), np.zeros((rows, 1), bool)
    source[positions] = np.arange(len(positions))
    hit[positions] = True
    put = node.make("gather", 0, updates, node.weight(source, f"{node.names[1]}-source"))
    if hit.all():
        return put
    mask = node.weight(hit.astype(node.builder.tensor(x).dtype), f"{node.names[1]}-mask")
    return node.make("where", mask, put, x)


def _check_no_reduction(node: OnnxNode) -> None:
    reduction = node.attribute("reduction", b"none")
    if reduction != b"none":
        text = reduction.decode(errors="replace")
        node.reject(f"expected elements that are replaced, found the reduction {text!r}")


def _scatter_slices(node: OnnxNode) -> Term:
    """Put slices at places that are known, as ``y[:, 0] = …`` does."""
    _check_no_reduction(node)
    x, updates, places = node.term(0), node.term(2), node.array(1, "the indices")
    shape = node.builder.shape(x)
    count = places.shape[-1] if places.ndim else 0
    if not 1 <= count <= len(shape) or node.shape(2) != (*places.shape[:-1], *shape[count:]):
        node.reject(
            f"expected updates for indices into {list(shape)}, found {list(places.shape)} and "
            f"{list(node.shape(2))}"
        )
    array = _nonnegative_constants(node, places, np.asarray(shape[:count]))
    flat = (array * np.array(_strides(shape[:count]))).sum(-1).reshape(-1)
    rows, width = prod(shape[:count]), prod(shape[count:])
    x = node.builder.reshaped(x, (rows, width))
    made = _scatter_rows(node, rows, flat, x, node.builder.reshaped(updates, (len(flat), width)))
    return node.builder.reshaped(made, shape)


def _scatter_elements(node: OnnxNode) -> Term:
    """Put elements at places along an axis that are known."""
    _check_no_reduction(node)
    x, updates, places = node.term(0), node.term(2), node.array(1, "the indices")
    shape = node.builder.shape(x)
    chosen, axis = _index_shape(node, shape)
    if node.shape(2) != chosen:
        node.reject(f"expected updates of shape {list(chosen)}, found {list(node.shape(2))}")
    array = _nonnegative_constants(node, places, np.asarray(shape[axis]))
    flat = (_flat_offsets(node, chosen, shape, axis) + _strides(shape)[axis] * array).reshape(-1)
    x = node.builder.reshaped(x, (prod(shape), 1))
    made = _scatter_rows(node, prod(shape), flat, x, node.builder.reshaped(updates, (len(flat), 1)))
    return node.builder.reshaped(made, shape)


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
    dtype = values.dtype.name
    if node.builder.tensor(hit).dtype != dtype:
        hit = node.make("cast", dtype, hit)
    return node.make("where", hit, node.weight(np.asarray(on)), node.weight(np.asarray(off)))


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("GatherElements", _gather_elements, "axis"),
    OnnxImport("GatherND", _gather_slices, "batch_dims"),
    OnnxImport("ScatterND", _scatter_slices, "reduction"),
    OnnxImport("ScatterElements", _scatter_elements, "axis reduction"),
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
