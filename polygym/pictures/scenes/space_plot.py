"""The picture of one dimension of a schedule space: parallel coordinates.

A polyhedron in twelve or two hundred dimensions is drawn with one vertical line for every
coordinate of :class:`polygym.poly.spaces.coordinates.CoordinateLayout`; a vector is the polyline
through its values on these. Vertices are dark, rays light and thin, the generator whose coefficient
is being decided is orange, and the point that is being built is the thick line above the others.

* Many rays have the same small values: each polyline is shifted by a small part of a step, always
  the same for the same ray, so that lines that coincide look like a bundle and not like one.
* Large values are drawn on a logarithmic scale (:func:`fit_scale`).
* The coordinates' names are thinned out until they are readable.

The sheet of parallel coordinates: a line for every coordinate, what it is, and the values.

Coordinates stand in the order of :class:`polygym.poly.spaces.coordinates.CoordinateLayout`:
iterators, parameters, constants, each kind a band. Their names stand below, upright when they would
overlap, and only every second, third … of them when they would overlap even so.

The vertical scale of parallel coordinates: exact numbers of any size to pixels.

Values up to ten are drawn to scale. If there are larger ones, all are drawn at

    sgn(v)·log₂(1 + |v|),

which is 0, 1, 2, 3 for v = 0, 1, 3, 7: close to linear where most coefficients are, and with room
for those of twenty digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log2
from typing import TYPE_CHECKING, TypeAlias

from polygym.pictures import style
from polygym.pictures.scenes.projection import PixelBox
from polygym.poly.integer_vectors import Vector
from polygym.poly.spaces.coordinates import Coordinate, CoordinateKind, CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Value: TypeAlias = int | Fraction

_MAX_LINEAR = 10
_MAX_TICKS = 8


@dataclass(frozen=True, slots=True)
class ValueScale:
    """Where 0 is drawn, how many pixels a step has, and the range of the values."""

    zero: float
    step: float
    least: int
    most: int

    @property
    def is_logarithmic(self) -> bool:
        """Whether there are values too large to be drawn to scale."""
        return max(-self.least, self.most) > _MAX_LINEAR

    def height(self, value: Value) -> float:
        """Return how high a value is drawn."""
        return self.zero + self.step * (signed_log(value) if self.is_logarithmic else float(value))

    def ticks(self) -> tuple[int, ...]:
        """Return the values to be written beside the scale, ascending."""
        if not self.is_logarithmic:
            stride = max(1, ceil((self.most - self.least) / _MAX_TICKS))
            first = ceil(self.least / stride) * stride
            return tuple(range(first, self.most + 1, stride))
        doublings = max(abs(self.least), self.most).bit_length()
        # 2^k - 1 is k steps from 0.
        stride = max(1, ceil(2 * doublings / _MAX_TICKS))
        sizes = [2**k - 1 for k in range(stride, doublings + 1, stride)]
        return tuple(
            value
            for value in (*(-size for size in reversed(sizes)), 0, *sizes)
            if self.least <= value <= self.most
        )


def signed_log(value: Value) -> float:
    """Return sgn(v)·log₂(1 + |v|); unlike floats, logarithms have room for any integer.

    >>> signed_log(-3)
    -2.0
    """
    size = abs(Fraction(value)) + 1
    steps = log2(size.numerator) - log2(size.denominator)
    return steps if value >= 0 else -steps


def fit_scale(vectors: Iterable[Sequence[Value]], bottom: float, height: float) -> ValueScale:
    """Return the scale on which all values, and -1 to 1, have room between two heights."""
    values = [value for vector in vectors for value in vector]
    least = min(-1, floor(min(values, default=0)))
    most = max(1, ceil(max(values, default=0)))
    draft = ValueScale(0.0, 1.0, least, most)
    low, high = draft.height(least), draft.height(most)
    margin = 0.05 * (high - low) + 0.25
    step = height / (high - low + 2 * margin)
    return ValueScale(bottom + (margin - low) * step, step, least, most)


def tick_text(value: int) -> str:
    """Return a value as a short text: powers of two stand for the large ones.

    >>> tick_text(-7), tick_text(2**20 - 1)
    ('-7', '2^20')
    """
    if abs(value) < 10_000:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{abs(value).bit_length()}"


_LEFT, _RIGHT, _TOP = 44.0, 12.0, 40.0

# Names closer than this would overlap: upright ones, and those that lie.
_UPRIGHT, _HORIZONTAL = 11.0, 34.0

_LETTER = 6.2
_MAX_NAME_LENGTH = 12


@dataclass(frozen=True, slots=True)
class CoordinateSheet:
    """Where the coordinates of a layout are drawn: ``gap`` pixels apart, in a box."""

    layout: CoordinateLayout
    names: tuple[str, ...]
    box: PixelBox
    gap: float
    has_upright_names: bool

    @property
    def xs(self) -> list[float]:
        """The coordinates' places from the left."""
        return [self.box.left + self.gap * (k + 0.5) for k in range(len(self.names))]


def coordinate_sheet(
    layout: CoordinateLayout, iterators: Mapping[str, Sequence[str]], width: float, height: float
) -> CoordinateSheet:
    """Return the sheet of a layout that fills a picture of so many pixels."""
    names = coordinate_names(layout, iterators)
    across = width - _LEFT - _RIGHT
    gap = across / max(1, len(names))
    longest = min(_MAX_NAME_LENGTH, max(map(len, names), default=1))
    upright = gap < max(_HORIZONTAL, _LETTER * (longest + 1))
    bottom = 12.0 + (_LETTER * longest if upright else 14.0)
    box = PixelBox(_LEFT, bottom, across, height - bottom - _TOP)
    return CoordinateSheet(layout, names, box, gap, upright)


def draw_coordinates(axes: Axes, shown: CoordinateSheet, heights: ValueScale) -> None:
    """Draw everything but the vectors."""
    _draw_bands(axes, shown)
    _draw_values(axes, shown, heights)
    _draw_names(axes, shown)


def coordinate_names(
    layout: CoordinateLayout, iterators: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the names of the coordinates: ``T.j`` for an iterator, ``T.n``, and ``T.1``."""

    def name(coordinate: Coordinate) -> str:
        match coordinate.kind:
            case CoordinateKind.ITERATOR:
                return f"{coordinate.statement}.{iterators[coordinate.statement][coordinate.index]}"
            case CoordinateKind.PARAMETER:
                return f"{coordinate.statement}.{layout.parameters[coordinate.index]}"
            case CoordinateKind.CONSTANT:
                return f"{coordinate.statement}.1"

    return tuple(name(coordinate) for coordinate in layout.coordinates())


def _draw_bands(axes: Axes, shown: CoordinateSheet) -> None:
    """Draw what belongs together: a band for iterators, parameters and constants, and its name."""
    from matplotlib.patches import Rectangle

    box, gap = shown.box, shown.gap
    parts = [coordinate.kind for coordinate in shown.layout.coordinates()]
    for number, part in enumerate(CoordinateKind):
        count = parts.count(part)
        if not count:
            continue
        left, width = box.left + gap * parts.index(part), gap * count
        band = Rectangle(
            (left, box.bottom),
            width,
            box.height,
            facecolor=style.BAND if number % 2 == 0 else style.BACKGROUND,
            edgecolor=style.GRID,
            linewidth=0.6,
            zorder=0,
        )
        axes.add_patch(band)
        name = f"{part.value}s"
        if width > 6.5 * len(name):
            style.write(
                axes,
                (left + width / 2, box.bottom + box.height + 8),
                name,
                size=style.SMALL,
                color=style.FAINT_INK,
                align=("center", "center"),
            )


def _draw_values(axes: Axes, shown: CoordinateSheet, heights: ValueScale) -> None:
    """Draw a line for some values, that of 0 stronger, and write the values."""
    box = shown.box
    for value in heights.ticks():
        y = heights.height(value)
        style.draw_line(
            axes, [box.left, box.left + box.width], [y, y], 1, style.GRID, 1.2 if not value else 0.6
        )
        style.write(
            axes,
            (box.left - 6, y),
            tick_text(value),
            size=style.SMALL,
            color=style.FAINT_INK,
            align=("right", "center"),
        )


def _draw_names(axes: Axes, shown: CoordinateSheet) -> None:
    """Draw the coordinates' lines where there is room, and as many names as are readable."""
    box, gap, upright = shown.box, shown.gap, shown.has_upright_names
    step = max(1, ceil(_UPRIGHT / gap)) if upright else 1
    for number, (name, x) in enumerate(zip(shown.names, shown.xs, strict=True)):
        if gap >= 6:
            style.draw_line(axes, [x, x], [box.bottom, box.bottom + box.height], 1, style.GRID, 0.6)
        if number % step == 0:
            style.write(
                axes,
                (x, box.bottom - (5 if upright else 11)),
                style.drawable_text(name, _MAX_NAME_LENGTH),
                size=style.SMALL,
                align=("right", "center") if upright else ("center", "center"),
                rotation=90 if upright else 0,
            )


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
