"""The picture of a program: instances as dots, dependences as arrows, with one to three axes.

Drawn from :class:`polygym.pictures.scenes.instances.VisibleInstances`, either by the program's own
loops (the iteration domain) or by a schedule's time. A statement in fewer loops than there are axes
stands just before the range of the missing ones: in y = Ax, S[i] is drawn at j = -1, from where its
arrows point to T[i, 0]. Statements that would share a place are drawn side by side, a few pixels
apart.

The axes of a picture of instances: the edges of the range, with values and names along them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.pictures.scenes import projection
from polygym.pictures.scenes.instances import Pair, VisibleInstances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_VALUES = 9

# Letters keep this distance from what they belong to, and are so wide, in pixels.
_LABEL_GAP = 9.0
_LETTER = 6.5


def draw_frame(
    axes: Axes,
    surface: projection.Projection,
    names: Sequence[str],
    values: Sequence[Sequence[int]],
    margin: float,
) -> None:
    """Draw the range of a plane; ``values`` has the sorted values to be written on each axis.

    ``margin`` is how far dots stand from the places that they mark; letters keep away from these.
    """
    _draw_edges(axes, surface, margin)
    away = margin + _LABEL_GAP
    for axis, (name, axis_values) in enumerate(zip(names, values, strict=True)):
        texts = [str(value) for value in evenly_chosen(axis_values)]
        _draw_values(axes, surface, axis, evenly_chosen(axis_values), away)
        _draw_name(axes, surface, axis, name, away, max(map(len, texts), default=0))


def evenly_chosen(values: Sequence[int], most: int = _MAX_VALUES) -> tuple[int, ...]:
    """Return at most so many of the values, evenly chosen, the first among them.

    >>> evenly_chosen((0, 1, 2, 3, 4), 3)
    (0, 2, 4)
    """
    step = max(1, -(-len(values) // most))
    return tuple(values[::step])


def _draw_edges(axes: Axes, surface: projection.Projection, margin: float) -> None:
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


def _outer_corner(
    surface: projection.Projection, ends: tuple[bool, ...], margin: float
) -> projection.PixelPoint:
    """Return a corner, moved outwards by a margin."""
    x, y = surface.corner(*ends)
    if not margin:
        return x, y
    return x + (margin if ends[0] else -margin), y + (margin if ends[-1] else -margin)


def _labeled_edge(
    surface: projection.Projection, axis: int, away: float
) -> tuple[list[bool], projection.PixelPoint, tuple[str, str]]:
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
    axes: Axes, surface: projection.Projection, axis: int, values: Sequence[int], away: float
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
    axes: Axes, surface: projection.Projection, axis: int, name: str, away: float, letters: int
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


_RADIUS = 3.6

# Room around the dots for the heading, the axes and their letters.
_LEFT, _BOTTOM, _RIGHT, _TOP = 44.0, 34.0, 20.0, 28.0

# How far apart statements at one place are drawn, at most.
_LANE_WIDTH = 11.0

_MAX_BEND = 50.0


def draw_instances(
    axes: Axes, shown: VisibleInstances, heading: str, highlighted: Iterable[int] = ()
) -> None:
    """Draw instances and dependences; the arrows of highlighted dependences stand out.

    ``highlighted`` are positions in ``dependences(scop)``. Whatever the axes showed is lost: they
    become a sheet of pixels.
    """
    width, height = style.use_pixel_coordinates(axes)
    title = f"{heading}, {shown.extent}" if shown.extent else heading
    style.write(axes, (12, height - 9), title, bold=True)
    if not shown.dots:
        style.write(axes, (width / 2, height / 2), "no instances", align=("center", "center"))
        return
    lowest, highest = _range(shown)
    lanes = _statement_lanes(shown)
    margin = _RADIUS + 3 + _LANE_WIDTH * max(lanes.values()) / 2
    # The name of the axis that goes into the depth stands to the right of everything.
    right = _RIGHT + (6.0 * len(shown.axes[1]) if len(shown.axes) == 3 else 0.0)
    box = projection.PixelBox(
        _LEFT + margin,
        _BOTTOM + margin,
        width - _LEFT - right - 2 * margin,
        height - _BOTTOM - _TOP - 2 * margin,
    )
    if len(shown.axes) == 1:
        surface, spots = _in_rows(shown, lowest, highest, box)
    else:
        surface = projection.fit_projection(lowest, highest, box)
        spots = _side_by_side(shown, surface, lanes)
    values = [_values(shown, axis) for axis in range(len(shown.axes))]
    draw_frame(axes, surface, shown.axes, values, margin)
    wanted = set(highlighted)
    special = {pair for index, pairs in shown.by_dependence if index in wanted for pair in pairs}
    ordinary = [pair for pair in shown.arrows if pair not in special]
    _draw_arrows(axes, shown, spots, ordinary, stands_out=False)
    _draw_arrows(axes, shown, spots, sorted(special), stands_out=True)
    _draw_dots(axes, shown, spots)


def _range(shown: VisibleInstances) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lowest and highest coordinates, the places of missing ones included."""
    lowest, highest = [], []
    for axis in range(len(shown.axes)):
        values = _values(shown, axis)
        has_missing = any(len(dot.point) <= axis for dot in shown.dots)
        lowest.append(min(values, default=0) - has_missing)
        highest.append(max(values, default=0))
    return tuple(lowest), tuple(highest)


def _values(shown: VisibleInstances, axis: int) -> list[int]:
    return sorted({dot.point[axis] for dot in shown.dots if len(dot.point) > axis})


def _fill_missing(place: Sequence[int], lowest: Sequence[int]) -> tuple[int, ...]:
    """Return a place with the lowest value for missing coordinates."""
    return (*place, *lowest[len(place) :])


def _statement_lanes(shown: VisibleInstances) -> dict[int, int]:
    """Return for every statement the first lane in which no other stands at a place of its own."""
    lowest, _ = _range(shown)
    places: dict[int, set[tuple[int, ...]]] = {}
    for dot in shown.dots:
        places.setdefault(dot.statement, set()).add(_fill_missing(dot.point, lowest))
    lanes: dict[int, int] = {}
    for statement in sorted(places):
        taken = {lane for other, lane in lanes.items() if places[other] & places[statement]}
        lanes[statement] = next(lane for lane in range(len(places)) if lane not in taken)
    return lanes


def _side_by_side(
    shown: VisibleInstances, surface: projection.Projection, lanes: dict[int, int]
) -> list[projection.PixelPoint]:
    """Return the dots' spots; lanes are next to each other on a falling diagonal."""
    count = max(lanes.values()) + 1
    lengths = [abs(right) + abs(up) for right, up in surface.steps if right or up]
    apart = min(_LANE_WIDTH, 0.62 * min(lengths, default=4 * _LANE_WIDTH) / count)
    if not shown.axes:
        apart = 4 * _LANE_WIDTH
    spots = []
    for dot in shown.dots:
        x, y = surface.pixel(_fill_missing(dot.point, surface.lowest))
        shift = (lanes[dot.statement] - (count - 1) / 2) * apart
        spots.append((x + shift, y - (0.6 * shift if shown.axes else 0)))
    return spots


def _in_rows(
    shown: VisibleInstances,
    lowest: tuple[int, ...],
    highest: tuple[int, ...],
    box: projection.PixelBox,
) -> tuple[projection.Projection, list[projection.PixelPoint]]:
    """Return the plane and spots of a picture with one axis: a row for every statement."""
    surface = projection.fit_projection(lowest, highest, box)
    surface = replace(surface, origin=(surface.origin[0], box.bottom))
    rows = len(shown.statements)
    gap = min(70.0, box.height / (rows + 1))
    middle = box.bottom + box.height / 2
    spots = []
    for dot in shown.dots:
        x, _ = surface.pixel(_fill_missing(dot.point, lowest))
        spots.append((x, middle + ((rows - 1) / 2 - dot.statement) * gap))
    return surface, spots


def _draw_dots(axes: Axes, shown: VisibleInstances, spots: Sequence[projection.PixelPoint]) -> None:
    places = projection.points_array(spots)
    colours = [style.STATEMENTS[dot.statement] for dot in shown.dots]
    diameter = 2 * _RADIUS * 72 / axes.figure.dpi
    axes.scatter(
        places[:, 0],
        places[:, 1],
        s=diameter**2,
        c=colours,
        marker="o",
        edgecolors=style.BACKGROUND,
        linewidths=0.5,
        zorder=4,
        clip_on=False,
    )


def _draw_arrows(
    axes: Axes,
    shown: VisibleInstances,
    spots: Sequence[projection.PixelPoint],
    pairs: Sequence[Pair],
    *,
    stands_out: bool,
) -> None:
    """Draw arrows: within a statement in its colour, between two in grey, special ones in red."""
    from matplotlib.collections import LineCollection, PolyCollection

    if not pairs:
        return
    dots = projection.points_array(spots)
    is_row = len(shown.axes) == 1
    shapes: list[projection.ArrowShape] = []
    colours = []
    for source, sink in pairs:
        before, after = shown.dots[source].statement, shown.dots[sink].statement
        # In a row arrows bow above the dots, far ones no higher than near ones.
        distance = abs(spots[source][0] - spots[sink][0])
        bend = min(0.28, _MAX_BEND / max(distance, 1.0)) if is_row and before == after else 0.0
        shapes.append(projection.arrow_shape(spots[source], spots[sink], dots, _RADIUS + 1, bend))
        colours.append(style.STATEMENTS[before] if before == after else style.ARROW)
    if stands_out:
        colours = [style.HIGHLIGHT] * len(shapes)
    opacity = 0.9 if stands_out or len(pairs) < 150 else 0.55
    order = 3 if stands_out else 2
    axes.add_collection(
        LineCollection(
            [shape.line for shape in shapes],
            colors=colours,
            linewidths=1.5 if stands_out else 0.8,
            alpha=opacity,
            zorder=order,
        ),
        autolim=False,
    )
    axes.add_collection(
        PolyCollection(
            [shape.tip for shape in shapes],
            facecolors=colours,
            edgecolors="none",
            alpha=opacity,
            zorder=order,
        ),
        autolim=False,
    )
