"""A sheet with a title, and a page of text on it: what all pictures of episodes are drawn on.

Every sheet has a figure of its own: no window, no current figure, no setting of matplotlib is
touched, and the same values give the same pixels.

Text in the lower half of a picture: columns of lines, where there is no space to be drawn.

What does not fit is cut so that the line that stands out is seen: of 40 lines, the 30th of which
stands out, ten lines of room show the 26th to the 34th and say how many more there are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polygym.pickling import pickle_by_name
from polygym.pictures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE, _MARGIN = 14.5, 12.0

# How wide a letter is on average, in pixels, and how many a line has at most.
_LETTER, _BOLD_LETTER, _MAX_LETTERS = 5.7, 7.6, 115


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TextEntry:
    """An entry of a column; ``is_highlighted`` stresses it, ``is_faint`` mutes it."""

    text: str
    is_highlighted: bool = False
    is_faint: bool = False


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TextColumn:
    """Entries below a heading."""

    heading: str
    entries: tuple[TextEntry, ...] = ()


def draw_text_columns(axes: Axes, columns: Sequence[TextColumn]) -> None:
    """Write the columns beside each other; whatever the axes showed is lost."""
    width, height = style.use_pixel_coordinates(axes)
    share = (width - _MARGIN) / len(columns)
    axes.plot([_MARGIN, width - _MARGIN], [height - 2] * 2, color=style.GRID, linewidth=1)
    for number, text_column in enumerate(columns):
        x, y = _MARGIN + number * share, height - 22
        letters = min(_MAX_LETTERS, int((share - _MARGIN) / _LETTER))
        heading = style.drawable_text(text_column.heading, int(letters * _LETTER / _BOLD_LETTER))
        style.write(axes, (x, y), heading, bold=True)
        for note in fit_lines(text_column.entries, letters, int((y - _MARGIN) / _LINE)):
            y -= _LINE
            color = style.FAINT_INK if note.is_faint else style.INK
            color = style.POINT if note.is_highlighted else color
            style.write(axes, (x, y), note.text, size=style.SMALL, color=color)


def fit_lines(notes: Sequence[TextEntry], max_letters: int, max_lines: int) -> list[TextEntry]:
    """Return entries as lines of so many letters, not more than there is room for.

    >>> [note.text for note in fit_lines([TextEntry("a"), TextEntry("b"), TextEntry("c",
    ...     is_highlighted=True)], 20, 2)]
    ['c', '… 2 more']
    """
    entries = [
        TextEntry(line, note.is_highlighted, note.is_faint)
        for note in notes
        for line in textwrap.wrap(style.drawable_text(note.text, 4 * max_letters), max_letters)
    ]
    if len(entries) <= max_lines:
        return entries
    room = max_lines - 1
    seen = next((place for place, note in enumerate(entries) if note.is_highlighted), 0)
    first = min(max(0, seen - room // 2), len(entries) - room)
    left_out = TextEntry(f"… {len(entries) - room} more", is_faint=True)
    return [*entries[first : first + room], left_out]


WIDTH, HEIGHT = 960, 640
TITLE = 0.055
"""The height of a title, as a part of the whole."""

_DOTS_PER_INCH = 100
_MAX_TITLE_LENGTH = 90


def new_page(title: str) -> Figure:
    """Return a figure that belongs to nobody else, with nothing on it but a title."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(WIDTH / _DOTS_PER_INCH, HEIGHT / _DOTS_PER_INCH),
        dpi=_DOTS_PER_INCH,
        facecolor=style.BACKGROUND,
    )
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 1 - TITLE, 1.0, TITLE))
    _, height = style.use_pixel_coordinates(axes)
    text = style.drawable_text(title, _MAX_TITLE_LENGTH)
    style.write(axes, (12, height / 2), text, size=style.LARGE, bold=True)
    return figure


def pixels(figure: Figure) -> NDArray[np.uint8]:
    """Return a figure as an array of height × width × 3 bytes: red, green, blue."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def text_page(title: str, columns: Sequence[TextColumn]) -> NDArray[np.uint8]:
    """Return a picture of columns of text, where there is nothing to be drawn."""
    figure = new_page(title)
    draw_text_columns(figure.add_axes((0.0, 0.0, 1.0, 1 - TITLE)), columns)
    return pixels(figure)
