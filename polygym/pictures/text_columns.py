"""Text in the lower half of a picture: columns of lines, where there is no space to be drawn.

What does not fit is cut so that the line that stands out is seen: of 40 lines, the 30th of which
stands out, ten lines of room show the 26th to the 34th and say how many more there are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polygym.pickling import pickle_by_name
from polygym.pictures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
