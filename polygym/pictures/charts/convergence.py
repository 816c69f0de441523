"""The picture of a search: the best speedup so far against the number of schedules explored.

The number is on a logarithmic axis, since what the first ten find matters as much as what the next
hundred do. Horizontal lines are what there is to beat.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polygym.pictures import style
from polygym.ratios import ratio_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES = (7.2, 4.2)
_DOTS_PER_INCH = 120

# As a part of the axes' height.
_LABEL_HEIGHT = 0.05


@dataclass(frozen=True, slots=True)
class _LineLabel:
    """What stands beside a line; ``height`` is in the data's coordinates."""

    height: float
    text: str
    color: str
    bold: bool


def convergence_png(
    title: str,
    curve: Sequence[tuple[int, float]],
    explored: int,
    references: Mapping[str, float],
) -> bytes:
    """Return the picture as a PNG file.

    ``curve`` has a pair (schedules explored, best speedup) for every improvement, ``references``
    the speedups to draw as lines.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, facecolor=style.BACKGROUND)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.09, 0.14, 0.78, 0.75))
    last = max(explored, 1)
    axes.set_xscale("log")
    axes.set_xlim(0.95, last * 1.05 if last > 1 else 10)
    tops = [*references.values(), *(speedup for _, speedup in curve)]
    axes.set_ylim(0, 1.12 * max(tops, default=1.0))
    labels = _draw_references(axes, references)
    if curve:
        labels.append(_draw_curve(axes, curve, last))
    _write_at_the_right(axes, labels)
    _label_axes(axes, title)
    file = io.BytesIO()
    canvas.print_png(file)
    return file.getvalue()


def _draw_curve(axes: Axes, curve: Sequence[tuple[int, float]], explored: int) -> _LineLabel:
    """Draw steps: what was found stays the best until something better is."""
    numbers = [number for number, _ in curve] + [explored]
    speedups = [speedup for _, speedup in curve] + [curve[-1][1]]
    color = style.STATEMENTS[0]
    axes.plot(numbers, speedups, color=color, linewidth=2, drawstyle="steps-post")
    axes.plot(numbers[:-1], speedups[:-1], "o", color=color, markersize=4)
    return _LineLabel(speedups[-1], f"best {ratio_text(speedups[-1])}", color, True)


def _draw_references(axes: Axes, references: Mapping[str, float]) -> list[_LineLabel]:
    colors = (style.FAINT_INK, *style.STATEMENTS[1:])
    labels = []
    for (name, speedup), color in zip(references.items(), colors, strict=False):
        axes.axhline(speedup, color=color, linewidth=1.2, linestyle=(0, (5, 3)))
        labels.append(_LineLabel(speedup, f"{name} {ratio_text(speedup)}", color, False))
    return labels


def _write_at_the_right(axes: Axes, labels: Sequence[_LineLabel]) -> None:
    """Write beside the lines, outside of the axes, each label clear of the one below."""
    bottom, top = axes.get_ylim()
    lowest = 0.0
    for label in sorted(labels, key=lambda line_label: line_label.height):
        height = max(lowest, (label.height - bottom) / (top - bottom))
        lowest = height + _LABEL_HEIGHT
        style.write(
            axes,
            (1.01, height),
            label.text,
            color=label.color,
            bold=label.bold,
            transform=axes.transAxes,
        )


def _label_axes(axes: Axes, title: str) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        text.set_fontproperties(style.font(style.NORMAL))
    axes.tick_params(colors=style.FAINT_INK)
    axes.grid(axis="y", color=style.GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    style.write(axes, (0, 1.06), title, size=style.LARGE, bold=True, transform=axes.transAxes)
    style.write(
        axes,
        (0.5, -0.14),
        "schedules explored",
        align=("center", "center"),
        transform=axes.transAxes,
    )
    style.write(
        axes,
        (-0.075, 0.5),
        "speedup over the original order, LLVM -O3",
        align=("center", "center"),
        transform=axes.transAxes,
        rotation=90,
    )
