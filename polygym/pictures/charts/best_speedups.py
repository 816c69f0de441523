"""The best speedup of each program as a bar, beside what there is to compare with, and the means.

A bar grows from 1, upwards or downwards, on a logarithmic axis: twice as fast is as long as half
as fast. The row of numbers at the top is the best's.
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

# The height of the row of numbers, in inches.
_NUMBERS_HEIGHT = 0.1


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SpeedupGroup:
    """One program's bars; ``best`` is None where nothing has run yet."""

    name: str
    best: float | None
    references: Mapping[str, float]


def best_speedups_picture(
    groups: Sequence[SpeedupGroup], mean: SpeedupGroup, size: str
) -> chart_style.Picture:
    """Draw all programs, and the mean apart from them at the right."""
    names = list(dict.fromkeys(name for group in (*groups, mean) for name in group.references))
    entries = [
        chart_style.LegendEntry(
            "best schedule", chart_style.MAIN_COLOR, hatch=chart_style.hatch_of(0)
        )
    ]
    for position, name in enumerate(names):
        entries.append(
            chart_style.LegendEntry(
                name, _color(position + 1), hatch=chart_style.hatch_of(position + 1)
            )
        )
    entries.append(chart_style.LegendEntry("LLVM -O3", style.INK, dashes="-", width=0.9))
    width = chart_style.width_for(len(groups) + 2, 0.3)
    bottom = chart_style.names_height([group.name for group in (*groups, mean)])
    top = chart_style.legend_height(width, entries) + _NUMBERS_HEIGHT
    figure, axes = chart_style.new_chart(
        width, 1.8 + bottom + top, left=0.64, bottom=bottom, top=top
    )
    places = [*map(float, range(len(groups))), len(groups) + 0.5]
    everything = (*groups, mean)
    values = [value for speedup_group in everything for value in speedup_group.references.values()]
    values += [speedup_group.best for speedup_group in everything if speedup_group.best is not None]
    text = f"speedup over LLVM -O3 ({style.drawable_text(size, 16)})"
    chart_style.speedup_axis(axes, values, text)
    axes.set_xlim(-0.6, len(groups) + 1.1)
    axes.axhline(1.0, color=style.INK, linewidth=0.9, zorder=4)
    axes.axvline(len(groups) - 0.25, color=style.GRID, linewidth=0.8)
    for place, group in zip(places, everything, strict=True):
        _draw_group(axes, place, group, names, is_mean=group is mean)
    chart_style.names_below(axes, [speedup_group.name for speedup_group in everything], places)
    chart_style.legend_above(figure, axes, entries, _NUMBERS_HEIGHT)
    return chart_style.render_chart(figure)


def _draw_group(
    axes: Axes, x: float, group: SpeedupGroup, names: Sequence[str], *, is_mean: bool
) -> None:
    heights = [group.best, *(group.references.get(name) for name in names)]
    chart_style.draw_bars(axes, x, heights, 1.0, _color)
    if group.best is not None:
        _, top = axes.get_ylim()
        axes.annotate(
            _three_digits(group.best),
            (x, top),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontproperties=style.font(chart_style.SMALL_TEXT, bold=is_mean),
            color=chart_style.MAIN_COLOR,
            zorder=6,
        )


def _color(position: int) -> str:
    return (
        chart_style.MAIN_COLOR
        if position == 0
        else chart_style.REFERENCE_COLORS[(position - 1) % len(chart_style.REFERENCE_COLORS)]
    )


def _three_digits(value: float) -> str:
    """Return a number short enough to stand beside others.

    >>> _three_digits(0.501), _three_digits(19.14), _three_digits(117.2)
    ('0.50', '19.1', '117')
    """
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"
