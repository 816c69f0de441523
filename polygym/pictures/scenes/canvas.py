"""One picture of an episode: the program above, the schedule space's current dimension below.

The last module of the pictures: :func:`render` and :func:`save` take a :class:`Scene`, which holds
values only, and draw::

    title
    the program's instances   | the same in the schedule's time | the statements, the sizes
    the generators of the dimension as parallel coordinates, the point; or columns of text

matplotlib is imported when the first picture is drawn, and the same scene gives the same pixels.
What is costly, enumerating the instances, is remembered for the next frame.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.pickling import pickle_by_name
from polygym.pictures import style
from polygym.pictures.page import HEIGHT, TITLE, WIDTH, new_page, pixels
from polygym.pictures.scenes.instance_plot import draw_instances
from polygym.pictures.scenes.instances import VisibleInstances, visible_instances
from polygym.pictures.scenes.legend import draw_legend
from polygym.pictures.scenes.space_plot import Point, draw_space
from polygym.pictures.text_columns import TextColumn, draw_text_columns
from polygym.poly.dependences import dependences
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["HEIGHT", "WIDTH", "Scene", "draw", "render", "save"]

# The height of the space, the width of the legend, as parts of the whole.
_SPACE_HEIGHT, _LEGEND_WIDTH = 0.435, 0.27


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows.

    ``vertices`` and ``rays`` are the generators of the dimension that is looked at; ``current``
    counts those that get a coefficient (the vertices if there are several, then the rays) and is
    the one being decided; ``point`` is what has been built of a row, in the coordinates of the
    layout. With a ``schedule`` the instances are drawn in its time too. ``highlighted`` are
    dependences (positions in ``dependences(scop)``) whose arrows stand out. ``parameters`` gives
    the sizes of the iteration domain, name by name; None chooses small ones. ``text_columns`` are
    text that stands in the place of the space.
    """

    scop: Scop
    title: str
    vertices: tuple[RationalPoint, ...] = ()
    rays: tuple[Vector, ...] = ()
    current: int | None = None
    point: Point | None = None
    schedule: Schedule | None = None
    highlighted: tuple[int, ...] = ()
    parameters: tuple[tuple[str, int], ...] | None = None
    text_columns: tuple[TextColumn, ...] = ()


def render(scene: Scene) -> NDArray[np.uint8]:
    """Return the picture as an array of height × width × 3 bytes: red, green, blue."""
    return pixels(draw(scene))


def save(scene: Scene, path: str | PathLike[str]) -> None:
    """Write the picture to a file; its ending, ``.png`` or ``.svg``, says how."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    target = Path(path)
    match target.suffix.lower():
        case ".png":
            FigureCanvasAgg(draw(scene)).print_png(target)
        case ".svg":
            FigureCanvasSVG(draw(scene)).print_svg(target, metadata={"Date": None})
        case _:
            raise InputError(
                f"{target}: expected a picture's name to end in .png or .svg, "
                f"found {target.suffix or 'no ending'}"
            )


def draw(scene: Scene) -> Figure:
    """Return the picture as a figure that belongs to nobody else."""
    figure = new_page(scene.title)
    _draw_program(figure, scene)
    lower = figure.add_axes((0.0, 0.0, 1.0, _SPACE_HEIGHT))
    if scene.text_columns:
        draw_text_columns(lower, scene.text_columns)
    else:
        _draw_space(lower, scene)
    return figure


def _draw_program(figure: Figure, scene: Scene) -> None:
    """Draw the upper half: instances by loops, by time if there is a schedule, and the legend."""
    bottom, height = _SPACE_HEIGHT, 1 - TITLE - _SPACE_HEIGHT
    room = 1 - _LEGEND_WIDTH
    share = room if scene.schedule is None else room / 2
    left = figure.add_axes((0.0, bottom, share, height))
    legend = figure.add_axes((room, bottom, _LEGEND_WIDTH, height))
    try:
        by_loops, by_time = _visible_views(scene)
    except LimitError:
        style.use_pixel_coordinates(left)
        style.use_pixel_coordinates(legend)
        style.write(left, (12, 12), "the iteration domain is too irregular to be drawn")
        return
    draw_instances(left, by_loops, "iteration domain", scene.highlighted)
    if by_time is not None:
        right = figure.add_axes((share, bottom, share, height))
        draw_instances(right, by_time, "schedule's time", scene.highlighted)
    draw_legend(legend, by_loops, scene.highlighted)


def _visible_views(scene: Scene) -> tuple[VisibleInstances, VisibleInstances | None]:
    """Return the instances by loops and, with a schedule, by time, at the same sizes."""
    given = None if scene.parameters is None else dict(scene.parameters)
    wanted = _end_statements(scene.scop, scene.highlighted) if scene.highlighted else frozenset()
    by_loops = visible_instances(scene.scop, given, None, wanted)
    if scene.schedule is None:
        return by_loops, None
    return by_loops, visible_instances(scene.scop, dict(by_loops.sizes), scene.schedule, wanted)


def _end_statements(scop: Scop, highlighted: Collection[int]) -> frozenset[str]:
    """Return the names of the statements at both ends of dependences."""
    result = dependences(scop)
    return frozenset(
        name for index in highlighted for name in (result[index].source, result[index].sink)
    )


def _draw_space(axes: Axes, scene: Scene) -> None:
    draw_space(
        axes,
        CoordinateLayout.of(scene.scop),
        {statement.name: statement.iterators for statement in scene.scop.statements},
        scene.vertices,
        scene.rays,
        scene.point,
        scene.current,
    )
