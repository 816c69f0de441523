"""Images made larger or smaller, from ONNX: nearest, linear and cubic.

Axis by axis, an element of the result is a sum of a few elements of the image times known numbers:
place p of the result lies at c(p) of the image, where c depends on the mode; nearest takes the
element there, linear the two around it, cubic four. So an axis is a few ``gather`` along it with
known indices, times known weights. Numbers are in single precision, as onnxruntime has them.

Example: [a b] twice as large, linear and half-pixel, is at -0.25, 0.25, 0.75, 1.25 of the image:
[a, 0.75 a + 0.25 b, 0.25 a + 0.75 b, b], as places outside have the element at the border.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.graphs.ir.build import shape_literal
from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.rewrite.term import Term

_Array = np.ndarray[Any, Any]

_MODES = (
    "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
    "tf_crop_and_resize",
)  # fmt: skip
_ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True, slots=True)
class _ResizedAxis:
    """An axis that becomes another one, and how many elements there are to one of before."""

    number: int
    before: int
    after: int
    scale: float
    crop: tuple[float, float] | None = None


def _text(node: OnnxNode, name: str, default: bytes, known: tuple[str, ...]) -> str:
    result = str(node.attribute(name, default).decode(errors="replace"))
    if result not in known:
        node.reject(f"expected one of {', '.join(known)} for {name}, found {result}")
    return result


def _axes(node: OnnxNode, places: tuple[int, int]) -> list[_ResizedAxis]:
    """Return the axes that change; ``places`` are where the scales and the sizes stand."""
    shape = node.shape(0)
    said = node.attribute("axes")
    axes = [node.axis(index, len(shape)) for index in (range(len(shape)) if said is None else said)]
    scales_at, sizes_at = places
    sizes: tuple[int, ...] | None = None
    if node.has(sizes_at):
        sizes = node.integers(sizes_at, "sizes") or None
    if sizes is not None:
        scales = [extent / shape[axis] for extent, axis in zip(sizes, axes, strict=False)]
        sizes, scales = _with_aspect_ratio(node, sizes, scales, [shape[axis] for axis in axes])
    elif node.has(scales_at):
        scales = [float(factor) for factor in node.array(scales_at, "scales").reshape(-1)]
    else:
        scales = [float(factor) for factor in node.attribute("scales") or ()]
    crops = _crops(node, len(axes))
    if len(scales) != len(axes) or not all(np.isfinite(scales)) or min(scales, default=1) <= 0:
        node.reject(f"expected {len(axes)} scales or sizes above 0, found {sizes or scales}")
    result = []
    for place, (axis, scale) in enumerate(zip(axes, scales, strict=True)):
        extent = shape[axis]
        after = (
            sizes[place]
            if sizes is not None
            else int(np.floor(np.float32(min(extent * scale, 1e12))))
        )
        node.expect_small(after)
        if after < 1:
            node.reject(f"expected extents from 1 on, found {after} for axis {axis}")
        crop = None if crops is None else (float(crops[place]), float(crops[len(axes) + place]))
        if after != extent or scale != 1 or crop not in (None, (0.0, 1.0)):
            result.append(_ResizedAxis(axis, extent, after, scale, crop))
    return result


def _with_aspect_ratio(
    node: OnnxNode, sizes: tuple[int, ...], scales: list[float], extents: list[int]
) -> tuple[tuple[int, ...], list[float]]:
    """Return sizes and scales that are one for all axes, if the policy says so."""
    policies = ("stretch", "not_larger", "not_smaller")
    policy = _text(node, "keep_aspect_ratio_policy", b"stretch", policies)
    if policy == "stretch" or not scales:
        return sizes, scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return tuple(int(np.floor(scale * extent + 0.5)) for extent in extents), [scale] * len(scales)


def _crops(node: OnnxNode, count: int) -> _Array | None:
    """Return the parts of the axes that are looked at: where each begins, where each ends."""
    if node.attribute("coordinate_transformation_mode", b"") != b"tf_crop_and_resize":
        return None
    crops = node.array(1, "the region").reshape(-1)
    if crops.size != 2 * count:
        node.reject(f"expected {2 * count} numbers for the region, found {crops.size}")
    return crops


def _coordinates(axis: _ResizedAxis, mode: str) -> _Array:
    """Return where the elements of the result lie in the image, in single precision."""
    places, unit, half = np.arange(axis.after, dtype=np.float32), np.float32(1), np.float32(0.5)
    scale = np.float32(axis.scale)
    match mode:
        case "asymmetric":
            return places / scale
        case "align_corners":
            length = np.float32(axis.scale * axis.before)
            if length == 1:
                return places * 0
            return places * np.float32(axis.before - 1) / (length - unit)
        case "tf_crop_and_resize":
            first, last = map(np.float32, axis.crop or (0, 1))
            wide = np.float32(axis.before - 1)
            if axis.after == 1:
                return places * 0 + half * (first + last) * wide
            return first * wide + places * (last - first) * wide / np.float32(axis.after - 1)
        case "pytorch_half_pixel" if axis.after == 1:
            return places * 0
        case "half_pixel_symmetric":
            adjusted = np.float32(axis.after) / (scale * np.float32(axis.before))
            centre = np.float32(axis.before) / 2
            return centre * (unit - adjusted) + (places + half) / scale - half
        case _:
            return (places + half) / scale - half


def _nearest(axis: _ResizedAxis, at: _Array, rounding: str) -> list[tuple[_Array, _Array | None]]:
    match rounding:
        case "floor":
            chosen = np.floor(at)
        case "ceil":
            chosen = np.ceil(at)
        case "round_prefer_ceil":
            chosen = np.floor(at + np.float32(0.5))
        case _:
            chosen = np.ceil(at - np.float32(0.5))
    return [(np.clip(chosen, 0, axis.before - 1), None)]


def _linear(axis: _ResizedAxis, at: _Array) -> list[tuple[_Array, _Array | None]]:
    inside = np.clip(at, 0, np.float32(axis.before - 1))
    low = np.floor(inside)
    part = inside - low
    high = np.minimum(low + 1, axis.before - 1)
    return [(low, 1 - part), (high, part)]


def _cubic(
    axis: _ResizedAxis, at: _Array, a: float, excludes: bool
) -> list[tuple[_Array, _Array | None]]:
    """Weights of Keys' kernel: 1 at distance 0, 0 at 1 and 2."""
    first = np.floor(at)
    places = [first + shift for shift in (-1, 0, 1, 2)]
    weights = []
    for place in places:
        d = np.abs(at - place).astype(np.float64)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        weights.append(np.where(d <= 1, near, np.where(d < 2, far, 0.0)))
    if excludes:
        weights = [
            np.where((place >= 0) & (place < axis.before), weight, 0.0)
            for place, weight in zip(places, weights, strict=True)
        ]
        total = np.sum(weights, axis=0)
        weights = [weight / total for weight in weights]
    return [
        (np.clip(place, 0, axis.before - 1), weight)
        for place, weight in zip(places, weights, strict=True)
    ]


def _spread_weights(axis: _ResizedAxis, at: _Array, kind: str, a: float, excludes: bool) -> _Array:
    """Return (before, after): shares of a kernel that is as wide as an element of the result."""
    scale, reach = min(axis.scale, 1.0), 1 if kind == "linear" else 2
    first = int(np.floor(-reach / scale)) + 1
    base = np.ceil(at).astype(np.int64) - 1  # the element before, also of whole numbers
    taps = np.arange(first, 2 * reach - first)[: 2 * reach - 2 * first]
    d = np.abs((taps - (at - base)[:, None].astype(np.float64)) * scale)
    if kind == "linear":
        shares = np.clip(1 - d, 0, 1)
    else:
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        shares = np.where(
            d < 1, near, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0)
        )
    places = base[:, None] + taps
    if excludes:
        shares = np.where((places >= 0) & (places < axis.before), shares, 0.0)
    shares = shares / shares.sum(1, keepdims=True)
    matrix = np.zeros((axis.before, axis.after))
    rows = np.clip(places, 0, axis.before - 1)
    np.add.at(matrix, (rows, np.broadcast_to(np.arange(axis.after)[:, None], rows.shape)), shares)
    return matrix


def _times_matrix(node: OnnxNode, x: Term, axis: int, matrix: _Array) -> Term:
    """Return the product of an axis by a known matrix."""
    builder, rank = node.builder, len(node.builder.shape(x))
    order = (*(place for place in range(rank) if place != axis), axis)
    x = builder.transposed(x, order)
    outer = builder.shape(x)[:-1]
    weight = node.weight(matrix.astype(builder.tensor(x).dtype), f"shares_{axis}")
    rows = builder.reshaped(x, (int(np.prod(outer)), matrix.shape[0]))
    y = builder.reshaped(node.make("matmul", "none", rows, weight), (*outer, matrix.shape[1]))
    return builder.transposed(y, tuple(order.index(place) for place in range(rank)))


def _outside_replaced(node: OnnxNode, x: Term, axis: _ResizedAxis, at: _Array) -> Term:
    """Return x with a value where places lie outside of the image, if they are cropped."""
    inside = (at >= 0) & (at <= axis.before - 1)
    if axis.crop is None or inside.all():
        return x
    value = node.scalar(float(np.float32(node.attribute("extrapolation_value", 0.0))), x)
    shape = (axis.after, *(1,) * (len(node.builder.shape(x)) - 1 - axis.number))
    mask = inside.astype(node.builder.tensor(x).dtype).reshape(shape)
    return node.make("where", node.weight(mask, "inside"), x, value)


def _weighted_gather(
    node: OnnxNode, x: Term, axis: _ResizedAxis, parts: list[tuple[_Array, _Array | None]]
) -> Term:
    """Return the sum of elements chosen along an axis, each times its weight."""
    rank = len(node.builder.shape(x))
    dtype = node.builder.tensor(x).dtype
    term: Term | None = None
    for places, weights in parts:
        if weights is not None and not weights.any():
            continue
        indices = node.weight(places.astype(np.int64), f"places_{axis.number}")
        chosen = node.make("gather", axis.number, x, indices)
        if weights is not None:
            spread = weights.astype(dtype).reshape(-1, *(1,) * (rank - 1 - axis.number))
            chosen = node.pairwise("mul", chosen, node.weight(spread, f"shares_{axis.number}"))
        term = chosen if term is None else node.pairwise("add", term, chosen)
    assert term is not None, "weights add up to 1"
    return term


def _repeat_elements(node: OnnxNode, x: Term, axis: _ResizedAxis) -> Term:
    """Repeat every element: (…, n, …) is (…, n, 1, …), then (…, n, times, …)."""
    shape, place = node.builder.shape(x), axis.number + 1
    times = axis.after // axis.before
    wide = node.make(
        "expand",
        node.builder.reshaped(x, (*shape[:place], 1, *shape[place:])),
        shape_literal((*shape[:place], times, *shape[place:])),
    )
    return node.builder.reshaped(wide, (*shape[: place - 1], axis.after, *shape[place:]))


def _resize_axes(
    node: OnnxNode, axes: list[_ResizedAxis], kind: str, mode: str, rounding: str
) -> Term:
    x = node.term(0)
    for axis in axes:
        at = _coordinates(axis, mode)
        a = float(np.float32(node.attribute("cubic_coeff_a", -0.75)))
        excludes = bool(node.attribute("exclude_outside", 0))
        if node.attribute("antialias", 0) and kind != "nearest" and axis.scale < 1:
            node.expect_small(axis.before, axis.after)
            matrix = _spread_weights(axis, at, kind, a, excludes)
            x = _outside_replaced(node, _times_matrix(node, x, axis.number, matrix), axis, at)
            continue
        if kind == "nearest":
            parts = _nearest(axis, at, rounding)
            order = np.repeat(np.arange(axis.before), max(axis.after // axis.before, 1))
            if axis.after > axis.before and np.array_equal(parts[0][0], order):
                x = _repeat_elements(node, x, axis)
                continue
        elif kind == "linear":
            parts = _linear(axis, at)
        else:
            parts = _cubic(axis, at, a, excludes)
        x = _outside_replaced(node, _weighted_gather(node, x, axis, parts), axis, at)
    return x


def _resize(node: OnnxNode) -> Term:
    kind = _text(node, "mode", b"nearest", ("nearest", "linear", "cubic"))
    places = (1, -1) if node.opset == 10 else (2, 3)
    default = b"asymmetric" if node.opset == 10 else b"half_pixel"
    mode = _text(node, "coordinate_transformation_mode", default, _MODES)
    usual = b"floor" if node.opset == 10 else b"round_prefer_floor"
    rounding = _text(node, "nearest_mode", usual, _ROUNDING)
    if node.builder.tensor(node.term(0)).dtype.startswith("int") and kind != "nearest":
        node.reject(f"expected floating-point numbers for {kind}, found integers")
    return _resize_axes(node, _axes(node, places), kind, mode, rounding)


def _upsample(node: OnnxNode) -> Term:
    """The operator before Resize: asymmetric, the nearest below."""
    kind = _text(node, "mode", b"nearest", ("nearest", "linear"))
    return _resize_axes(node, _axes(node, (1, -1)), kind, "asymmetric", "floor")


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport(
        "Resize",
        _resize,
        "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
        "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
    ),
    OnnxImport("Upsample", _upsample, "mode scales"),
)
