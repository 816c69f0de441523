"""Elements chosen by places, from ONNX.

All of it is ``gather`` of what is laid out flat. In a matrix of b columns, element (i, j) is number
i b + j of the flat one, whether i and j are known or computed: ``GatherElements`` and ``GatherND``
compute these places. Places below 0 count from the end.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.ir.graph import signature_of
from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
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


def nonnegative_constants(node: OnnxNode, indices: Array, extents: Array) -> Array:
    """Return known places counted from the start, as 64-bit integers."""
    if indices.dtype.kind not in "iu":
        node.reject(f"expected integers for indices, found {indices.dtype.name}")
    wide = indices.astype(np.int64)
    if wide.size and (np.any(wide < -extents) or np.any(wide >= extents)):
        node.reject(
            f"expected indices below {extents.tolist()}, found {wide.min()} to {wide.max()}"
        )
    return np.where(wide < 0, wide + extents, wide)


def strides(shape: Sequence[int]) -> list[int]:
    """Return how far apart neighbours lie along each axis of what is laid out flat.

    >>> strides((2, 3, 4))
    [12, 4, 1]
    """
    return [prod(shape[place + 1 :]) for place in range(len(shape))]


def computed_indices(node: OnnxNode, place: int) -> Term:
    """Return computed indices as 64-bit integers, so that flat places fit."""
    term = node.term(place)
    dtype = node.builder.tensor(term).dtype
    if not dtype.startswith("int"):
        node.reject(f"expected integers for indices, found {dtype}")
    return term if dtype == "int64" else node.make("cast", "int64", term)


def flat_offsets(node: OnnxNode, shape: Sequence[int], of: Sequence[int], skipped: int) -> Array:
    """Return the flat place of each index of a shape within another one, an axis left out.

    The shape may have fewer axes: then the others count as 0.
    """
    node.expect_small(*shape)
    total = np.zeros(tuple(shape), np.int64)
    for axis, (stride, extent) in enumerate(zip(strides(of), shape, strict=False)):
        if axis != skipped:
            along = [extent if place == axis else 1 for place in range(len(shape))]
            total += stride * np.arange(extent).reshape(along)
    return total


def index_shape(node: OnnxNode, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
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
    _, axis = index_shape(node, shape)
    known = node.known_array(1)
    if known is not None:
        places = nonnegative_constants(node, known, np.asarray(shape[axis]))
        return elements_along(node, x, node.weight(places, node.names[1]), axis)
    moved = nonnegative_indices(node, computed_indices(node, 1), (shape[axis],))
    return elements_along(node, x, moved, axis)


def elements_along(node: OnnxNode, x: Term, indices: Term, axis: int) -> Term:
    """Return the elements of x at places from 0 on along an axis, one for each index."""
    flat = flat_places(node, indices, node.builder.shape(x), axis)
    return node.make("gather", 0, node.builder.reshaped(x, (prod(node.builder.shape(x)),)), flat)


def flat_places(node: OnnxNode, indices: Term, shape: Sequence[int], axis: int) -> Term:
    """Return the places in what is laid out flat for indices along an axis."""
    stride, chosen = strides(shape)[axis], node.builder.shape(indices)
    rest, known = flat_offsets(node, chosen, shape, axis), node.builder.value(indices)
    if known is not None:
        return node.weight(rest + stride * known.astype(np.int64), "places")
    moved = node.pairwise("mul", indices, node.weight(np.asarray(stride), f"stride_{stride}"))
    return node.pairwise("add", moved, node.weight(rest, "places"))


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
    steps = np.array(strides(shape[:lead])[batch:], np.int64)
    extents = shape[batch:lead]
    own = chosen[:-1]
    rest = flat_offsets(node, own[:batch], shape[:lead], -1)
    rest = rest.reshape((*own[:batch], *(1,) * (len(own) - batch)))
    known = node.known_array(1)
    if known is not None:
        places = nonnegative_constants(node, known, np.asarray(extents))
        flat = node.weight(np.asarray((places * steps).sum(-1) + rest), node.names[1])
    else:
        moved = nonnegative_indices(node, computed_indices(node, 1), extents)
        moved = node.pairwise("mul", moved, node.weight(steps, "strides"))
        flat = node.make("reduce-sum", shape_literal((len(chosen) - 1,)), 0, moved)
        if batch:
            flat = node.pairwise("add", flat, node.weight(rest, "places"))
    whole = node.builder.reshaped(x, (prod(shape[:lead]), *shape[lead:]))
    return node.make("gather", 0, whole, flat)


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("GatherElements", _gather_elements, "axis"),
    OnnxImport("GatherND", _gather_slices, "batch_dims"),
)
