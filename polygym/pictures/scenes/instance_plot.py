"""The picture of a program: instances as dots, dependences as arrows, with one to three axes.

Drawn from :class:`polygym.pictures.scenes.instances.VisibleInstances`, either by the program's own
loops (the iteration domain) or by a schedule's time. A statement in fewer loops than there are axes
stands just before the range of the missing ones: in y = Ax, S[i] is drawn at j = -1, from where its
arrows point to T[i, 0]. Statements that would share a place are drawn side by side, a few pixels
apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.pictures.scenes.arrow_shapes import ArrowShape, arrow_shape, points_array
from polygym.pictures.scenes.frame import draw_frame
from polygym.pictures.scenes.instances import VisibleInstances
from polygym.pictures.scenes.projection import PixelBox, PixelPoint, Projection, fit_projection
from polygym.pictures.scenes.transitive_reduction import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    box = PixelBox(
        _LEFT + margin,
        _BOTTOM + margin,
        width - _LEFT - right - 2 * margin,
        height - _BOTTOM - _TOP - 2 * margin,
    )
    if len(shown.axes) == 1:
        surface, spots = _in_rows(shown, lowest, highest, box)
    else:
        surface = fit_projection(lowest, highest, box)
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
    shown: VisibleInstances, surface: Projection, lanes: dict[int, int]
) -> list[PixelPoint]:
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
    shown: VisibleInstances, lowest: tuple[int, ...], highest: tuple[int, ...], box: PixelBox
) -> tuple[Projection, list[PixelPoint]]:
    """Return the plane and spots of a picture with one axis: a row for every statement."""
    surface = fit_projection(lowest, highest, box)
    surface = replace(surface, origin=(surface.origin[0], box.bottom))
    rows = len(shown.statements)
    gap = min(70.0, box.height / (rows + 1))
    middle = box.bottom + box.height / 2
    spots = []
    for dot in shown.dots:
        x, _ = surface.pixel(_fill_missing(dot.point, lowest))
        spots.append((x, middle + ((rows - 1) / 2 - dot.statement) * gap))
    return surface, spots


def _draw_dots(axes: Axes, shown: VisibleInstances, spots: Sequence[PixelPoint]) -> None:
    places = points_array(spots)
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
    spots: Sequence[PixelPoint],
    pairs: Sequence[Pair],
    *,
    stands_out: bool,
) -> None:
    """Draw arrows: within a statement in its colour, between two in grey, special ones in red."""
    from matplotlib.collections import LineCollection, PolyCollection

    if not pairs:
        return
    dots = points_array(spots)
    is_row = len(shown.axes) == 1
    shapes: list[ArrowShape] = []
    colours = []
    for source, sink in pairs:
        before, after = shown.dots[source].statement, shown.dots[sink].statement
        # In a row arrows bow above the dots, far ones no higher than near ones.
        distance = abs(spots[source][0] - spots[sink][0])
        bend = min(0.28, _MAX_BEND / max(distance, 1.0)) if is_row and before == after else 0.0
        shapes.append(arrow_shape(spots[source], spots[sink], dots, _RADIUS + 1, bend))
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
