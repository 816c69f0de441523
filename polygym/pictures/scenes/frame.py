"""The axes of a picture of instances: the edges of the range, with values and names along them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.pictures.scenes.projection import PixelPoint, Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_VALUES = 9

# Letters keep this distance from what they belong to, and are so wide, in pixels.
_LABEL_GAP = 9.0
_LETTER = 6.5


def draw_frame(
    axes: Axes,
    surface: Projection,
    names: Sequence[str],
    values: Sequence[Sequence[int]],
    margin: float,
) -> None:
    """Draw the range of a plane; ``values`` has the sorted values to be written on each axis.

    ``margin`` is how far dots stand from the places that they mark; letters keep away from these.
    """
    _draw_edges(axes, surface, margin)
    away = margin + _LABEL_GAP
    for axis, (name, found) in enumerate(zip(names, values, strict=True)):
        texts = [str(value) for value in evenly_chosen(found)]
        _draw_values(axes, surface, axis, evenly_chosen(found), away)
        _draw_name(axes, surface, axis, name, away, max(map(len, texts), default=0))


def evenly_chosen(values: Sequence[int], most: int = _MAX_VALUES) -> tuple[int, ...]:
    """Return at most so many of the values, evenly chosen, the first among them.

    >>> evenly_chosen((0, 1, 2, 3, 4), 3)
    (0, 2, 4)
    """
    step = max(1, -(-len(values) // most))
    return tuple(values[::step])


def _draw_edges(axes: Axes, surface: Projection, margin: float) -> None:
    """Draw a line under one axis, a frame around two, the edges of a box for three."""
    from matplotlib.collections import LineCollection

    count = len(surface.steps)
    around = margin if count == 2 else 0.0
    lines = []
    for axis in range(count):
        for others in product((False, True), repeat=count - 1):
            first, last = (
                _outer_corner(surface, (*others[:axis], end, *others[axis:]), around)
                for end in (False, True)
            )
            lines.append((first, last))
    axes.add_collection(
        LineCollection(lines, colors=style.GRID, linewidths=0.8, zorder=1), autolim=False
    )


def _outer_corner(surface: Projection, ends: tuple[bool, ...], margin: float) -> PixelPoint:
    """Return a corner, moved outwards by a margin."""
    x, y = surface.corner(*ends)
    if not margin:
        return x, y
    return x + (margin if ends[0] else -margin), y + (margin if ends[-1] else -margin)


def _labeled_edge(
    surface: Projection, axis: int, away: float
) -> tuple[list[bool], PixelPoint, tuple[str, str]]:
    """Return the edge that bears an axis' letters: its first corner, the way out, the alignment.

    The first axis has its letters below and the last one to the left; the one that goes into the
    depth has them to the right of the lower right edge.
    """
    ends = [False] * len(surface.steps)
    if axis == 0:
        return ends, (0.0, -away), ("center", "center")
    if axis == len(surface.steps) - 1:
        return ends, (-away, 0.0), ("right", "center")
    ends[0] = True
    return ends, (away, -4.0), ("left", "center")


def _draw_values(
    axes: Axes, surface: Projection, axis: int, values: Sequence[int], away: float
) -> None:
    ends, (right, up), align = _labeled_edge(surface, axis, away)
    corner: list[float] = [
        high if end else low
        for end, low, high in zip(ends, surface.lowest, surface.highest, strict=True)
    ]
    for value in values:
        corner[axis] = value
        x, y = surface.pixel(corner)
        style.write(
            axes,
            (x + right, y + up),
            str(value),
            size=style.SMALL,
            color=style.FAINT_INK,
            align=align,
        )


def _draw_name(
    axes: Axes, surface: Projection, axis: int, name: str, away: float, letters: int
) -> None:
    """Write an axis' name along its middle, beyond its values of so many letters."""
    ends, (right, up), align = _labeled_edge(surface, axis, away)
    first = surface.corner(*ends)
    ends[axis] = True
    last = surface.corner(*ends)
    x, y = (first[0] + last[0]) / 2 + right, (first[1] + last[1]) / 2 + up
    rotation = 0
    if axis == 0:
        y -= 14
    elif axis == len(surface.steps) - 1:
        x, align, rotation = x - _LETTER * letters - 4, ("center", "bottom"), 90
    else:
        x, y = x + _LETTER * letters + 4, y - 8
    style.write(
        axes, (x, y), name, bold=True, color=style.FAINT_INK, align=align, rotation=rotation
    )
