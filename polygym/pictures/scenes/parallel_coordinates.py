"""The sheet of parallel coordinates: a line for every coordinate, what it is, and the values.

Coordinates stand in the order of :class:`polygym.poly.spaces.coordinates.CoordinateLayout`:
iterators, parameters, constants, each kind a band. Their names stand below, upright when they would
overlap, and only every second, third … of them when they would overlap even so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.pictures.scenes.projection import PixelBox
from polygym.pictures.scenes.value_scale import ValueScale, tick_text
from polygym.poly.spaces.coordinates import Coordinate, CoordinateKind, CoordinateLayout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    def name(one: Coordinate) -> str:
        match one.kind:
            case CoordinateKind.ITERATOR:
                return f"{one.statement}.{iterators[one.statement][one.index]}"
            case CoordinateKind.PARAMETER:
                return f"{one.statement}.{layout.parameters[one.index]}"
            case CoordinateKind.CONSTANT:
                return f"{one.statement}.1"

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
