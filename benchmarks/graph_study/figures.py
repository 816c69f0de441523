"""The figures of the study: gains and times of both methods, and what k does to an e-graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from graph_study.clocks import elapsed
from graph_study.plan import StudyMethod
from polygym.pictures import style
from polygym.pictures.charts.chart_style import (
    COLUMN_WIDTH,
    MAIN_COLOR,
    MARKERS,
    PAGE_WIDTH,
    REFERENCE_COLORS,
    LegendEntry,
    Picture,
    legend_above,
    legend_height,
    names_below,
    names_height,
    new_chart,
    render_chart,
)

__all__ = ["study_figures"]

Row: TypeAlias = Mapping[str, Any]
_TEXT = 7.0
_BIAS = ":bias"


def study_figures(rows: Sequence[Row]) -> dict[str, Picture]:
    """Return pictures by name; one for which there are no rows is left out."""
    pictures: dict[str, Picture] = {}
    pairs = _pairs(rows)
    if pairs:
        pictures["gains"] = _gains(pairs)
        pictures["times"] = _times(pairs)
    if speedups := _runtime_bars(rows):
        pictures["speedups"] = speedups
    multi = _by_k(rows)
    if multi:
        for name, text, field in (
            ("k-costs", "cost / cost before", "cost"),
            ("k-times", "seconds", "seconds"),
            ("k-nodes", "nodes of the e-graph", "nodes"),
        ):
            pictures[name] = _lines(multi, text, field)
    return pictures


def _pairs(rows: Sequence[Row]) -> list[tuple[str, Row, Row]]:
    """Return the models with saturation (k = 1) and backtracking (n = 100, alpha = 1)."""
    ours: dict[str, Row] = {}
    theirs: dict[str, Row] = {}
    for row in rows:
        trial = row["trial"]
        if trial["method"] == StudyMethod.BACKTRACKING.value:
            if trial["alpha"] == 1.0 and trial["iterations"] == 100:
                theirs[trial["model"]] = row
        elif _is_default(trial) and trial["k_multi"] == 1:
            ours.setdefault(trial["model"], row)
    return [(model, ours[model], theirs[model]) for model in ours if model in theirs]


def _by_k(rows: Sequence[Row]) -> dict[str, dict[int, Row]]:
    result: dict[str, dict[int, Row]] = {}
    for row in rows:
        trial = row["trial"]
        if trial["method"] == StudyMethod.SATURATION.value and _is_default(trial):
            result.setdefault(trial["model"], {})[trial["k_multi"]] = row
    return {model: by_k for model, by_k in result.items() if len(by_k) > 1}


def _is_default(trial: Mapping[str, Any]) -> bool:
    return bool(trial["cycles"] == "efficient" and trial["order"] == "lazy")


def _gains(pairs: Sequence[tuple[str, Row, Row]]) -> Picture:
    bars = [
        ("backtracking", REFERENCE_COLORS[0], [_gain(theirs) for _, _, theirs in pairs]),
        ("saturation", MAIN_COLOR, [_gain(ours) for _, ours, _ in pairs]),
    ]
    return _bars([model for model, _, _ in pairs], bars, "gain in cost, %", is_log=False)


def _times(pairs: Sequence[tuple[str, Row, Row]]) -> Picture:
    bars = [
        ("backtracking", REFERENCE_COLORS[0], [elapsed(theirs) for _, _, theirs in pairs]),
        (
            "to its best",
            REFERENCE_COLORS[3],
            [elapsed(theirs, "seconds_to_best") for _, _, theirs in pairs],
        ),
        ("saturation", MAIN_COLOR, [elapsed(ours) for _, ours, _ in pairs]),
    ]
    return _bars([model for model, _, _ in pairs], bars, "seconds", is_log=True)


def _runtime_bars(rows: Sequence[Row]) -> Picture | None:
    """Return the figure of speed-ups end to end, with and without biases; None without rows."""
    speedups = {
        row["trial"]["model"]: row["speedups"]
        for row in rows
        if row["trial"]["method"] == StudyMethod.RUNS.value
    }
    models = [model for model in speedups if not model.endswith(_BIAS)]
    if not models:
        return None

    def gains(name: str, suffix: str) -> list[float]:
        return [_mean_gain(speedups.get(model + suffix, {}).get(name, [])) for model in models]

    bars = [
        ("backtracking", REFERENCE_COLORS[0], gains("backtracking", "")),
        ("saturation", MAIN_COLOR, gains("saturation", "")),
        ("backtracking, biases", REFERENCE_COLORS[3], gains("backtracking", _BIAS)),
        ("saturation, biases", REFERENCE_COLORS[1], gains("saturation", _BIAS)),
    ]
    return _bars(models, bars, "gain end to end, %", is_log=False)


def _mean_gain(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return 100 * (sum(known) / len(known) - 1) if known else 0.0


def _gain(row: Row) -> float:
    return 100 * (float(row["initial_cost"]) / float(row["cost"]) - 1)


def _bars(
    names: Sequence[str],
    bars: Sequence[tuple[str, str, Sequence[float]]],
    text: str,
    *,
    is_log: bool,
) -> Picture:
    entries = [LegendEntry(name, colour, hatch="") for name, colour, _ in bars]
    below, above = names_height(names), legend_height(PAGE_WIDTH, entries)
    figure, axes = new_chart(PAGE_WIDTH, 2.1 + below + above, left=0.55, bottom=below, top=above)
    width = 0.8 / len(bars)
    for number, (_, colour, values) in enumerate(bars):
        places = [place + (number - (len(bars) - 1) / 2) * width for place in range(len(names))]
        shown = [max(value, 1e-4) for value in values] if is_log else values
        axes.bar(places, shown, width * 0.92, color=colour)
    if is_log:
        axes.set_yscale("log")
    _label(axes, text)
    names_below(axes, names, list(range(len(names))))
    legend_above(figure, axes, entries)
    return render_chart(figure)


def _lines(multi: Mapping[str, Mapping[int, Row]], text: str, field: str) -> Picture:
    colours = (MAIN_COLOR, *REFERENCE_COLORS, "#666666")
    marks = ("o", *MARKERS, "x")
    entries = [
        LegendEntry(model, colours[number % 7], marks[number % 7], "-")
        for number, model in enumerate(multi)
    ]
    above = legend_height(COLUMN_WIDTH, entries)
    figure, axes = new_chart(COLUMN_WIDTH, 2.3 + above, left=0.55, bottom=0.4, top=above)
    for entry, by_k in zip(entries, multi.values(), strict=True):
        ks = sorted(by_k)
        axes.plot(
            ks,
            [_value(by_k[k], field) for k in ks],
            color=entry.color,
            marker=entry.marker,
            markersize=4,
            linewidth=1.2,
        )
    if field != "cost":
        axes.set_yscale("log")
    axes.set_xticks(range(4))
    axes.set_xlabel("iterations with rules of several results", fontproperties=style.font(_TEXT))
    _label(axes, text)
    legend_above(figure, axes, entries)
    return render_chart(figure)


def _value(row: Row, field: str) -> float:
    match field:
        case "nodes":
            return float(row["egraph"]["nodes"])
        case "cost":
            return float(row["cost"]) / float(row["initial_cost"])
        case _:
            result = elapsed(row, field)
            return result if math.isfinite(result) else 0.0


def _label(axes: Any, text: str) -> None:
    axes.set_ylabel(text, fontproperties=style.font(_TEXT), color=style.INK)
    axes.grid(axis="y", color=style.GRID, linewidth=0.5)
    for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
        label.set_fontproperties(style.font(_TEXT))
