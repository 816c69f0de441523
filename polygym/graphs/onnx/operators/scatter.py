"""Elements put at places, from ONNX: by choosing for each place what it gets.

Places that are known: of (a, b, c, d), with x and y put at the places 2 and 0, each place says
which of (x, y) it would get, (1, 0, 0, 0), and whether it gets any, (1, 0, 1, 0), so that the
result is (y, b, x, d). Where several are added, a table says for each place which ones, and a row
of zeros fills it. Places that are computed are compared with every place: row i gets the updates j
with ``places[j] == i``.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.elementwise import converted
from polygym.graphs.onnx.operators.gather_scatter import (
    computed_indices,
    flat_places,
    index_shape,
    nonnegative_constants,
    nonnegative_indices,
    strides,
)
from polygym.rewrite.term import Term

_MAX_COMPARISONS = 1 << 26


@dataclass(frozen=True, slots=True)
class Combination:
    """A reduction of updates: the function of pairs, that along an axis, whether of negatives."""

    pairs: str
    along: str
    is_negated: bool = False

    def neutral(self, dtype: str) -> float:
        """Return the value that changes nothing."""
        match self.along:
            case "reduce-sum":
                return 0
            case "reduce-prod":
                return 1
        return -np.inf if dtype.startswith("float") else int(np.iinfo(dtype).min)


_COMBINATIONS = {
    b"add": Combination("add", "reduce-sum"),
    b"mul": Combination("mul", "reduce-prod"),
    b"max": Combination("maximum", "reduce-max"),
    b"min": Combination("minimum", "reduce-max", is_negated=True),
}


def _combination(node: OnnxNode) -> Combination | None:
    reduction = node.attribute("reduction", b"none")
    if reduction != b"none" and reduction not in _COMBINATIONS:
        text = reduction.decode(errors="replace")
        node.reject(f"expected none, add, mul, max or min for reduction, found {text!r}")
    return _COMBINATIONS.get(reduction)


def put_rows(
    node: OnnxNode, places: Array | Term, x: Term, updates: Term, how: Combination | None
) -> Term:
    """Put rows of updates at rows of x; of several that replace a row the last one stays."""
    if how is None:
        return _replaced(node, places, x, updates)
    if how.is_negated:
        updates = node.make("neg", updates)
    if isinstance(places, Term):
        together = _matched(node, places, x, updates, how)
    else:
        together = _listed(node, places, x, updates, how)
    if how.is_negated:
        together = node.make("neg", together)
    return node.pairwise(how.pairs, x, together)


def _replaced(node: OnnxNode, places: Array | Term, x: Term, updates: Term) -> Term:
    rows, dtype = node.builder.shape(x)[0], node.builder.tensor(x).dtype
    node.expect_small(rows)
    if isinstance(places, Term):
        (count,) = node.builder.shape(places)
        last = node.make("where", _matches(node, places, rows), node.weight(
            np.arange(count, dtype=np.int64), "updates"
        ), node.weight(np.asarray(-1, np.int64), "none"))  # fmt: skip
        last = node.make("reduce-max", 1, 0, last)
        zero = node.weight(np.zeros((), np.int64), "constant_0")
        put = node.make("gather", 0, updates, node.pairwise("maximum", last, zero))
        is_free = converted(node, node.make("less", last, zero), dtype)
        return node.make("where", node.builder.reshaped(is_free, (rows, 1)), x, put)
    source, hit = np.zeros(rows, np.int64), np.zeros((rows, 1), bool)
    source[places] = np.arange(len(places))
    hit[places] = True
    put = node.make("gather", 0, updates, node.weight(source, f"{node.names[1]}-source"))
    if hit.all():
        return put
    mask = node.weight(hit.astype(dtype), f"{node.names[1]}-mask")
    return node.make("where", mask, put, x)


def _matches(node: OnnxNode, places: Term, rows: int) -> Term:
    """Return whether row i gets update j."""
    (count,) = node.builder.shape(places)
    if rows * count > _MAX_COMPARISONS:
        node.reject(
            f"expected at most {_MAX_COMPARISONS} comparisons of computed indices with places, "
            f"found {count} with {rows}"
        )
    every = node.weight(np.arange(rows, dtype=np.int64).reshape(rows, 1), f"rows_{rows}")
    return node.make("equal", every, node.builder.reshaped(places, (1, count)))


def _matched(node: OnnxNode, places: Term, x: Term, updates: Term, how: Combination) -> Term:
    (rows, width), dtype = node.builder.shape(x), node.builder.tensor(x).dtype
    (count,) = node.builder.shape(places)
    if rows * count * width > _MAX_COMPARISONS:
        node.reject(
            f"expected at most {_MAX_COMPARISONS} updates by computed indices, found "
            f"{rows * count * width}"
        )
    hit = converted(node, _matches(node, places, rows), dtype)
    chosen = node.make(
        "where",
        node.builder.reshaped(hit, (rows, count, 1)),
        node.builder.reshaped(updates, (1, count, width)),
        node.scalar(how.neutral(dtype), x),
    )
    return node.make(how.along, 1, 0, chosen)


def _listed(node: OnnxNode, places: Array, x: Term, updates: Term, how: Combination) -> Term:
    (rows, width), dtype = node.builder.shape(x), node.builder.tensor(x).dtype
    table = update_table(node, places, rows)
    fill = node.weight(np.full((1, width), how.neutral(dtype), dtype), "neutral")
    padded = node.make("concat2", 0, updates, fill)
    chosen = node.make("gather", 0, padded, node.weight(table, f"{node.names[1]}-table"))
    return node.make(how.along, 1, 0, chosen)


def update_table(node: OnnxNode, places: Array, rows: int) -> Array:
    """Return for each row which updates it gets, filled by the number of updates."""
    counts = np.bincount(places, minlength=rows)
    node.expect_small(rows, max(int(counts.max(initial=1)), 1))
    table = np.full((rows, max(int(counts.max(initial=1)), 1)), len(places), np.int64)
    order = np.argsort(places, kind="stable")
    first = np.cumsum(counts) - counts
    table[places[order], np.arange(len(places)) - first[places[order]]] = order
    return table


def _scatter_slices(node: OnnxNode) -> Term:
    """Put slices at places, as ``y[:, 0] = …`` does."""
    how, x, updates = _combination(node), node.term(0), node.term(2)
    shape, chosen = node.builder.shape(x), node.shape(1)
    count = chosen[-1] if chosen else 0
    if not 1 <= count <= len(shape) or node.shape(2) != (*chosen[:-1], *shape[count:]):
        node.reject(
            f"expected updates for indices into {list(shape)}, found {list(chosen)} and "
            f"{list(node.shape(2))}"
        )
    known, extents = node.known_array(1), shape[:count]
    steps = np.array(strides(extents), np.int64)
    places: Array | Term
    if known is not None:
        array = nonnegative_constants(node, known, np.asarray(extents))
        places = (array * steps).sum(-1).reshape(-1)
    else:
        moved = nonnegative_indices(node, computed_indices(node, 1), extents)
        moved = node.builder.reshaped(moved, (prod(chosen[:-1]), count))
        moved = node.pairwise("mul", moved, node.weight(steps, "strides"))
        places = node.make("reduce-sum", 1, 0, moved)
    rows, width = prod(extents), prod(shape[count:])
    x = node.builder.reshaped(x, (rows, width))
    updates = node.builder.reshaped(updates, (prod(chosen[:-1]), width))
    return node.builder.reshaped(put_rows(node, places, x, updates, how), shape)


def _scatter_elements(node: OnnxNode) -> Term:
    """Put elements at places along an axis."""
    how, x, updates = _combination(node), node.term(0), node.term(2)
    shape = node.builder.shape(x)
    chosen, axis = index_shape(node, shape)
    if node.shape(2) != chosen:
        node.reject(f"expected updates of shape {list(chosen)}, found {list(node.shape(2))}")
    known = node.known_array(1)
    if known is not None:
        along = node.weight(nonnegative_constants(node, known, np.asarray(shape[axis])))
    else:
        along = nonnegative_indices(node, computed_indices(node, 1), (shape[axis],))
    flat = flat_places(node, along, shape, axis)
    values = node.builder.value(flat)
    count = prod(chosen)
    places = node.builder.reshaped(flat, (count,)) if values is None else values.reshape(-1)
    x = node.builder.reshaped(x, (prod(shape), 1))
    made = put_rows(node, places, x, node.builder.reshaped(updates, (count, 1)), how)
    return node.builder.reshaped(made, shape)


def _image_of_columns(node: OnnxNode) -> Term:
    """Add the columns of windows where they lie in the image."""
    image, block = node.integers(1, "the image"), node.integers(2, "the block")
    rank, shape = len(image), node.shape(0)
    stride, gaps = (
        tuple(node.attribute(name, ()) or (1,) * rank) for name in ("strides", "dilations")
    )
    pads = tuple(node.attribute("pads", ()) or (0,) * (2 * rank))
    if len(shape) != 3 or not len(block) == len(stride) == len(gaps) == len(pads) / 2 == rank:
        node.reject(f"expected windows of {rank} dimensions, found the shape {list(shape)}")
    if min((*image, *block, *stride, *gaps), default=0) < 1 or min(pads) < 0:
        node.reject("expected extents from 1 on, and pads from 0 on")
    counts = [
        (image[k] + pads[k] + pads[rank + k] - gaps[k] * (block[k] - 1) - 1) // stride[k] + 1
        for k in range(rank)
    ]
    if min(counts) < 1 or shape[1] % prod(block) or shape[2] != prod(counts):
        node.reject(f"expected {prod(counts)} columns of {prod(block)} rows, found {list(shape)}")
    node.expect_small(*block, *counts)
    inside, flat = np.ones((1,) * 2 * rank, bool), np.zeros((1,) * 2 * rank, np.int64)
    for k in range(rank):
        at = [-1 if axis == k else 1 for axis in range(2 * rank)]
        beside = [-1 if axis == rank + k else 1 for axis in range(2 * rank)]
        place = np.arange(block[k]).reshape(at) * gaps[k] - pads[k]
        place = place + np.arange(counts[k]).reshape(beside) * stride[k]
        inside = inside & (place >= 0) & (place < image[k])
        flat = flat * image[k] + place
    sources = np.flatnonzero(inside)
    table = update_table(node, flat.reshape(-1)[sources], prod(image))
    total = prod(block) * prod(counts)
    table = np.append(sources, total)[table]
    channels = shape[1] // prod(block)
    x = node.builder.reshaped(node.term(0), (shape[0], channels, total))
    x = node.make("pad", 0, "0-0-0-0-0-1", x)
    made = node.make("gather", 2, x, node.weight(table, "windows"))
    made = node.make("reduce-sum", 3, 0, made)
    return node.builder.reshaped(made, (shape[0], channels, *image))


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("ScatterND", _scatter_slices, "reduction"),
    OnnxImport("ScatterElements", _scatter_elements, "axis reduction"),
    OnnxImport("Scatter", _scatter_elements, "axis"),
    OnnxImport("Col2Im", _image_of_columns, "dilations pads strides"),
)
