"""Small multiples: what share of each of several collections has which property, panel by panel.

The first collection is drawn as bars, the others as marks on the same axis, so a mark above a bar
says: among those it is more frequent. All panels have one scale, from nothing to a round share that
no value passes, so heights can be compared between panels too.

In upright panels a share of nothing has no mark.

The picture is SVG with letters as text, on white, as the drawings of the documents are: it is
small, it can be searched, and it needs no matplotlib.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil
from typing import TypeAlias, assert_never

from polygym.pictures import style
from polygym.pictures.charts import chart_style

_WIDTH, _EDGE, _HEADER, _FOOTER = 960.0, 16.0, 78.0, 30.0
_COLUMNS = 3
_CELL_HEIGHT, _PLOT_HEIGHT = 196.0, 124.0
_LEFT, _RIGHT = 40.0, 14.0
_TITLE_TEXT, _TEXT, _LARGE_TEXT = 13.0, 11.5, 16.0

# How wide a letter is on average, as a part of its size: names have to find room beside rows.
_LETTER = 0.58
_MARK_SIZE = 4.4
_STEP = 20

_COLORS = (chart_style.MAIN_COLOR, *chart_style.REFERENCE_COLORS)
_BACKGROUND, _INK, _FAINT, _GRID = style.BACKGROUND, style.INK, style.FAINT_INK, style.GRID


@dataclass(frozen=True, slots=True)
class HistogramPanel:
    """A panel of numbers in bins, side by side, in one cell.

    ``shares`` has a tuple for every collection, in it a share from 0 to 1 for every label.
    """

    title: str
    labels: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class PropertyPanel:
    """A panel of properties that a member has or has not, one below the other, in two cells."""

    title: str
    labels: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


MultiplesPanel: TypeAlias = HistogramPanel | PropertyPanel


@dataclass(frozen=True, slots=True)
class Bins:
    """Where bins begin, ascending, and what they are called; the last one has no end."""

    lower_bounds: tuple[float, ...]
    labels: tuple[str, ...]

    @staticmethod
    def whole(*begins: int) -> Bins:
        """Return bins of whole numbers with their names.

        >>> Bins.whole(1, 2, 3, 6).labels
        ('1', '2', '3-5', '6+')
        """
        names = [
            str(first) if after == first + 1 else f"{first}-{after - 1}"
            for first, after in pairwise(begins)
        ]
        return Bins(begins, (*names, f"{begins[-1]}+"))

    def shares(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the share of the values in each bin; what is too small for all is in the first.

        >>> Bins.whole(1, 2, 3).shares([1, 1, 2, 30])
        (0.5, 0.25, 0.25)
        """
        counts = [0] * len(self.lower_bounds)
        for value in values:
            counts[max(0, bisect_right(self.lower_bounds, value) - 1)] += 1
        return tuple(count / max(1, len(values)) for count in counts)


def small_multiples_svg(
    title: str, collections: Sequence[str], panels: Sequence[MultiplesPanel], note: str = ""
) -> str:
    """Return the picture as the text of an SVG file; ``note`` stands below it."""
    places = _places(panels)
    height = _HEADER + _CELL_HEIGHT * (1 + max((row for row, _ in places), default=0)) + _FOOTER
    most = _scale_end(panels)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" '
        f'width="{_WIDTH:g}" height="{height:g}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH:g}" height="{height:g}" fill="{_BACKGROUND}"/>',
        _text(_EDGE, 28, title, _LARGE_TEXT, bold=True),
        *_legend(collections),
    ]
    cell = (_WIDTH - 2 * _EDGE) / _COLUMNS
    for panel, (row, column) in zip(panels, places, strict=True):
        x, y = _EDGE + column * cell, _HEADER + row * _CELL_HEIGHT
        match panel:
            case HistogramPanel():
                lines += _histogram(panel, x, y, cell, most, scaled=column == 0)
            case PropertyPanel():
                lines += _property_rows(panel, x, y, 2 * cell)
            case _:
                assert_never(panel)
    if note:
        lines.append(_text(_EDGE, height - 14, note, _TEXT, color=_FAINT))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _places(panels: Sequence[MultiplesPanel]) -> list[tuple[int, int]]:
    """Return the row and the first column of each panel: from left to right, then below."""
    result = []
    row = column = 0
    for panel in panels:
        width = 2 if isinstance(panel, PropertyPanel) else 1
        if column + width > _COLUMNS:
            row, column = row + 1, 0
        result.append((row, column))
        column += width
    return result


def _scale_end(panels: Sequence[MultiplesPanel]) -> int:
    """Return where the scale of upright panels ends, in percent."""
    shares = [
        share
        for panel in panels
        if isinstance(panel, HistogramPanel)
        for collection in panel.shares
        for share in collection
    ]
    return max(1, ceil(100 * max(shares, default=0) / _STEP - 1e-9)) * _STEP


def _legend(collections: Sequence[str]) -> Iterator[str]:
    x, y = _EDGE, 54.0
    for place, name in enumerate(collections):
        if place == 0:
            yield _bar(x, y - 10, 12, 11)
        else:
            yield _mark(place, x + 6, y - 4.5)
        yield _text(x + 18, y, name, _TEXT)
        x += 18 + _LETTER * _TEXT * len(name) + 22


def _histogram(
    panel: HistogramPanel, x: float, y: float, width: float, most: int, *, scaled: bool
) -> Iterator[str]:
    """Yield a panel; only those at the left have the scale's numbers."""
    left, right = x + _LEFT, x + width - _RIGHT
    bottom = y + 22 + _PLOT_HEIGHT
    yield _text(left, y + 10, panel.title, _TITLE_TEXT, bold=True)

    def height(percent: float) -> float:
        return _PLOT_HEIGHT * percent / most

    for percent in range(0, most + 1, _STEP):
        level = bottom - height(percent)
        yield _line(left, level, right, level, _GRID if percent else _FAINT)
        if scaled:
            text = f"{percent}%" if percent == most else str(percent)
            yield _text(left - 6, level + 4, text, _TEXT, color=_FAINT, anchor="end")
    slot = (right - left) / max(1, len(panel.labels))
    for place, label in enumerate(panel.labels):
        middle = left + (place + 0.5) * slot
        for number, shares in enumerate(panel.shares):
            tall = height(100 * shares[place])
            if number == 0:
                yield _bar(middle - 0.36 * slot, bottom - tall, 0.72 * slot, tall)
            elif tall:
                yield _mark(number, middle + _mark_offset(number, len(panel.shares)), bottom - tall)
        yield _text(middle, bottom + 16, label, _TEXT, anchor="middle")


def _property_rows(panel: PropertyPanel, x: float, y: float, width: float) -> Iterator[str]:
    """Yield a panel of rows, on a scale of its own that ends at 100 percent."""
    names = _LETTER * _TEXT * max(map(len, panel.labels), default=0) + 10
    left, right = x + _LEFT + names, x + width - _RIGHT
    top, bottom = y + 22, y + 22 + _PLOT_HEIGHT
    yield _text(x + _LEFT, y + 10, panel.title, _TITLE_TEXT, bold=True)

    def across(percent: float) -> float:
        return (right - left) * percent / 100

    for percent in range(0, 101, _STEP):
        at = left + across(percent)
        yield _line(at, top, at, bottom, _GRID if percent else _FAINT)
        text = f"{percent}%" if percent == 100 else str(percent)
        yield _text(at, bottom + 16, text, _TEXT, color=_FAINT, anchor="middle")
    slot = (bottom - top) / max(1, len(panel.labels))
    for place, label in enumerate(panel.labels):
        middle = top + (place + 0.5) * slot
        yield _text(left - 8, middle + 4, label, _TEXT, anchor="end")
        for number, shares in enumerate(panel.shares):
            long = across(100 * shares[place])
            if number == 0:
                yield _bar(left, middle - 0.36 * slot, long, 0.72 * slot)
            else:
                yield _mark(number, left + long, middle + _mark_offset(number, len(panel.shares)))


def _mark_offset(number: int, collections: int) -> float:
    """Return how far a collection's mark stands from the middle, so that equal ones are seen.

    >>> [_mark_offset(number, 3) for number in (1, 2)]
    [-5.0, 5.0]
    """
    return (number - collections / 2) * 10.0


def _bar(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{_COLORS[0]}" fill-opacity="0.32"/>'
    )


def _mark(number: int, x: float, y: float) -> str:
    """Return a disc for the second collection, a hollow diamond for the third, and so on."""
    color = _COLORS[number % len(_COLORS)]
    fill = color if number % 2 else _BACKGROUND
    look = f'fill="{fill}" stroke="{color}" stroke-width="1.6"'
    if number % 2:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_MARK_SIZE - 0.8:.1f}" {look}/>'
    corners = ((0, -_MARK_SIZE), (_MARK_SIZE, 0), (0, _MARK_SIZE), (-_MARK_SIZE, 0))
    points = " ".join(f"{x + right:.1f},{y + down:.1f}" for right, down in corners)
    return f'<polygon points="{points}" {look}/>'


def _line(x: float, y: float, to_x: float, to_y: float, color: str) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{color}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    *,
    color: str = _INK,
    bold: bool = False,
    anchor: str = "start",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{color}"{weight}{where}>'
        f"{escape(text)}</text>"
    )
