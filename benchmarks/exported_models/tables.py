"""The tables of a folder's rows, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean

from benchmarks.exported_models.rows import Journal

_LIBRARIES = ("eager", "torch.compile", "onnxruntime")


def acceptance_table(out: Path) -> str:
    """Return what happened to every file."""
    head = ("model", "exporter", "status", "nodes", "kernels", "largest error", "compiled in")
    lines = [head]
    for row in Journal(out / "check.csv").rows:
        shown = [row.get(key, "") for key in ("nodes", "kernels")]
        errors = _scientific(row.get("error", "")), _seconds(row.get("compile_seconds", ""))
        lines.append((row["model"], row["exporter"], row["status"], *shown, *errors))
    return _markdown(lines)


def optimization_table(out: Path) -> str:
    """Return what rewriting makes of every model."""
    head = ("model", "costs", "status", "optimized in", "cost after / before", "largest error")
    lines = [head]
    for row in Journal(out / "optimize.csv").rows:
        before, after = row.get("initial_cost"), row.get("cost")
        lines.append(
            (
                row["model"],
                row["costs"],
                row["status"],
                _seconds(row.get("optimize_seconds", "")),
                f"{float(after) / float(before):.3f}" if before and after else "",
                _scientific(row.get("error", "")),
            )
        )
    return _markdown(lines)


def time_table(out: Path) -> str:
    """Return milliseconds by library, and ratios to the faster graph of polygym."""
    head = ("model", "threads", *_LIBRARIES, "before", "after", "before / after")
    lines = [(*head, "fastest other / polygym")]
    ratios: dict[str, list[float]] = {}
    for row in Journal(out / "time.csv").rows:
        times = {
            name: float(row[name]) for name in (*_LIBRARIES, "before", "after") if row.get(name)
        }
        own = [times[name] for name in ("before", "after") if name in times]
        others = [times[name] for name in _LIBRARIES if name in times]
        ratio = ""
        if own and others:
            ratios.setdefault(row["threads"], []).append(min(others) / min(own))
            ratio = f"{ratios[row['threads']][-1]:.2f}"
        gain = times["before"] / times["after"] if len(own) == 2 else None
        shown = [f"{times[n]:.3g} ms" if n in times else "-" for n in head[2:7]]
        lines.append(
            (row["model"], row["threads"], *shown, "" if gain is None else f"{gain:.2f}", ratio)
        )
    summary = [
        f"{threads} threads: geometric mean {geometric_mean(values):.3f} of {len(values)}, "
        f"{sum(value >= 1 for value in values)} at 1.0 or more"
        for threads, values in ratios.items()
    ]
    return "\n".join([_markdown(lines), *summary])


def module_table(out: Path) -> str:
    """Return how many modules are accepted, and what is said of the others."""
    rows = Journal(out / "modules.csv").rows
    lines = [("exporter", "modules", "accepted", "wrong", "refused", "not exported")]
    for exporter in dict.fromkeys(row["exporter"] for row in rows):
        states = [row["status"] for row in rows if row["exporter"] == exporter]
        counts = [states.count(state) for state in ("ok", "wrong", "refused", "not exported")]
        lines.append((exporter, str(len(states)), *map(str, counts)))
    refused = [
        f"- {row['model']} ({row['exporter']}): {row['status']}: {row['message']}"
        for row in rows
        if row["status"] != "ok"
    ]
    return "\n".join([_markdown(lines), *refused])


def _seconds(text: str) -> str:
    return f"{float(text):.1f} s" if text else ""


def _scientific(text: str) -> str:
    return f"{float(text):.1e}" if text else ""


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    rows.insert(1, "|" + "---|" * len(lines[0]))
    return "\n".join(rows)
