"""One picture of an episode: the program above, the schedule space's current dimension below.

The last module of the pictures: :func:`render` and :func:`save` take a :class:`Scene`, which holds
values only, and draw::

    title
    the program's instances   | the same in the schedule's time | the statements, the sizes
    the generators of the dimension as parallel coordinates, the point; or columns of text

matplotlib is imported when the first picture is drawn, and the same scene gives the same pixels.
What is costly, enumerating the instances, is remembered for the next frame.

The text beside a picture of instances: colours of statements, sizes, what is left out.
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
from polygym.pictures import page, style
from polygym.pictures.scenes.instance_plot import draw_instances
from polygym.pictures.scenes.instances import VisibleInstances, visible_instances
from polygym.pictures.scenes.plot_sizes import ParameterSizes
from polygym.pictures.scenes.space_plot import Point, draw_space
from polygym.poly.dependences import dependences
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 16.0

# How wide a letter is on average, in pixels.
_LETTER = 5.7


def draw_legend(axes: Axes, shown: VisibleInstances, highlighted: Collection[int] = ()) -> None:
    """Write the legend of instances; whatever the axes showed is lost."""
    width, height = style.use_pixel_coordinates(axes)
    y = height - 26
    for number, statement in enumerate(shown.statements):
        _swatch(axes, y, style.STATEMENTS[number])
        head = f"{statement.name}[{', '.join(statement.iterators)}]"
        style.write(axes, (22, y), head, bold=True)
        y -= _LINE - 1
        limit = int((width - 30) / _LETTER)
        text = style.drawable_text(statement.text, limit)
        style.write(axes, (22, y), text, size=style.SMALL, color=style.FAINT_INK)
        y -= _LINE + 1
    y -= 6
    for line in _legend_notes(shown, highlighted):
        text = style.drawable_text(line, int((width - 16) / _LETTER))
        style.write(axes, (8, y), text, size=style.SMALL)
        y -= _LINE - 2.5


def sizes_text(sizes: ParameterSizes) -> str:
    """Return parameter values as text, those that are equal together.

    >>> sizes_text((("m", 4), ("n", 4), ("k", 2)))
    'm = n = 4, k = 2'
    """
    names: dict[int, list[str]] = {}
    for name, value in sizes:
        names.setdefault(value, []).append(name)
    return ", ".join(" = ".join([*group, str(value)]) for value, group in names.items())


def _legend_notes(shown: VisibleInstances, highlighted: Collection[int]) -> list[str]:
    """Say at which sizes, what an arrow is, and what is left out."""
    remarks = []
    if shown.sizes:
        remarks.append(sizes_text(shown.sizes))
    remarks += shown.notes
    if shown.arrows:
        remarks.append("a → b: a must run before b")
    if any(pairs and index in highlighted for index, pairs in shown.by_dependence):
        remarks.append("red: the dependence looked at")
    return remarks


def _swatch(axes: Axes, y: float, color: str) -> None:
    axes.scatter([12], [y], s=34, c=[color], marker="o", edgecolors="none", clip_on=False)


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
    text_columns: tuple[page.TextColumn, ...] = ()


def render(scene: Scene) -> NDArray[np.uint8]:
    """Return the picture as an array of height × width × 3 bytes: red, green, blue."""
    return page.pixels(draw(scene))


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
    figure = page.new_page(scene.title)
    _draw_program(figure, scene)
    lower = figure.add_axes((0.0, 0.0, 1.0, _SPACE_HEIGHT))
    if scene.text_columns:
        page.draw_text_columns(lower, scene.text_columns)
    else:
        _draw_space(lower, scene)
    return figure


def _draw_program(figure: Figure, scene: Scene) -> None:
    """Draw the upper half: instances by loops, by time if there is a schedule, and the legend."""
    bottom, height = _SPACE_HEIGHT, 1 - page.TITLE - _SPACE_HEIGHT
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
