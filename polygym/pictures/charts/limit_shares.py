"""Every program under its roof: which share of the limit its code reaches, as bars.

The roof is 100 %: no code of the program is faster on the machine. A bar grows from the bottom on a
logarithmic axis, so that twice as near to the roof is the same length anywhere. Over each program
stands by what it is bound, in a letter and a colour: arithmetic, memory, or a chain of operations
that wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polygym.pickling import pickle_by_name
from polygym.pictures import style
from polygym.pictures.charts import chart_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = (chart_style.MAIN_COLOR, *chart_style.REFERENCE_COLORS)
_LETTERS_HEIGHT = 0.16
_FULL_LIMIT = 1.0

# Letter and colour of what binds a program.
_BOTTLENECKS = {
    "compute": ("A", "arithmetic", "#7b3294"),
    "memory": ("M", "memory", "#1b7837"),
    "chain": ("C", "chain", "#b2182b"),
}


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LimitShares:
    """One program: which share of its limit each contender reaches, and what binds it."""

    name: str
    shares: Mapping[str, float]
    bottleneck: str


def limit_shares_picture(programs: Sequence[LimitShares], size: str) -> chart_style.Picture:
    """Draw all programs, in the order in which they are given."""
    names = list(dict.fromkeys(name for program in programs for name in program.shares))
    entries = [
        chart_style.LegendEntry(name, _color(place), hatch=chart_style.hatch_of(place))
        for place, name in enumerate(names)
    ]
    entries.append(chart_style.LegendEntry("the limit", style.INK, dashes="-", width=1.2))
    for bind in dict.fromkeys(program.bottleneck for program in programs):
        letter, text, color = _BOTTLENECKS[bind]
        entries.append(
            chart_style.LegendEntry(f"{letter}: bound by {text}", color, marker="o", width=0)
        )
    width = chart_style.width_for(max(1, len(programs)), 0.24 + 0.06 * len(names))
    bottom = chart_style.names_height([program.name for program in programs])
    top = chart_style.legend_height(width, entries) + _LETTERS_HEIGHT
    figure, axes = chart_style.new_chart(
        width, 1.9 + bottom + top, left=0.64, bottom=bottom, top=top
    )
    values = [share for limit_shares in programs for share in limit_shares.shares.values()]
    _axis(axes, values, f"share of the limit ({style.drawable_text(size, 16)})")
    axes.set_xlim(-0.6, max(1, len(programs)) - 0.4)
    axes.axhline(_FULL_LIMIT, color=style.INK, linewidth=1.2, zorder=4)
    for place, shares in enumerate(programs):
        _draw(axes, place, shares, names)
    chart_style.names_below(
        axes, [program.name for program in programs], list(map(float, range(len(programs))))
    )
    chart_style.legend_above(figure, axes, entries, _LETTERS_HEIGHT)
    return chart_style.render_chart(figure)


def _axis(axes: Axes, values: Sequence[float], text: str) -> None:
    """Make the vertical axis a logarithmic one of shares that ends a little above the roof."""
    low = min((*values, 0.1)) / 1.5
    high = max((*values, _FULL_LIMIT)) * 1.15
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    chart_style.log_ticks(axes.yaxis, low, high, lambda tick: f"{100 * tick:g} %")
    axes.grid(axis="y", color=style.GRID, linewidth=0.5)
    axes.set_ylabel(text, fontproperties=style.font(chart_style.TEXT), color=style.INK)


def _draw(axes: Axes, place: int, program: LimitShares, names: Sequence[str]) -> None:
    low, high = axes.get_ylim()
    chart_style.draw_bars(axes, place, [program.shares.get(name) for name in names], low, _color)
    letter, _, color = _BOTTLENECKS[program.bottleneck]
    axes.annotate(
        letter,
        (place, high),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontproperties=style.font(chart_style.TEXT, bold=True),
        color=color,
    )


def _color(position: int) -> str:
    return _COLORS[position % len(_COLORS)]
