"""Operators that move elements, from ONNX."""

from collections.abc import Sequence
from math import isfinite, isnan, prod
from typing import Any

import numpy as np

from polygym.graphs.onnx.format import Array
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode, computing_type
from polygym.graphs.onnx.operators.elementwise import converted, expand_to, nonzero
from polygym.graphs.onnx.operators.gather_scatter import nonnegative_indices
from polygym.graphs.operators.types import HALF_TYPES, shape_text
from polygym.rewrite.term import Term

_PADS: dict[bytes, Any] = {
    b"constant": "constant", b"reflect": "reflect", b"edge": "edge", b"wrap": "wrap",
}  # fmt: skip
"""What may stand around a tensor, by its names in ONNX and in NumPy."""

_MAX_POSITIONS = 1 << 24


def _transpose(node: OnnxNode) -> Term:
    x = node.term(0)
    rank = len(node.builder.shape(x))
    order = node.attribute("perm") or tuple(reversed(range(rank)))
    return node.builder.transposed(x, node.axes(order, rank) and tuple(order))


def _reshape(node: OnnxNode) -> Term:
    """Where the new shape has 0 the extent stays, and -1 is what is left."""
    x, wanted = node.term(0), list(node.integers(1, "the shape"))
    shape = node.builder.shape(x)
    if not node.attribute("allowzero", 0):
        for place, extent in enumerate(wanted):
            if extent == 0 and place < len(shape):
                wanted[place] = shape[place]
    total = prod(shape)
    if wanted.count(-1) == 1:
        rest = prod(extent for extent in wanted if extent != -1)
        if rest > 0 and total % rest == 0:
            wanted[wanted.index(-1)] = total // rest
    if min(wanted, default=1) < 1 or prod(wanted) != total:
        node.reject(f"expected a shape of {total} elements as {list(shape)} has, found {wanted}")
    return node.builder.reshaped(x, tuple(wanted))


def _flatten(node: OnnxNode) -> Term:
    x = node.term(0)
    shape = node.builder.shape(x)
    rank, axis = len(shape), node.attribute("axis", 1)
    at = rank if axis == rank else node.axis(axis, rank)
    return node.builder.reshaped(x, (prod(shape[:at]), prod(shape[at:])))


def _given_axes(node: OnnxNode, place: int) -> tuple[int, ...] | None:
    """Return axes, which were an attribute before opset 13."""
    if node.has(place):
        return node.integers(place, "axes")
    result = node.attribute("axes")
    return None if result is None else tuple(result)


def _squeeze(node: OnnxNode) -> Term:
    x = node.term(0)
    shape = node.builder.shape(x)
    said = _given_axes(node, 1)
    if said is None:
        return node.builder.reshaped(x, tuple(extent for extent in shape if extent != 1))
    axes = node.axes(said, len(shape))
    if any(shape[axis] != 1 for axis in axes):
        node.reject(f"expected extents of 1 at the axes {axes}, found the shape {list(shape)}")
    rest = tuple(extent for place, extent in enumerate(shape) if place not in axes)
    return node.builder.reshaped(x, rest)


def _unsqueeze(node: OnnxNode) -> Term:
    x = node.term(0)
    shape = node.builder.shape(x)
    said = _given_axes(node, 1) or ()
    axes = node.axes(said, len(shape) + len(said))
    extents = iter(shape)
    wide = (1 if place in axes else next(extents) for place in range(len(shape) + len(axes)))
    return node.builder.reshaped(x, tuple(wide))


def _concat(node: OnnxNode) -> Term:
    places = [place for place in range(len(node.values)) if prod(node.shape(place))]
    parts = [node.term(place) for place in places]
    if not parts:
        node.reject("expected elements, found none")
    axis = node.axis(node.attribute("axis", 1), len(node.builder.shape(parts[0])))
    return parts[0] if len(parts) == 1 else node.make(f"concat{len(parts)}", axis, *parts)


def _split(node: OnnxNode) -> tuple[Term, ...]:
    """[a b c] becomes a and [b c], then b and c."""
    x = node.term(0)
    shape = node.builder.shape(x)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    extent, count = shape[axis], node.attribute("num_outputs") or len(node.outputs)
    if node.has(1):
        sizes = node.integers(1, "the sizes")
    elif node.attribute("split"):
        sizes = tuple(node.attribute("split"))
    else:
        each = -(-extent // count)
        sizes = (*(each,) * (count - 1), extent - each * (count - 1))
    if min(sizes) < 1 or sum(sizes) != extent or len(sizes) < len(node.outputs):
        node.reject(f"expected sizes from 1 on that add up to {extent}, found {list(sizes)}")
    parts = []
    for size in sizes[:-1]:
        both = node.make("split", axis, size, x)
        parts.append(node.make("split0", both))
        x = node.make("split1", both)
    return (*parts, x)


def _slice(node: OnnxNode) -> Term:
    x = node.term(0)
    rank = len(node.builder.shape(x))
    if node.opset < 10:
        starts, ends = node.attribute("starts"), node.attribute("ends")
        axes, steps = node.attribute("axes"), None
    else:
        starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
        axes = node.integers(3, "axes") if node.has(3) else None
        steps = node.integers(4, "steps") if node.has(4) else None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        node.reject("expected as many starts as ends, axes and steps")
    node.axes(axes, rank)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        x = _range(node, x, start, end, node.axis(axis, rank), step)
    return x


def _range(node: OnnxNode, x: Term, start: int, end: int, axis: int, step: int) -> Term:
    """Return a range along an axis; bounds below 0 count from the end."""
    extent = node.builder.shape(x)[axis]
    if step == 0:
        node.reject("expected a step that is not 0, found 0")
    if step < 0:
        return _reversed_range(node, x, axis, np.arange(extent)[slice(start, end, step)])
    first, last, _ = slice(start, end, step).indices(extent)
    if first >= last:
        node.reject(f"expected a range with elements of {extent}, found {start} to {end}")
    return (
        x
        if (first, last, step) == (0, extent, 1)
        else node.make("slice", axis, first, last, step, x)
    )


def _reversed_range(node: OnnxNode, x: Term, axis: int, places: Array) -> Term:
    """Return a range whose elements stand in reversed order: chosen one by one."""
    if not places.size:
        node.reject("expected a range with elements, found none")
    indices = node.weight(places.astype(np.int64), f"backwards_{places.size}")
    return node.make("gather", axis, x, indices)


def _gather(node: OnnxNode) -> Term:
    """Choose slices; a single one that is known is a range of 1."""
    table = node.term(0)
    shape = node.builder.shape(table)
    axis = node.axis(node.attribute("axis", 0), len(shape))
    known = node.known_array(1)
    if known is None:
        places = nonnegative_indices(node, node.term(1), (shape[axis],))
        return node.make("gather", axis, table, places)
    if known.size and not -shape[axis] <= known.min() <= known.max() < shape[axis]:
        node.reject(f"expected indices below {shape[axis]}, found {known.min()} to {known.max()}")
    chosen = np.where(known < 0, known + shape[axis], known).astype(known.dtype)
    if chosen.size == 1:
        at = int(chosen.reshape(()))
        part = _range(node, table, at, at + 1, axis, 1)
        return node.builder.reshaped(part, (*shape[:axis], *chosen.shape, *shape[axis + 1 :]))
    return node.make("gather", axis, table, node.weight(chosen, node.names[1]))


def _pad(node: OnnxNode) -> Term:
    x = node.term(0)
    shape = node.builder.shape(x)
    rank, mode = len(shape), node.attribute("mode", b"constant")
    if mode not in _PADS:
        known = ", ".join(word.decode() for word in _PADS)
        node.reject(f"expected the mode {known}, found {mode.decode(errors='replace')}")
    said = node.integers(1, "pads") if node.opset >= 11 else tuple(node.attribute("pads"))
    axes = node.integers(3, "axes") if node.has(3) else tuple(range(rank))
    node.axes(axes, rank)
    if len(said) != 2 * len(axes):
        node.reject(f"expected {2 * len(axes)} pads, found {len(said)}")
    value = pad_value(node)
    pads = [0] * (2 * rank)
    for place, axis in enumerate(axes):
        axis = node.axis(axis, rank)
        before, after = said[place], said[len(axes) + place]
        if min(before, after) < 0:  # a pad below 0 takes away
            x = _range(node, x, max(-before, 0), shape[axis] - max(-after, 0), axis, 1)
        pads[axis], pads[rank + axis] = max(before, 0), max(after, 0)
    if mode != b"constant":
        return _pad_by_copies(node, x, pads, mode)
    if not any(pads) or not isnan(value):
        return node.make("pad", value, shape_text(tuple(pads)), x) if any(pads) else x
    inside = np.pad(
        np.ones(node.builder.shape(x)), list(zip(pads[:rank], pads[rank:], strict=True))
    )
    mask = node.weight(inside.astype(node.builder.tensor(x).dtype), "inside")
    padded = node.make("pad", 0, shape_text(tuple(pads)), x)
    return node.make("where", mask, padded, node.scalar(value, x))


def _pad_by_copies(node: OnnxNode, x: Term, pads: Sequence[int], mode: bytes) -> Term:
    """Put elements of the tensor itself around it: those at the border, mirrored or the others."""
    shape = node.builder.shape(x)
    for axis, extent in enumerate(shape):
        around = pads[axis], pads[len(shape) + axis]
        if not any(around):
            continue
        if mode == b"reflect" and max(around) >= extent:
            node.reject(f"expected pads below {extent} for axis {axis}, found {list(around)}")
        if extent + sum(around) > _MAX_POSITIONS:
            node.reject(f"expected at most {_MAX_POSITIONS} places, found {extent + sum(around)}")
        places = np.pad(np.arange(extent), around, mode=_PADS[mode])
        indices = node.weight(places.astype(np.int64), f"places_{axis}")
        x = node.make("gather", axis, x, indices)
    return x


def pad_value(node: OnnxNode) -> int | float:
    """Return the value of a pad."""
    if node.opset < 11:
        result = float(node.attribute("value", 0.0))
    elif node.has(2):
        given = node.array(2, "the value")
        if given.size != 1:
            node.reject(f"expected one value, found {given.size}")
        result = float(str(given.reshape(())))
    else:
        result = 0.0
    return int(result) if isfinite(result) and result == int(result) else result


def _centre_crop_pad(node: OnnxNode) -> Term:
    """Cut or fill with zeros on both sides of axes until they have given extents."""
    x, wanted = node.term(0), node.integers(1, "the shape")
    rank = len(node.builder.shape(x))
    said = node.attribute("axes") or range(rank)
    axes = [node.axis(axis, rank) for axis in said]
    if len(axes) != len(wanted) or len(set(axes)) != len(axes) or min(wanted, default=1) < 1:
        node.reject(f"expected {len(axes)} extents from 1 on, found {list(wanted)}")
    pads = [0] * (2 * rank)
    for axis, extent in zip(axes, wanted, strict=True):
        own = node.builder.shape(x)[axis]
        first = (own - extent) // 2 if own > extent else 0
        x = _range(node, x, first, first + min(own, extent), axis, 1)
        missing = max(extent - own, 0)
        pads[axis], pads[rank + axis] = missing // 2, missing - missing // 2
    return node.make("pad", 0, shape_text(tuple(pads)), x) if any(pads) else x


def _expand(node: OnnxNode) -> Term:
    x, wanted = node.term(0), node.integers(1, "the shape")
    shape = node.broadcast(node.builder.shape(x), wanted)
    return expand_to(node, x, shape)


def _tile(node: OnnxNode) -> Term:
    """(a, b) by (r, s): (1, a, 1, b) is repeated to (r, a, s, b)."""
    x, repeats = node.term(0), node.integers(1, "repeats")
    shape = node.builder.shape(x)
    if len(repeats) != len(shape) or min(repeats, default=1) < 1:
        node.reject(f"expected {len(shape)} repeats from 1 on, found {list(repeats)}")
    narrow = tuple(size for extent in shape for size in (1, extent))
    wide = tuple(size for pair in zip(repeats, shape, strict=True) for size in pair)
    x = expand_to(node, node.builder.reshaped(x, narrow), wide)
    total = tuple(times * extent for times, extent in zip(repeats, shape, strict=True))
    return node.builder.reshaped(x, total)


def _cast(node: OnnxNode) -> Term:
    """Convert elements; what becomes of narrow types is settled after every operator."""
    x, (wanted, *_) = node.term(0), node.result_types
    if wanted == "bool":
        return x if node.types[0] == "bool" else nonzero(node, x)
    if wanted in HALF_TYPES:  # rounded once, also from integers
        is_integer = node.builder.tensor(x).is_integer
        x = node.make("round-to", wanted, converted(node, x, "float64") if is_integer else x)
    return converted(node, x, computing_type(wanted))


def _block_geometry(node: OnnxNode) -> tuple[int, int, int, int, int, Term]:
    x, block = node.term(0), node.attribute("blocksize")
    shape = node.builder.shape(x)
    if len(shape) != 4 or block < 1:
        node.reject(f"expected an image and a size of blocks, found {list(shape)} and {block}")
    count, channels, height, width = shape
    return count, channels, height, width, block, x


def _depth_to_space(node: OnnxNode) -> Term:
    count, channels, height, width, block, x = _block_geometry(node)
    if channels % block**2:
        node.reject(f"expected channels in parts of {block**2}, found {channels}")
    rest = channels // block**2
    if node.attribute("mode", b"DCR") == b"CRD":
        shape, order = (count, rest, block, block, height, width), (0, 1, 4, 2, 5, 3)
    else:
        shape, order = (count, block, block, rest, height, width), (0, 3, 4, 1, 5, 2)
    moved = node.builder.transposed(node.builder.reshaped(x, shape), order)
    return node.builder.reshaped(moved, (count, rest, height * block, width * block))


def _space_to_depth(node: OnnxNode) -> Term:
    count, channels, height, width, block, x = _block_geometry(node)
    if height % block or width % block:
        node.reject(f"expected an image in blocks of {block}, found {height} by {width}")
    shape = (count, channels, height // block, block, width // block, block)
    moved = node.builder.transposed(node.builder.reshaped(x, shape), (0, 3, 5, 1, 2, 4))
    extents = (count, channels * block**2, height // block, width // block)
    return node.builder.reshaped(moved, extents)


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("Transpose", _transpose, "perm"),
    OnnxImport("Reshape", _reshape, "allowzero"),
    OnnxImport("Flatten", _flatten, "axis"),
    OnnxImport("Squeeze", _squeeze, "axes"),
    OnnxImport("Unsqueeze", _unsqueeze, "axes"),
    OnnxImport("Concat", _concat, "axis"),
    OnnxImport("Split", _split, "axis num_outputs split"),
    OnnxImport("Slice", _slice, "axes ends starts"),
    OnnxImport("Gather", _gather, "axis"),
    OnnxImport("Pad", _pad, "mode pads value"),
    OnnxImport("CenterCropPad", _centre_crop_pad, "axes"),
    OnnxImport("Expand", _expand),
    OnnxImport("Tile", _tile),
    OnnxImport("Cast", _cast, "saturate to"),
    OnnxImport("CastLike", _cast, "saturate"),
    OnnxImport("DepthToSpace", _depth_to_space, "blocksize mode"),
    OnnxImport("SpaceToDepth", _space_to_depth, "blocksize"),
)
