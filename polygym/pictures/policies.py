"""The mean of the best so far against schedules explored, one line for each policy.

Both axes are logarithmic: what the first ten find matters as much as what the next hundred do.
Horizontal lines are what there is to pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygym.pictures import chart, style

_COLORS = (chart.OURS, "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 3)))


def policies_picture(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    references: Mapping[str, float],
    kernels: int,
    size: str,
) -> chart.Picture:
    """Draw the curves; a pair (n, mean) holds from n episodes on until the next."""
    figure, axes = chart.new_chart(chart.COLUMN, 2.6, left=0.5, bottom=0.42, top=0.42)
    values = [mean for curve in curves.values() for _, mean in curve]
    values += references.values()
    axes.set_xscale("log")
    last = max((curve[-1][0] for curve in curves.values() if curve), default=10)
    axes.set_xlim(0.95, max(last, 2) * 1.05)
    chart.speedup_axis(axes, values, f"mean best speedup ({style.drawable(size, 12)})")
    axes.axhline(1.0, color=style.INK, linewidth=0.9, zorder=2)
    entries = []
    for position, (name, curve) in enumerate(curves.items()):
        color = _COLORS[position % len(_COLORS)]
        dashes = _DASHES[position % len(_DASHES)]
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
        entries.append(chart.Entry(name, color, dashes=dashes, width=1.5))
    for position, (name, level) in enumerate(references.items()):
        color = chart.OTHERS[position % len(chart.OTHERS)]
        axes.axhline(level, color=color, linewidth=1.0, linestyle=(0, (8, 2)), zorder=3)
        entries.append(chart.Entry(name, color, dashes=(0, (8, 2)), width=1.0))
    _number_axis(axes, f"schedules explored (mean over {kernels} programs)")
    chart.legend_above(figure, axes, entries, 3)
    return chart.finished(figure)


def _number_axis(axes: object, text: str) -> None:
    from matplotlib.axes import Axes
    from matplotlib.ticker import FuncFormatter, NullFormatter

    assert isinstance(axes, Axes)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=1.5, width=0.4, colors=style.FAINT_INK)
    for label in axes.get_xticklabels():
        label.set_fontproperties(style.font(chart.TEXT))
    axes.set_xlabel(text, fontproperties=style.font(chart.TEXT), color=style.INK, labelpad=2)
