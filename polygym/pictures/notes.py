"""Text in the lower half of a picture: columns of lines, where there is no space to be drawn.

What does not fit is cut so that the line that stands out is seen: of 40 lines, the 30th of which
stands out, ten lines of room show the 26th to the 34th and say how many more there are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polygym.pickles import pickled_by_name
from polygym.pictures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _MARGIN = 14.5, 12.0

# How wide a letter is on average, in pixels, and how many a line has at most.
_LETTER, _BOLD_LETTER, _MOST = 5.7, 7.6, 115


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Note:
    """One entry of a column; ``stands_out`` is the one to be seen, ``is_faint`` counts little."""

    text: str
    stands_out: bool = False
    is_faint: bool = False


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Column:
    """Entries below a heading."""

    heading: str
    notes: tuple[Note, ...] = ()


def draw_notes(axes: Axes, columns: Sequence[Column]) -> None:
    """Write the columns beside each other; whatever the axes showed is lost."""
    width, height = style.as_paper(axes)
    share = (width - _MARGIN) / len(columns)
    axes.plot([_MARGIN, width - _MARGIN], [height - 2] * 2, color=style.GRID, linewidth=1)
    for number, one in enumerate(columns):
        x, y = _MARGIN + number * share, height - 22
        letters = min(_MOST, int((share - _MARGIN) / _LETTER))
        heading = style.drawable(one.heading, int(letters * _LETTER / _BOLD_LETTER))
        style.write(axes, (x, y), heading, bold=True)
        for note in fitted(one.notes, letters, int((y - _MARGIN) / _LINE)):
            y -= _LINE
            color = style.FAINT_INK if note.is_faint else style.INK
            color = style.POINT if note.stands_out else color
            style.write(axes, (x, y), note.text, size=style.SMALL, color=color)


def fitted(notes: Sequence[Note], letters: int, lines: int) -> list[Note]:
    """Return entries as lines of so many letters, not more than there is room for.

    >>> [note.text for note in fitted([Note("a"), Note("b"), Note("c", stands_out=True)], 20, 2)]
    ['c', '… 2 more']
    """
    found = [
        Note(line, note.stands_out, note.is_faint)
        for note in notes
        for line in textwrap.wrap(style.drawable(note.text, 4 * letters), letters)
    ]
    if len(found) <= lines:
        return found
    room = lines - 1
    seen = next((place for place, note in enumerate(found) if note.stands_out), 0)
    first = min(max(0, seen - room // 2), len(found) - room)
    left_out = Note(f"… {len(found) - room} more", is_faint=True)
    return [*found[first : first + room], left_out]
