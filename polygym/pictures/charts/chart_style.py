"""Style shared by the charts of a sweep: figure sizes, log axes, colours, files.

Colours are those of Okabe and Ito, which readers with any kind of colour blindness can tell apart;
what they say is said by a marker or a line's pattern as well.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polygym.pickling import pickle_by_name
from polygym.pictures import style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAIN_COLOR = "#0072b2"
REFERENCE_COLORS = ("#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("s", "^", "D", "v", "P")
DASHES = ((0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))

_GROUP_WIDTH = 0.84
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")

# A column and a page of a paper, in inches.
COLUMN_WIDTH, PAGE_WIDTH = 3.5, 7.2
_DOTS_PER_INCH = 200
TEXT, SMALL_TEXT = 7.0, 5.5


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Picture:
    """One picture as the contents of two files."""

    png: bytes
    svg: bytes


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A line of a legend: its text, and how what it stands for is drawn."""

    text: str
    color: str
    marker: str = "None"
    dashes: object = "None"
    width: float = 1.4
    hatch: str | None = None


def new_chart(
    width: float, height: float, *, left: float, bottom: float, top: float
) -> tuple[Figure, Axes]:
    """Return a figure of a size in inches, with axes at distances from its edges in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DOTS_PER_INCH, facecolor=style.BACKGROUND)
    figure.set_layout_engine("none")
    right = 0.16  # half of a tick's label stands beside the axes
    axes = figure.add_axes(
        (
            left / width,
            bottom / height,
            (width - left - right) / width,
            (height - bottom - top) / height,
        ),
        facecolor=style.BACKGROUND,
    )
    axes.tick_params(colors=style.INK, width=0.6, length=2.5, which="major")
    axes.set_axisbelow(True)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(style.FAINT_INK)
        spine.set_linewidth(0.6)
    return figure, axes


def render_chart(figure: Figure) -> Picture:
    """Return a figure as files; the same figure gives the same bytes.

    Texts of the SVG file are texts, so that they can be searched and read aloud.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    png, svg = io.BytesIO(), io.BytesIO()
    FigureCanvasAgg(figure).print_png(png)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "polygym"}):
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None})
    return Picture(png.getvalue(), svg.getvalue())


def log_ticks(axis: Axis, low: float, high: float, text: Callable[[float], str]) -> None:
    """Write round numbers along an axis between two, as texts."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    ticks = speedup_ticks(low, high)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter([text(tick) for tick in ticks]))
    axis.set_minor_locator(NullLocator())
    for label in axis.get_ticklabels():
        label.set_fontproperties(style.font(TEXT))


def hatch_of(position: int) -> str:
    """Return the pattern of a group's bar."""
    return _HATCHES[position % len(_HATCHES)]


def draw_bars(
    axes: Axes, x: float, heights: Sequence[float | None], base: float, color: Callable[[int], str]
) -> None:
    """Draw a group of bars side by side, from a base on; a missing one leaves its place free."""
    each = _GROUP_WIDTH / len(heights)
    for position, height in enumerate(heights):
        if height is not None:
            axes.bar(
                x - _GROUP_WIDTH / 2 + (position + 0.5) * each,
                height - base,
                each * 0.92,
                bottom=base,
                color=color(position),
                edgecolor=style.BACKGROUND,
                linewidth=0.0,
                hatch=hatch_of(position),
                zorder=3,
            )


def speedup_axis(axes: Axes, values: Sequence[float], text: str) -> None:
    """Make the vertical axis a logarithmic one of speedups that has room for the values and 1."""
    low = min((*values, 1.0)) / 1.25
    high = max((*values, 1.0)) * 1.25
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    log_ticks(axes.yaxis, low, high, lambda tick: f"{tick:g}x")
    axes.grid(axis="y", color=style.GRID, linewidth=0.5)
    figure = axes.get_figure(root=True)
    assert figure is not None
    box = axes.get_position()
    figure.text(
        0.05 / figure.get_size_inches()[0],
        (box.y0 + box.y1) / 2,
        text,
        rotation=90,
        ha="left",
        va="center",
        fontproperties=style.font(TEXT),
        color=style.INK,
        parse_math=False,
    )


def speedup_ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two: 1, 2, 5 and their tenfolds, fewer if the range is large.

    >>> speedup_ticks(0.4, 12)
    [0.5, 1.0, 2.0, 5.0, 10.0]
    >>> speedup_ticks(0.02, 12)
    [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    """
    decades = math.log10(high / low)
    digits = (1, 2, 5) if decades < 2.3 else (1, 3) if decades < 4 else (1,)
    stride = max(1, math.ceil(decades / 10))
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [
        float(f"{digit}e{power}")
        for power in range(first, last + 1)
        if power % stride == 0
        for digit in digits
    ]
    return [tick for tick in ticks if low <= tick <= high]


def names_below(axes: Axes, names: Sequence[str], places: Sequence[float]) -> None:
    """Write names under the horizontal axis, slanted so that long ones find room."""
    axes.set_xticks(places)
    axes.set_xticklabels(
        [style.drawable_text(name, 18) for name in names],
        rotation=45,
        ha="right",
        va="top",
        rotation_mode="anchor",
        fontproperties=style.font(TEXT),
        parse_math=False,
    )
    axes.tick_params(axis="x", length=0, pad=2)


def legend_above(
    figure: Figure, axes: Axes, entries: Sequence[LegendEntry], gap: float = 0.0
) -> None:
    """Write a legend some inches above the axes, in as many columns as there is room for."""
    if not entries:
        return
    handles = [_legend_handle(entry) for entry in entries]
    box = axes.get_position()
    width, height = figure.get_size_inches()
    figure.legend(
        handles,
        [style.drawable_text(legend_entry.text, 60) for legend_entry in entries],
        loc="lower center",
        bbox_to_anchor=((box.x0 + box.x1) / 2, box.y1 + 0.005 + gap / height),
        ncols=_legend_columns(width, entries),
        prop=style.font(TEXT),
        labelcolor=style.INK,
        frameon=False,
        borderpad=0.2,
        borderaxespad=0.2,
        handlelength=1.8,
        handletextpad=0.5,
        columnspacing=1.4,
    )


def _legend_handle(entry: LegendEntry) -> Artist:
    """Return what stands before an entry's text: a piece of a bar, or of a line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if entry.hatch is not None:
        return Patch(
            facecolor=entry.color, edgecolor=style.BACKGROUND, hatch=2 * entry.hatch, linewidth=0
        )
    return Line2D(
        [],
        [],
        color=entry.color,
        marker=entry.marker,
        linestyle=entry.dashes,
        linewidth=entry.width,
        markersize=4,
        markeredgewidth=0,
    )


def legend_height(width: float, entries: Sequence[LegendEntry]) -> float:
    """Return the height in inches that a legend needs."""
    return 0.14 + 0.14 * math.ceil(len(entries) / _legend_columns(width, entries))


def _legend_columns(width: float, entries: Sequence[LegendEntry]) -> int:
    """Return how many columns of a legend fit into a width."""
    longest = max((len(entry.text) for entry in entries), default=1)
    return max(1, min(len(entries), int((width - 0.7) / (0.42 + 0.062 * longest))))


def names_height(names: Sequence[str]) -> float:
    """Return the height in inches that slanted names need below the axes."""
    return 0.16 + 0.043 * min(18, max(map(len, names), default=0))


def width_for(groups: int, each: float) -> float:
    """Return the width in inches that so many groups need, between a column's and a page's."""
    return min(PAGE_WIDTH, max(COLUMN_WIDTH, 0.6 + groups * each))
