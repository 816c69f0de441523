"""The sheet of parallel coordinates: a line for every coordinate, what it is, and the values.

Coordinates stand in the order of :class:`polygym.compiler.poly.spaces.layout.Layout`: iterators,
parameters, constants, each kind a band. Their names stand below, upright when they would overlap,
and only every second, third … of them when they would overlap even so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from polygym.compiler.poly.spaces.layout import Coordinate, Layout, Part
from polygym.pictures import style
from polygym.pictures.plane import Box
from polygym.pictures.scale import Scale, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEFT, _RIGHT, _TOP = 44.0, 12.0, 40.0

# Names closer than this would overlap: upright ones, and those that lie.
_UPRIGHT, _LYING = 11.0, 34.0

_LETTER = 6.2
_LONGEST_NAME = 12


@dataclass(frozen=True, slots=True)
class Sheet:
    """Where the coordinates of a layout are drawn: ``gap`` pixels apart, in a box."""

    layout: Layout
    names: tuple[str, ...]
    box: Box
    gap: float
    upright: bool

    @property
    def places(self) -> list[float]:
        """The coordinates' places from the left."""
        return [self.box.left + self.gap * (k + 0.5) for k in range(len(self.names))]


def sheet(
    layout: Layout, iterators: Mapping[str, Sequence[str]], width: float, height: float
) -> Sheet:
    """Return the sheet of a layout that fills a picture of so many pixels."""
    names = names_of(layout, iterators)
    across = width - _LEFT - _RIGHT
    gap = across / max(1, len(names))
    longest = min(_LONGEST_NAME, max(map(len, names), default=1))
    upright = gap < max(_LYING, _LETTER * (longest + 1))
    bottom = 12.0 + (_LETTER * longest if upright else 14.0)
    box = Box(_LEFT, bottom, across, height - bottom - _TOP)
    return Sheet(layout, names, box, gap, upright)


def draw_sheet(axes: Axes, shown: Sheet, heights: Scale) -> None:
    """Draw everything but the vectors."""
    _draw_parts(axes, shown)
    _draw_values(axes, shown, heights)
    _draw_names(axes, shown)


def names_of(layout: Layout, iterators: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the coordinates: ``T.j`` for an iterator, ``T.n``, and ``T.1``."""

    def name(one: Coordinate) -> str:
        match one.part:
            case Part.ITERATOR:
                return f"{one.statement}.{iterators[one.statement][one.index]}"
            case Part.PARAMETER:
                return f"{one.statement}.{layout.parameters[one.index]}"
            case Part.CONSTANT:
                return f"{one.statement}.1"

    return tuple(name(one) for one in layout.coordinates())


def _draw_parts(axes: Axes, shown: Sheet) -> None:
    """Draw what belongs together: a band for iterators, parameters and constants, and its name."""
    from matplotlib.patches import Rectangle

    box, gap = shown.box, shown.gap
    parts = [one.part for one in shown.layout.coordinates()]
    for number, part in enumerate(Part):
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


def _draw_values(axes: Axes, shown: Sheet, heights: Scale) -> None:
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


def _draw_names(axes: Axes, shown: Sheet) -> None:
    """Draw the coordinates' lines where there is room, and as many names as are readable."""
    box, gap, upright = shown.box, shown.gap, shown.upright
    step = max(1, ceil(_UPRIGHT / gap)) if upright else 1
    for number, (name, x) in enumerate(zip(shown.names, shown.places, strict=True)):
        if gap >= 6:
            style.draw_line(axes, [x, x], [box.bottom, box.bottom + box.height], 1, style.GRID, 0.6)
        if number % step == 0:
            style.write(
                axes,
                (x, box.bottom - (5 if upright else 11)),
                style.drawable(name, _LONGEST_NAME),
                size=style.SMALL,
                align=("right", "center") if upright else ("center", "center"),
                rotation=90 if upright else 0,
            )
