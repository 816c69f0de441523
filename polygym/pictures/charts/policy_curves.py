"""The mean of the best so far against schedules explored, one line for each policy.

Both axes are logarithmic: what the first ten find matters as much as what the next hundred do.
Horizontal lines are what there is to pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.pictures.charts import chart_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = (
    chart_style.MAIN_COLOR, "#e69f00", "#cc79a7", "#56b4e9",
    "#d55e00", "#009e73", "#8c6d31", "#777777",
)  # fmt: skip
_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 3)))


def policy_curves_picture(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    references: Mapping[str, float],
    kernels: int,
    size: str,
) -> chart_style.Picture:
    """Draw the curves; a pair (n, mean) holds from n episodes on until the next.

    References have the colours that the curves leave, so that no two lines share one.
    """
    level_colors = [_color(len(curves) + position) for position in range(len(references))]
    entries = [
        chart_style.LegendEntry(name, *_line_style(position), width=1.5)
        for position, name in enumerate(curves)
    ]
    entries += [
        chart_style.LegendEntry(
            name, level_colors[position], dashes=_level_dashes(position), width=0.9
        )
        for position, name in enumerate(references)
    ]
    top = chart_style.legend_height(chart_style.COLUMN_WIDTH, entries)
    figure, axes = chart_style.new_chart(
        chart_style.COLUMN_WIDTH, 2.2 + top, left=0.64, bottom=0.4, top=top
    )
    values = [mean for curve in curves.values() for _, mean in curve]
    values += references.values()
    axes.set_xscale("log")
    last = max((curve[-1][0] for curve in curves.values() if curve), default=10)
    axes.set_xlim(0.95, max(last, 2) * 1.05)
    chart_style.speedup_axis(axes, values, f"mean best speedup ({style.drawable_text(size, 12)})")
    axes.axhline(1.0, color=style.INK, linewidth=0.9, zorder=2)
    for position, curve in enumerate(curves.values()):
        color, _, dashes = _line_style(position)
        numbers, means = [pair[0] for pair in curve], [pair[1] for pair in curve]
        axes.plot(
            numbers,
            means,
            color=color,
            linewidth=1.5,
            linestyle=dashes,
            drawstyle="steps-post",
            zorder=4,
        )
        axes.plot(
            numbers[-1:], means[-1:], "o", color=color, markersize=3, markeredgewidth=0, zorder=5
        )
    for position, level in enumerate(references.values()):
        axes.axhline(
            level,
            color=level_colors[position],
            linewidth=0.9,
            linestyle=_level_dashes(position),
            zorder=3,
        )
    _number_axis(axes, last, f"schedules explored (mean over {kernels} programs)")
    chart_style.legend_above(figure, axes, entries)
    return chart_style.render_chart(figure)


def _line_style(position: int) -> tuple[str, str, object]:
    """Return the colour of a policy's line, no marker, and the pattern of the line."""
    return _color(position), "None", _DASHES[position % len(_DASHES)]


def _color(position: int) -> str:
    return _COLORS[position % len(_COLORS)]


def _level_dashes(position: int) -> object:
    """Return the pattern of a level: of two that lie on each other both are seen."""
    return "-" if position == 0 else (0, (3 + position, 3 + position))


def _number_axis(axes: Axes, last: int, text: str) -> None:
    chart_style.log_ticks(axes.xaxis, 1, max(last, 2) * 1.05, lambda tick: f"{tick:.0f}")
    axes.set_xlabel(text, fontproperties=style.font(chart_style.TEXT), color=style.INK, labelpad=2)
