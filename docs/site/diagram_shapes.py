"""Vocabulary of the diagrams: boxes, arrows, labels and iteration points as SVG text.

A :class:`Diagram` is a value: elements of SVG, in the order in which they are painted. Coordinates
are pixels of a picture that is 720 wide, the width of a page. Colours are those of Okabe and Ito
("Color Universal Design", 2008), which colour-blind readers can tell apart.

Every function returns text and depends on its arguments alone, so a picture has the same bytes on
every machine. :func:`text_width` estimates how wide words are in the widest usual font, DejaVu
Sans; :func:`text` refuses words that are wider than their room.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from typing import TypeAlias
from xml.sax.saxutils import escape

Point: TypeAlias = tuple[float, float]

WIDTH = 720
NORMAL, LARGE = 12.0, 13.5
LINE = 16.0
"""Sizes of letters, and the distance of two lines, in pixels."""

INK, FAINT = "#1f2933", "#52606d"
WHITE, GREY = "#ffffff", "#eef1f5"
ORANGE, SKY, GREEN, BLUE = "#e69f00", "#56b4e9", "#009e73", "#0072b2"
RED, PURPLE = "#d55e00", "#cc79a7"
"""Vermillion and reddish purple, under shorter names."""
LIGHT_ORANGE, LIGHT_SKY, LIGHT_GREEN = "#fbedcf", "#e1f1fb", "#d5efe7"
LIGHT_BLUE, LIGHT_RED, LIGHT_PURPLE = "#d3e6f2", "#f9e2d3", "#f6e6ef"

_HEAD = 8.0
_MONO_ADVANCE = 0.603
_BOLD_EXTRA = 0.075
_WIDEST = 1.0
# Advances of DejaVu Sans in parts of the letters' size, rounded up; others are as wide as can be.
_ADVANCES = (
    (0.28, "'ijl"),
    (0.3, "IJ"),
    (0.32, " ,.·"),
    (0.34, "/:;\\|"),
    (0.37, "f-"),
    (0.4, "()[]⌊⌋t"),
    (0.42, "r!"),
    (0.53, '"*_`sz?'),
    (0.56, "cL"),
    (0.6, "Fkvxy"),
    (0.62, "PTYoae"),
    (0.64, "EΣhnuSbdgpq$0123456789{}µ"),
    (0.7, "KAVXZBRC"),
    (0.76, "UNH"),
    (0.79, "DG&OQ"),
    (0.84, "w#+<=>^~→←≥≤"),
)
_ADVANCE = {letter: advance for advance, letters in _ADVANCES for letter in letters}


@dataclass(frozen=True, slots=True)
class Diagram:
    """A picture: its file name without suffix, what it shows in short and at length, its shapes."""

    name: str
    title: str
    description: str
    height: int
    shapes: tuple[str, ...]

    def svg(self) -> str:
        """Return the file: a white card with rounded corners, legible on dark pages too."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH}" height="{self.height}" font-family="sans-serif" role="img" '
            f'aria-labelledby="title description">'
        )
        card = f'<rect class="card" width="{WIDTH}" height="{self.height}" rx="12" fill="{WHITE}"/>'
        return "\n".join(
            (
                head,
                f'<title id="title">{escape(self.title)}</title>',
                f'<desc id="description">{escape(self.description)}</desc>',
                card,
                *self.shapes,
                "</svg>\n",
            )
        )


def text_width(
    words: str, size: float = NORMAL, *, bold: bool = False, mono: bool = False
) -> float:
    """Return how wide words are at most in pixels.

    >>> round(text_width("ij", 10.0), 2), round(text_width("ij", 10.0, mono=True), 2)
    (5.6, 12.06)
    """
    if mono:
        return len(words) * _MONO_ADVANCE * size
    extra = len(words) * _BOLD_EXTRA if bold else 0.0
    return (sum(_ADVANCE.get(letter, _WIDEST) for letter in words) + extra) * size


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _path(points: Iterable[Point], *, closed: bool = False) -> str:
    return (
        "M" + " L".join(f"{_number(x)} {_number(y)}" for x, y in points) + (" Z" if closed else "")
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = NORMAL,
    anchor: str = "start",
    bold: bool = False,
    mono: bool = False,
    fill: str = INK,
    room: float = WIDTH,
) -> str:
    """Return words on a base line.

    Raises:
        ValueError: the words are wider than their room.
    """
    width = text_width(words, size, bold=bold, mono=mono)
    if width > room:
        raise ValueError(f"{words!r}: expected at most {room:.0f} pixels, found {width:.0f}")
    style = ' font-weight="bold"' if bold else ""
    style += ' font-family="monospace"' if mono else ""
    style += "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" font-size="{size:g}"{style} fill="{fill}">'
        f"{escape(words)}</text>"
    )


def lines(
    x: float,
    y: float,
    rows: Sequence[str],
    *,
    anchor: str = "start",
    mono: bool = False,
    fill: str = INK,
    room: float = WIDTH,
) -> str:
    """Return lines of normal letters below each other; leading blanks of code are kept."""
    shapes = []
    for number, row in enumerate(rows):
        bare = row.lstrip(" ") if mono else row
        indent = text_width(" " * (len(row) - len(bare)), mono=True)
        place = x + indent, y + number * LINE
        shapes.append(text(*place, bare, anchor=anchor, mono=mono, fill=fill, room=room - indent))
    return "\n".join(shapes)


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "none",
    stroke: str = FAINT,
    dashed: bool = False,
    radius: float = 6,
    weight: float = 1.2,
) -> str:
    """Return a rectangle with rounded corners and without words."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" '
        f'height="{_number(height)}" rx="{radius:g}" fill="{fill}" stroke="{stroke}" '
        f'stroke-width="{weight:g}"{dashes}/>'
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    title: str = "",
    rows: Sequence[str] = (),
    *,
    fill: str = GREY,
    stroke: str = FAINT,
    dashed: bool = False,
    mono: bool = False,
) -> str:
    """Return a rectangle with a bold title and lines in its middle."""
    count = len(rows) + bool(title)
    base = y + height / 2 - (count - 1) * LINE / 2 + 4.5
    middle, room = x + width / 2, width - 8
    shapes = [rectangle(x, y, width, height, fill=fill, stroke=stroke, dashed=dashed)]
    if title:
        shapes.append(text(middle, base, title, anchor="middle", bold=True, room=room))
        base += LINE
    for number, row in enumerate(rows):
        place = middle, base + number * LINE
        shapes.append(text(*place, row, anchor="middle", mono=mono, room=room))
    return "\n".join(shapes)


def line(
    *points: Point, colour: str = FAINT, weight: float = 1.4, dashes: str = "", fill: str = "none"
) -> str:
    """Return a line through points, closed if it is filled."""
    pattern = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path d="{_path(points, closed=fill != "none")}" fill="{fill}" stroke="{colour}" '
        f'stroke-width="{weight:g}"{pattern}/>'
    )


def arrow(
    *points: Point, colour: str = FAINT, weight: float = 1.6, dashes: str = "", head: float = _HEAD
) -> str:
    """Return a line through points with a head at the last one."""
    (x, y), (before_x, before_y) = points[-1], points[-2]
    length = hypot(x - before_x, y - before_y)
    along_x, along_y = (x - before_x) / length, (y - before_y) / length
    neck = x - head * along_x, y - head * along_y
    across_x, across_y = -along_y * head * 0.42, along_x * head * 0.42
    left = neck[0] + across_x, neck[1] + across_y
    right = neck[0] - across_x, neck[1] - across_y
    shaft = line(*points[:-1], neck, colour=colour, weight=weight, dashes=dashes)
    return f'{shaft}\n<path d="{_path(((x, y), left, right), closed=True)}" fill="{colour}"/>'


def dot(x: float, y: float, radius: float = 4, *, fill: str = INK, stroke: str = "none") -> str:
    """Return an iteration point."""
    edge = "" if stroke == "none" else f' stroke="{stroke}" stroke-width="1.3"'
    return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{radius:g}" fill="{fill}"{edge}/>'


def disc(x: float, y: float, words: str, *, fill: str, radius: float = 13) -> str:
    """Return an iteration point with words in it."""
    label = text(x, y + 4.3, words, anchor="middle", room=2 * radius)
    return f"{dot(x, y, radius, fill=fill, stroke=FAINT)}\n{label}"


def heading(x: float, y: float, words: str, *, room: float = WIDTH) -> str:
    """Return the heading of a part of a picture."""
    return text(x, y, words, size=LARGE, bold=True, room=room)


def between(start: Point, end: Point, gap: float) -> tuple[Point, Point]:
    """Return a segment without so many pixels at both of its ends, where points are.

    >>> between((0.0, 0.0), (0.0, 20.0), 5.0)
    ((0.0, 5.0), (0.0, 15.0))
    """
    length = hypot(end[0] - start[0], end[1] - start[1])
    step_x, step_y = (gap * (end[k] - start[k]) / length for k in (0, 1))
    return (start[0] + step_x, start[1] + step_y), (end[0] - step_x, end[1] - step_y)
