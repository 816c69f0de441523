"""Chart of means with their intervals, one row for each name."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

_COLOR = "#4477aa"


def draw_mean_intervals(
    rows: Sequence[tuple[str, tuple[float, float, float]]], label: str, file: Path
) -> None:
    """Draw names with their mean, and the low and high end of its interval, from top to bottom.

    Raises:
        ValueError: the file has an ending that no picture has.
    """
    figure = Figure(figsize=(7, 0.6 * len(rows) + 1.2), layout="constrained")
    axes = figure.subplots()
    for place, (_, (middle, low, high)) in enumerate(reversed(rows)):
        axes.plot([low, high], [place, place], color=_COLOR, linewidth=2)
        axes.plot([middle], [place], "o", color=_COLOR)
    axes.set_yticks(range(len(rows)), [name for name, _ in reversed(rows)])
    axes.set_xlabel(label)
    axes.grid(axis="x", alpha=0.3)
    with matplotlib.rc_context({"svg.hashsalt": "polygym"}):
        figure.savefig(file)
