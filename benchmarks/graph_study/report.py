"""The rows of the study as tables in Markdown, laid out as the paper's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from graph_study.clocks import clock_sentence, elapsed
from graph_study.plan import StudyMethod, StudyPart
from polygym.graphs.benchmark import Backend

__all__ = ["study_report"]

Row: TypeAlias = Mapping[str, Any]
_MISSING = "-"
_BERT_NOTE = (
    "The gain of `bert` is an artefact of the paper's graph. The output product of a layer is the "
    "input of the next without anything in between, so that (x u) v = x (u v), and u v is computed "
    "ahead. Models that are in use have biases, activations and normalisation there."
)


def study_report(rows: Sequence[Row]) -> str:
    """Return all tables for which there are rows."""
    parts = (
        _searches, _settings, _k_table, _order, _cycles, _end_to_end_table, _speedup_table,
    )  # fmt: skip
    tables = "\n".join(text for part in parts if (text := part(rows)))
    return f"{clock_sentence(rows)}\n\n{tables}" if tables else ""


def _searches(rows: Sequence[Row]) -> str:
    lines = []
    ratios = []
    for model in _models(rows):
        ours = _find(rows, model, StudyMethod.SATURATION, k_multi=1)
        more = _find(rows, model, StudyMethod.SATURATION, k_multi=2)
        theirs = _find(rows, model, StudyMethod.BACKTRACKING, alpha=1.0, iterations=100)
        if ours is None or theirs is None:
            continue
        ratio = elapsed(theirs) / elapsed(ours)
        ratios.append(ratio)
        lines.append(
            (
                model,
                f"{ours['initial_cost']:.1f}",
                f"{theirs['cost']:.1f}",
                f"{ours['greedy_cost']:.1f}",
                f"{ours['cost']:.1f}",
                _bound(ours),
                _gain(theirs),
                _gain(ours),
                _seconds(elapsed(theirs)),
                _seconds(elapsed(theirs, "seconds_to_best")),
                _seconds(elapsed(ours)),
                f"{ratio:.1f}",
                *((_MISSING,) * 3 if more is None else _deeper(more)),
            )
        )
    if not lines:
        return ""
    head = (
        "model", "before", "backtracking", "greedy", "saturation", "proved", "gain of backtracking",
        "gain of saturation", "backtracking takes", "to its best", "saturation takes", "ratio",
        "k = 2", "proved", "takes",
    )  # fmt: skip
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return (
        "## Saturation beside backtracking (n = 100, alpha = 1)\n\n"
        + _table(head, lines)
        + f"\nIn the geometric mean saturation takes {mean:.1f} times less time.\n"
    )


def _deeper(row: Row) -> tuple[str, str, str]:
    return f"{row['cost']:.1f}", _bound(row), _seconds(elapsed(row))


def _settings(rows: Sequence[Row]) -> str:
    lines = []
    for model in _models(rows):
        usual = _find(rows, model, StudyMethod.BACKTRACKING, alpha=1.0, iterations=100)
        wider = _find(rows, model, StudyMethod.BACKTRACKING, alpha=1.05, iterations=100)
        longer = _find(rows, model, StudyMethod.BACKTRACKING, alpha=1.0, iterations=1000)
        if wider is None and longer is None:
            continue
        cells = [model]
        for row in (usual, wider, longer):
            cells += [_MISSING] * 2 if row is None else [_gain(row), _seconds(elapsed(row))]
        lines.append(tuple(cells))
    if not lines:
        return ""
    head = ("model", "n = 100, alpha = 1", "time", "alpha = 1.05", "time", "n = 1,000", "time")
    return "## Backtracking in other settings\n\n" + _table(head, lines)


def _k_table(rows: Sequence[Row]) -> str:
    def shown(row: Row) -> tuple[str, ...]:
        return (
            f"{row['cost']:.1f}",
            _bound(row),
            _seconds(elapsed(row)),
            str(row["egraph"]["nodes"]),
            row["egraph"]["stop"],
        )

    lines = []
    for model in _models(rows):
        for k in range(4):
            if (
                row := _find(rows, model, StudyMethod.SATURATION, k_multi=k, part=StudyPart.K)
            ) is not None:
                lines.append((model, str(k), *shown(row)))
    if not lines:
        return ""
    head = ("model", "k", "cost", "proved", "time", "nodes", "ended by")
    return "## Iterations with rules of several results\n\n" + _table(head, lines)


def _order(rows: Sequence[Row]) -> str:
    def of(row: Row) -> str:
        return (
            f"{_seconds(elapsed(row, 'extraction_seconds'))} ({row['status']}, {row['cost']:.1f})"
        )

    return _model_columns(
        rows,
        "## Constraints against cycles: time of extraction\n\n",
        [
            ("real", {"order": "real"}),
            ("integer", {"order": "integer"}),
            ("none", {"order": "none"}),
        ],
        of,
    )


def _cycles(rows: Sequence[Row]) -> str:
    def of(row: Row) -> str:
        return f"{_seconds(elapsed(row, 'exploration_seconds'))} ({row['egraph']['nodes']} nodes)"

    return _model_columns(
        rows,
        "## Cycle filtering: time of exploration\n\n",
        [
            ("vanilla", {"cycles": "vanilla", "order": "lazy"}),
            ("efficient", {"cycles": "efficient", "order": "lazy"}),
        ],
        of,
    )


def _model_columns(
    rows: Sequence[Row],
    title: str,
    columns: Sequence[tuple[str, dict[str, Any]]],
    of: Callable[[Row], str],
) -> str:
    lines = []
    for model in _models(rows):
        for k in (1, 2):
            chosen = [
                _find(rows, model, StudyMethod.SATURATION, k_multi=k, **wanted)
                for _, wanted in columns
            ]
            if any(row is not None for row in chosen[:1]):
                lines.append(
                    (model, str(k), *(_MISSING if entry is None else of(entry) for entry in chosen))
                )
    if not lines:
        return ""
    return title + _table(("model", "k", *(name for name, _ in columns)), lines)


def _end_to_end_table(rows: Sequence[Row]) -> str:
    lines = []
    for model in _models(rows):
        row = _find(rows, model, StudyMethod.RACE)
        if row is None:
            continue
        race = row["race"]
        before, after = race["before"], race.get("after", race["before"])
        best = min((run["seconds"] for run in (before, after) if run["seconds"]), default=None)
        lines.append(
            (
                model,
                *(
                    _seconds(run["seconds"]) if run["seconds"] else _MISSING
                    for run in (before, after)
                ),
                f"{before['seconds'] / after['seconds']:.2f}"
                if before["seconds"] and after["seconds"]
                else _MISSING,
                _time_ratio(race, Backend.UNFUSED, after["seconds"]),
                *(
                    _time_ratio(race, literal, best)
                    for literal in (Backend.TORCH, Backend.TORCH_COMPILE, Backend.ONNXRUNTIME)
                ),
            )
        )
    if not lines:
        return ""
    head = (
        "model", "before", "after", "before / after", "unfused before / after", "PyTorch / polygym",
        "torch.compile / polygym", "onnxruntime / polygym",
    )  # fmt: skip
    return "## End to end\n\n" + _table(head, lines)


def _speedup_table(rows: Sequence[Row]) -> str:
    lines = []
    for model in _models(rows):
        row = _find(rows, model, StudyMethod.RUNS)
        if row is None:
            continue
        speedups = row["speedups"]
        seconds = [value for value in speedups["seconds"] if value]
        lines.append(
            (
                model,
                _seconds(statistics.median(seconds)) if seconds else _MISSING,
                f"{row['initial_cost'] / row['cost']:.3f}",
                _mean_and_error(speedups["saturation"]),
                f"{row['initial_cost'] / row['backtracking_cost']:.3f}",
                _mean_and_error(speedups["backtracking"]),
                "; ".join(dict.fromkeys(speedups["problems"])),
            )
        )
    if not lines:
        return ""
    head = (
        "model", "before", "saturation: by costs", "end to end", "backtracking: by costs",
        "end to end", "problems",
    )  # fmt: skip
    title = "## Speed-up over the start, five runs with standard errors\n\n"
    return f"{title}{_table(head, lines)}\n{_BERT_NOTE}\n"


def _mean_and_error(values: Sequence[float | None]) -> str:
    """Return the mean and its standard error.

    >>> _mean_and_error([1.0, 1.1, 1.2])
    '1.100 ± 0.058'
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return _MISSING
    error = statistics.stdev(known) / math.sqrt(len(known))
    return f"{statistics.fmean(known):.3f} ± {error:.3f}"


def _time_ratio(race: dict[str, Any], runner: Backend, own: float | None) -> str:
    """Return another's time over our own; earlier studies did not have all of them."""
    other = race.get(runner.value, {}).get("seconds")
    return _MISSING if not other or not own else f"{other / own:.2f}"


def _models(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["trial"]["model"] for row in rows))


def _find(
    rows: Iterable[Row],
    model: str,
    method: StudyMethod,
    part: StudyPart | None = None,
    **wanted: Any,
) -> Row | None:
    """Return the row of a setting; what is not said is as usual."""
    usual: dict[str, Any] = {"cycles": "efficient", "order": "lazy"}
    if method is StudyMethod.BACKTRACKING:
        usual = {}
    for row in rows:
        trial = row["trial"]
        if trial["model"] != model or trial["method"] != method.value:
            continue
        asked = {**usual, **wanted}
        if wanted.get("order") in ("real", "integer"):
            asked["cycles"] = "none"
        if all(trial[name] == value for name, value in asked.items()):
            return row
    return None


def _gain(row: Row) -> str:
    return f"{100 * (row['initial_cost'] / row['cost'] - 1):.1f} %" if row["cost"] else _MISSING


def _bound(row: Row) -> str:
    if row["status"] == "optimal":
        return "optimal"
    return f"≥ {row['bound']:.1f}"


def _seconds(value: float) -> str:
    if value < 0.001:
        return f"{1e6 * value:.0f} µs"
    return f"{1000 * value:.2f} ms" if value < 1 else f"{value:.1f} s"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = "|---" * len(head) + "|"
    return "".join(
        f"{line}\n"
        for line in (
            "| " + " | ".join(head) + " |",
            rule,
            *("| " + " | ".join(cells) + " |" for cells in lines),
        )
    )
