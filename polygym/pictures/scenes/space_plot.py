"""The picture of one dimension of a schedule space: parallel coordinates.

A polyhedron in twelve or two hundred dimensions is drawn with one vertical line for every
coordinate of :class:`polygym.poly.spaces.coordinates.CoordinateLayout`; a vector is the polyline
through its values on these. Vertices are dark, rays light and thin, the generator whose coefficient
is being decided is orange, and the point that is being built is the thick line above the others.

* Many rays have the same small values: each polyline is shifted by a small part of a step, always
  the same for the same ray, so that lines that coincide look like a bundle and not like one.
* Large values are drawn on a logarithmic scale (:mod:`polygym.pictures.fit_scale`).
* The coordinates' names are thinned out until they are readable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from polygym.pictures import style
from polygym.pictures.scenes.parallel_coordinates import (
    CoordinateSheet,
    coordinate_sheet,
    draw_coordinates,
)
from polygym.pictures.scenes.value_scale import Value, ValueScale, fit_scale
from polygym.poly.integer_vectors import Vector
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A vector of numbers, not all of them integers.
Point: TypeAlias = Sequence[Value]

_Line: TypeAlias = list[tuple[float, float]]

# How far a bundle of lines is spread: in steps of the scale, and in pixels at most.
_SPREAD, _MAX_SPREAD = 0.36, 14.0

# With more coordinates a thick line with markers would hide everything.
_MAX_MARKED_COORDINATES = 40
_FEW_RAYS = 80


def draw_space(
    axes: Axes,
    layout: CoordinateLayout,
    iterators: Mapping[str, Sequence[str]],
    vertices: Sequence[RationalPoint],
    rays: Sequence[Vector],
    point: Point | None = None,
    current: int | None = None,
) -> None:
    """Draw the generators of a dimension, and a point of it.

    ``iterators`` has the names of every statement's iterators. ``current`` counts the generators
    that get a coefficient: the vertices if there are several, then the rays. Whatever the axes
    showed is lost: they become a sheet of pixels.
    """
    width, height = style.use_pixel_coordinates(axes)
    shown = coordinate_sheet(layout, iterators, width, height)
    corners = [
        tuple(Fraction(n, rational_point.denominator) for n in rational_point.numerators)
        for rational_point in vertices
    ]
    points = [] if point is None else [point]
    heights = fit_scale([*corners, *rays, *points], shown.box.bottom, shown.box.height)
    draw_coordinates(axes, shown, heights)
    vertex_lines = _bundle_lines(corners, shown, heights)
    ray_lines = _bundle_lines(rays, shown, heights)
    _draw_bundle(axes, ray_lines, style.RAY, 0.9, 0.75 if len(rays) < _FEW_RAYS else 0.4, 2)
    _draw_bundle(axes, vertex_lines, style.VERTEX, 1.6, 0.9, 3)
    key = [_entry(len(corners), "vertex", "vertices"), _entry(len(rays), "ray", "rays")]
    styles = [(style.VERTEX, 1.6), (style.RAY, 1.2)]
    for line in _bundle_lines(points, shown, heights):
        _emphasize(axes, line, style.POINT, 3.4 if len(line) < _MAX_MARKED_COORDINATES else 2.2, 4)
        key.append("the point")
        styles.append((style.POINT, 3.4))
    # A single vertex gets no coefficient, so the first to be decided is the first ray.
    choices = [*(vertex_lines if len(corners) > 1 else []), *ray_lines]
    if current is not None and current < len(choices):
        _emphasize(axes, choices[current], style.CURRENT, 2.6, 5)
        key.append(_name_of(current, len(choices) - len(rays)))
        styles.append((style.CURRENT, 2.6))
    if not corners and not rays:
        middle = (width / 2, shown.box.bottom + shown.box.height / 2)
        style.write(
            axes, middle, "no generators", color=style.FAINT_INK, align=("center", "center")
        )
    _draw_key(axes, height - 10, key, styles)


def _entry(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _name_of(current: int, vertices: int) -> str:
    """Return the name of the generator that is being decided."""
    if current < vertices:
        return f"deciding vertex {current + 1}"
    return f"deciding ray {current - vertices + 1}"


def _bundle_lines(
    vectors: Sequence[Point], shown: CoordinateSheet, heights: ValueScale
) -> list[_Line]:
    """Return the vectors' polylines, each shifted by its share of the bundle's width."""
    spread = min(_SPREAD * heights.step, _MAX_SPREAD)
    lines = []
    for number, vector in enumerate(vectors):
        shift = spread * ((number + 0.5) / len(vectors) - 0.5)
        pairs = zip(shown.xs, vector, strict=True)
        lines.append([(x, heights.height(value) + shift) for x, value in pairs])
    return lines


def _draw_bundle(
    axes: Axes, lines: Sequence[_Line], color: str, width: float, opacity: float, order: int
) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(
        LineCollection(lines, colors=color, linewidths=width, alpha=opacity, zorder=order),
        autolim=False,
    )


def _emphasize(axes: Axes, line: _Line, color: str, width: float, order: int) -> None:
    """Draw a thick line with a white rim, so that it stands out from a bundle."""
    xs, ys = [x for x, _ in line], [y for _, y in line]
    style.draw_line(axes, xs, ys, order, style.BACKGROUND, width + 2)
    marker = "o" if len(line) < _MAX_MARKED_COORDINATES else "None"
    style.draw_line(axes, xs, ys, order, color, width, marker)


def _draw_key(
    axes: Axes, y: float, key: Sequence[str], styles: Sequence[tuple[str, float]]
) -> None:
    """Write above the picture what its lines are, and how many."""
    x = 12.0
    for text, (color, width) in zip(key, styles, strict=True):
        style.draw_line(axes, [x, x + 20], [y, y], 2, color, width)
        style.write(axes, (x + 26, y), text)
        x += 26 + 7.2 * len(text) + 18
