"""The distribution of speedups: a violin for each program, references as marks across it.

A violin's width at a height is how dense the speedups are there: on the logarithmic axis each one
spreads as a normal curve, whose deviation is Scott's (the deviation of all, divided by the fifth
root of their number). Few speedups are drawn as they are instead, since a curve would pretend to
know more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polygym.pickling import pickle_by_name
from polygym.pictures import style
from polygym.pictures.charts import chart_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_VIOLIN_SAMPLES = 10
_MAX_POINTS = 40
_HALF_WIDTH = 0.42


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SpeedupDistribution:
    """The speedups of one program's schedules, and what there is to compare them with."""

    name: str
    speedups: tuple[float, ...]
    references: Mapping[str, float]


def distribution_picture(programs: Sequence[SpeedupDistribution], size: str) -> chart_style.Picture:
    """Draw all programs side by side; ``size`` is the one at which they were measured."""
    names = list(dict.fromkeys(name for program in programs for name in program.references))
    entries = [
        chart_style.LegendEntry("legal schedules", chart_style.MAIN_COLOR, marker="o"),
        chart_style.LegendEntry("LLVM -O3", style.INK, dashes="-", width=0.9),
    ]
    for position, name in enumerate(names):
        entries.append(
            chart_style.LegendEntry(name, _color(position), marker=_marker(position), dashes="-")
        )
    width = chart_style.width_for(len(programs), 0.3)
    bottom = chart_style.names_height([program.name for program in programs])
    top = chart_style.legend_height(width, entries)
    figure, axes = chart_style.new_chart(
        width, 1.9 + bottom + top, left=0.64, bottom=bottom, top=top
    )
    values = [
        value
        for speedup_distribution in programs
        for value in (*speedup_distribution.speedups, *speedup_distribution.references.values())
    ]
    chart_style.speedup_axis(
        axes, values, f"speedup over LLVM -O3 ({style.drawable_text(size, 12)})"
    )
    axes.set_xlim(-0.6, max(len(programs), 1) - 0.4)
    axes.axhline(1.0, color=style.INK, linewidth=0.9, zorder=2)
    for place, distribution in enumerate(programs):
        _draw_speedups(axes, place, distribution.speedups)
        for name, speedup in distribution.references.items():
            _draw_reference(axes, place, speedup, names.index(name))
    chart_style.names_below(axes, [program.name for program in programs], range(len(programs)))
    chart_style.legend_above(figure, axes, entries)
    return chart_style.render_chart(figure)


def density(logarithms: Sequence[float], at: Sequence[float]) -> list[float]:
    """Return how dense numbers are at some places, 1 where they are densest.

    >>> density([0.0, 0.0, 0.0, 1.0], [0.0, 5.0])[0] > density([0.0, 0.0, 0.0, 1.0], [1.0])[0]
    True
    """
    values, places = np.asarray(logarithms), np.asarray(at)
    spread = max(float(values.std()) * len(values) ** -0.2, 0.01)
    distances = (places[:, None] - values[None, :]) / spread
    heights = np.exp(-0.5 * distances**2).sum(axis=1)
    everywhere = (values[:, None] - values[None, :]) / spread
    most = max(np.exp(-0.5 * everywhere**2).sum(axis=1).max(), heights.max())
    return [float(height / most) for height in heights]


def _draw_speedups(axes: Axes, place: int, speedups: Sequence[float]) -> None:
    if not speedups:
        return
    logarithms = sorted(math.log10(speedup) for speedup in speedups)
    if len(speedups) >= _MIN_VIOLIN_SAMPLES and logarithms[-1] > logarithms[0]:
        grid = np.linspace(logarithms[0], logarithms[-1], 160)
        sample = logarithms[:: max(1, len(logarithms) // 1000)]
        widths = _HALF_WIDTH * np.asarray(density(sample, list(grid)))
        axes.fill_betweenx(
            10**grid,
            place - widths,
            place + widths,
            facecolor=chart_style.MAIN_COLOR,
            edgecolor=chart_style.MAIN_COLOR,
            alpha=0.35,
            linewidth=0.5,
            zorder=3,
        )
        shown = [logarithms[-1]]
    else:
        shown = logarithms[-_MAX_POINTS:]
    axes.plot(
        [place] * len(shown),
        [10**value for value in shown],
        "o",
        color=chart_style.MAIN_COLOR,
        markersize=2.6,
        markeredgewidth=0,
        zorder=5,
    )


def _draw_reference(axes: Axes, place: int, speedup: float, position: int) -> None:
    color = _color(position)
    axes.plot(
        [place - _HALF_WIDTH, place + _HALF_WIDTH],
        [speedup, speedup],
        color=color,
        linewidth=1.3,
        solid_capstyle="butt",
        zorder=4,
    )
    side = -_HALF_WIDTH if position % 2 == 0 else _HALF_WIDTH
    axes.plot(
        [place + side],
        [speedup],
        marker=_marker(position),
        color=color,
        markersize=3,
        markeredgewidth=0,
        zorder=4,
    )


def _color(position: int) -> str:
    return chart_style.REFERENCE_COLORS[position % len(chart_style.REFERENCE_COLORS)]


def _marker(position: int) -> str:
    return chart_style.MARKERS[position % len(chart_style.MARKERS)]
