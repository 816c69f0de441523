"""The text beside a picture of instances: colours of statements, sizes, what is left out."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.pictures.scenes.instances import VisibleInstances
from polygym.pictures.scenes.plot_sizes import ParameterSizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
