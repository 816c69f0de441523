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

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.integers import Vector
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.spaces.generators import Vertex
from polygym.compiler.poly.spaces.layout import Layout
from polygym.errors import InputError, LimitError
from polygym.pickles import pickled_by_name
from polygym.pictures import style
from polygym.pictures.domain import draw_domain
from polygym.pictures.instances import Instances, instances
from polygym.pictures.legend import draw_legend
from polygym.pictures.notes import Column, draw_notes
from polygym.pictures.page import HEIGHT, TITLE, WIDTH, pixels, sheet
from polygym.pictures.space import Point, draw_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["HEIGHT", "WIDTH", "Scene", "draw", "render", "save"]

# The height of the space, the width of the legend, as parts of the whole.
_SPACE, _LEGEND = 0.435, 0.27


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows.

    ``vertices`` and ``rays`` are the generators of the dimension that is looked at; ``current``
    counts those that get a coefficient (the vertices if there are several, then the rays) and is
    the one being decided; ``point`` is what has been built of a row, in the coordinates of the
    layout. With a ``schedule`` the instances are drawn in its time too. ``highlighted`` are
    dependences (positions in ``dependences(scop)``) whose arrows stand out. ``parameters`` gives
    the sizes of the iteration domain, name by name; None chooses small ones. ``columns`` are text
    that stands in the place of the space.
    """

    scop: Scop
    title: str
    vertices: tuple[Vertex, ...] = ()
    rays: tuple[Vector, ...] = ()
    current: int | None = None
    point: Point | None = None
    schedule: Schedule | None = None
    highlighted: tuple[int, ...] = ()
    parameters: tuple[tuple[str, int], ...] | None = None
    columns: tuple[Column, ...] = ()


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
    figure = sheet(scene.title)
    _draw_program(figure, scene)
    lower = figure.add_axes((0.0, 0.0, 1.0, _SPACE))
    if scene.columns:
        draw_notes(lower, scene.columns)
    else:
        _draw_space(lower, scene)
    return figure


def _draw_program(figure: Figure, scene: Scene) -> None:
    """Draw the upper half: instances by loops, by time if there is a schedule, and the legend."""
    bottom, height = _SPACE, 1 - TITLE - _SPACE
    room = 1 - _LEGEND
    share = room if scene.schedule is None else room / 2
    left = figure.add_axes((0.0, bottom, share, height))
    legend = figure.add_axes((room, bottom, _LEGEND, height))
    try:
        by_loops, by_time = _shown(scene)
    except LimitError:
        style.as_paper(left)
        style.as_paper(legend)
        style.write(left, (12, 12), "the iteration domain is too irregular to be drawn")
        return
    draw_domain(left, by_loops, "iteration domain", scene.highlighted)
    if by_time is not None:
        right = figure.add_axes((share, bottom, share, height))
        draw_domain(right, by_time, "schedule's time", scene.highlighted)
    draw_legend(legend, by_loops, scene.highlighted)


def _shown(scene: Scene) -> tuple[Instances, Instances | None]:
    """Return the instances by loops and, with a schedule, by time, at the same sizes."""
    given = None if scene.parameters is None else dict(scene.parameters)
    wanted = _ends(scene.scop, scene.highlighted) if scene.highlighted else frozenset()
    by_loops = instances(scene.scop, given, None, wanted)
    if scene.schedule is None:
        return by_loops, None
    return by_loops, instances(scene.scop, dict(by_loops.sizes), scene.schedule, wanted)


def _ends(scop: Scop, highlighted: Collection[int]) -> frozenset[str]:
    """Return the names of the statements at both ends of dependences."""
    found = dependences(scop)
    return frozenset(
        name for index in highlighted for name in (found[index].source, found[index].sink)
    )


def _draw_space(axes: Axes, scene: Scene) -> None:
    draw_space(
        axes,
        Layout.of(scene.scop),
        {one.name: one.iterators for one in scene.scop.statements},
        scene.vertices,
        scene.rays,
        scene.point,
        scene.current,
    )
