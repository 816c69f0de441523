"""Images sampled at computed places, from ONNX: grids of places, and what lies there.

Place p of an axis lies between elements floor(p) and floor(p) + 1; nearest takes one of them,
linear both with shares, cubic four. Elements of an image (n, c, h, w) stand as rows of a table
(n · h · w, c), and each corner of a place is a row of it. Places outside of the image are moved to
its border, or mirrored, or have zeros.
"""

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from polygym.graphs.onnx.nodes import OnnxImport, OnnxNode
from polygym.graphs.onnx.operators.matrix_products import broadcast_matmul
from polygym.graphs.operators.types import shape_text
from polygym.rewrite.term import Term

_MODES = {b"linear": "linear", b"bilinear": "linear", b"nearest": "nearest", b"cubic": "cubic",
          b"bicubic": "cubic"}  # fmt: skip
_PADDINGS = (b"zeros", b"border", b"reflection")
_CUBIC = -0.75


def _shifted(node: OnnxNode, x: Term, by: float) -> Term:
    return node.pairwise("add", x, node.scalar(by, x)) if by else x


def _scaled(node: OnnxNode, x: Term, by: float) -> Term:
    return node.pairwise("mul", x, node.scalar(by, x)) if by != 1 else x


def _places(node: OnnxNode, grid: Term, extent: int, aligned: bool) -> Term:
    """Return places in elements for those from -1 to 1."""
    if aligned:
        return _scaled(node, _shifted(node, grid, 1.0), (extent - 1) / 2)
    return _scaled(node, _shifted(node, _scaled(node, grid, extent), extent - 1.0), 0.5)


def _mirrored(node: OnnxNode, x: Term, extent: int, aligned: bool) -> Term:
    """Return places mirrored at the borders until they lie inside: a triangular wave."""
    low, high = (0.0, extent - 1.0) if aligned else (-0.5, extent - 0.5)
    span = high - low
    if span == 0:
        return _scaled(node, x, 0.0)
    apart = node.make("abs", _shifted(node, x, -low))
    rounds = node.make("floor", _scaled(node, apart, 1 / span))
    rest = node.pairwise("sub", apart, _scaled(node, rounds, span))
    half = node.make("floor", _scaled(node, rounds, 0.5))
    is_odd = node.pairwise("sub", rounds, _scaled(node, half, 2.0))
    turned = node.pairwise("sub", node.scalar(span, x), rest)
    return _shifted(node, node.make("where", is_odd, turned, rest), low)


class _Sampler:
    """An image as a table of rows, and how places outside of it are treated."""

    def __init__(self, node: OnnxNode) -> None:
        self.node, self.padding = node, node.attribute("padding_mode", b"zeros")
        self.aligned = bool(node.attribute("align_corners", 0))
        x, builder = node.term(0), node.builder
        self.count, self.channels, *self.size = builder.shape(x)
        order = (0, *range(2, 2 + len(self.size)), 1)
        rows = builder.transposed(x, order)
        rows = builder.reshaped(rows, (self.count * prod(self.size), self.channels))
        self.table = rows

    def padded(self, x: Term, extent: int) -> Term:
        """Return whole or broken places inside of the image; those for zeros stay."""
        node = self.node
        if self.padding == b"border":
            return node.make("clip", 0.0, extent - 1.0, x)
        if self.padding == b"reflection":
            inside = _mirrored(node, x, extent, self.aligned)
            return node.make("clip", 0.0, extent - 1.0, inside)
        return x

    def rows_at(self, places: Sequence[Term]) -> Term:
        """Return (n, …, c): the elements at whole places, zeros outside."""
        node, builder = self.node, self.node.builder
        flat: Term | None = None
        inside: Term | None = None
        for place, extent in zip(places, self.size, strict=True):
            place = self.padded(place, extent)
            kept = node.make("clip", 0.0, extent - 1.0, place)
            kept = node.make("where", node.make("equal", place, place), kept, node.scalar(0, kept))
            if self.padding == b"zeros":
                is_inside = node.make("equal", kept, place)
                inside = is_inside if inside is None else node.pairwise("mul", inside, is_inside)
            index = node.make("cast", "int64", kept)
            flat = index if flat is None else _flat(node, flat, index, extent)
        assert flat is not None, "images have axes"
        first = np.arange(self.count).reshape(-1, *(1,) * (len(builder.shape(flat)) - 1))
        flat = node.pairwise("add", flat, node.weight(first * prod(self.size), "images"))
        rows = node.make("gather", 0, self.table, flat)
        if inside is None:
            return rows
        wide = builder.reshaped(inside, (*builder.shape(inside), 1))
        return node.make("where", wide, rows, node.scalar(0.0, rows))


def _flat(node: OnnxNode, rows: Term, column: Term, extent: int) -> Term:
    return node.pairwise("add", _scaled(node, rows, extent), column)


def _corners(node: OnnxNode, mode: str, x: Term) -> list[tuple[Term, Term | None]]:
    """Return whole places around a place, each with its share."""
    if mode == "nearest":
        return [(node.make("round", x), None)]
    low = node.make("floor", x)
    rest = node.pairwise("sub", x, low)
    if mode == "linear":
        return [
            (low, node.pairwise("sub", node.scalar(1.0, x), rest)),
            (_shifted(node, low, 1.0), rest),
        ]
    return [
        (_shifted(node, low, step), _cubic_share(node, _shifted(node, rest, -step)))
        for step in (-1.0, 0.0, 1.0, 2.0)
    ]


def _cubic_share(node: OnnxNode, distance: Term) -> Term:
    """Return Keys' kernel of a distance from -2 to 2."""
    d = node.make("abs", distance)

    def horner(*coefficients: float) -> Term:
        total = node.scalar(coefficients[0], d)
        for number in coefficients[1:]:
            total = node.pairwise("mul", total, d)
            total = node.pairwise("add", total, node.scalar(number, d))
        return total

    a = _CUBIC
    near, far = horner(a + 2, -(a + 3), 0.0, 1.0), horner(a, -5 * a, 8 * a, -4 * a)
    return node.make("where", node.make("less", node.scalar(1.0, d), d), far, near)


def _grid_sample(node: OnnxNode) -> Term:
    shape, chosen = node.shape(0), node.shape(1)
    mode, padding = node.attribute("mode", b"linear"), node.attribute("padding_mode", b"zeros")
    rank = len(shape) - 2
    if mode not in _MODES or padding not in _PADDINGS:
        node.reject(f"expected a known mode and padding_mode, found {mode!r} and {padding!r}")
    if rank not in (1, 2, 3) or len(chosen) != rank + 2 or chosen[0] != shape[0]:
        node.reject(f"expected a grid for the image {list(shape)}, found the shape {list(chosen)}")
    if chosen[-1] != rank:
        node.reject(f"expected {rank} numbers for each place, found {chosen[-1]}")
    builder, sampler = node.builder, _Sampler(node)
    grid, axes = node.term(1), []
    for axis, extent in enumerate(shape[2:]):  # the last axis of the image comes first
        column = rank - 1 - axis
        own = node.make("slice", rank + 1, column, column + 1, 1, grid) if rank > 1 else grid
        x = _places(node, builder.reshaped(own, chosen[:-1]), extent, sampler.aligned)
        if _MODES[mode] != "cubic":
            x = sampler.padded(x, extent)
        axes.append(_corners(node, _MODES[mode], x))
    result: Term | None = None
    for corner in product(*axes):
        rows = sampler.rows_at([place for place, _ in corner])
        share: Term | None = None
        for _, own_share in corner:
            if own_share is not None:
                share = own_share if share is None else node.pairwise("mul", share, own_share)
        if share is not None:
            rows = node.pairwise("mul", rows, builder.reshaped(share, (*builder.shape(share), 1)))
        result = rows if result is None else node.pairwise("add", result, rows)
    assert result is not None, "places have corners"
    return builder.transposed(result, (0, rank + 1, *range(1, rank + 1)))


def _affine_grid(node: OnnxNode) -> Term:
    """Give the places of a grid from -1 to 1, each under a map of every image."""
    theta, size = node.term(0), node.integers(1, "the size")
    rank = len(size) - 2
    if rank not in (2, 3) or node.shape(0) != (size[0], rank, rank + 1) or min(size) < 1:
        node.reject(f"expected maps for images {list(size)}, found {list(node.shape(0))}")
    node.expect_small(*size[2:])
    axes = []
    for extent in size[2:]:
        steps = np.arange(extent, dtype=np.float64)
        if node.attribute("align_corners", 0):
            axes.append(-1 + 2 * steps / max(extent - 1, 1) if extent > 1 else steps)
        else:
            axes.append((2 * steps + 1) / extent - 1)
    meshes = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*reversed(meshes), np.ones(size[2:])], -1).reshape(-1, rank + 1)
    places = node.weight(base.astype(node.builder.tensor(theta).dtype), shape_text(size[2:]))
    every = node.builder.reshaped(places, (1, prod(size[2:]), rank + 1))
    grid = broadcast_matmul(node, every, node.builder.transposed(theta, (0, 2, 1)))
    return node.builder.reshaped(grid, (size[0], *size[2:], rank))


ROWS: tuple[OnnxImport, ...] = (
    OnnxImport("GridSample", _grid_sample, "align_corners mode padding_mode"),
    OnnxImport("AffineGrid", _affine_grid, "align_corners"),
)
