"""Suites of extraction problems: greedy and the best method on every e-graph of a folder.

    python benchmarks/extraction_suites write --out suite        # e-graphs of the usual shapes
    python benchmarks/extraction_suites run suite --out suite.csv --time-limit 60s
    python benchmarks/extraction_suites run ../extraction-gym/data --baselines published.csv

``run`` takes every JSON file below the folder, of at most ``--max-size`` megabytes, and adds a row
for each to the CSV file once it is known; the same command goes on where it ended. The table has a
column for every further column of ``--baselines``, a CSV file with a column ``file``: the end of a
path, without .json. Its numbers are published DAG costs.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
from shapes import SHAPES, model_egraph, shaped_egraph

from polygym.cli.dispatch import run_script
from polygym.cli.options.values import duration_option
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.rewrite.egraph.serialized import read_egraph
from polygym.rewrite.extraction import ExtractionStatus, extract_serialized

_COLUMNS = (
    "file", "megabytes", "nodes", "classes", "read_seconds", "greedy", "greedy_seconds", "best",
    "bound", "status", "seconds", "problem",
)  # fmt: skip
_SIZES = (1000, 5000, 20_000)
_MODELS = (("bert", 1), ("bert", 2), ("nasrnn", 1), ("nasrnn", 2), ("nasnet-a", 1), ("vgg19", 2))


@click.group(help=__doc__)
def main() -> None:
    """Hold the commands."""


@main.command("write")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option("--seed", default=0, show_default=True)
@click.option("--max-nodes", default=20_000, show_default=True)
def write(out: Path, seed: int, max_nodes: int) -> None:
    """Write e-graphs of the usual shapes, as JSON."""
    out.mkdir(parents=True, exist_ok=True)
    for shape in SHAPES:
        for nodes in (size for size in _SIZES if size <= max_nodes):
            document = shaped_egraph(shape, nodes, seed)
            write_atomically(out / f"{shape}-{nodes}.json", json.dumps(document).encode())
    for model, k_multi in _MODELS:
        document = model_egraph(model, k_multi, max_nodes)
        write_atomically(out / f"{model}-{k_multi}.json", json.dumps(document).encode())


@main.command("run")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE.csv")
@click.option("--baselines", type=click.Path(exists=True, path_type=Path), metavar="FILE.csv")
@click.option("--max-size", default=4.0, show_default=True, help="Megabytes of a file at most.")
@duration_option("--time-limit", default="60s", help="Limit of the best method, for each file.")
def run(
    folder: Path, out: Path, baselines: Path | None, max_size: float, time_limit: float
) -> None:
    """Extract from every e-graph of FOLDER, and print the table."""
    published = _read_baselines(baselines)
    rows = _read_rows(out)
    done = {row["file"] for row in rows}
    for path in sorted(folder.rglob("*.json")):
        name = str(path.relative_to(folder).with_suffix(""))
        if name in done or path.stat().st_size > max_size * 1e6:
            continue
        click.echo(name, err=True)
        rows.append(_measure(path, name, time_limit))
        _write_rows(out, rows)
    click.echo(_table(rows, published), nl=False)


def _measure(path: Path, name: str, time_limit: float) -> dict[str, str]:
    import time

    row = dict.fromkeys(_COLUMNS, "") | {
        "file": name,
        "megabytes": f"{path.stat().st_size / 1e6:.3f}",
    }
    begin = time.perf_counter()
    try:
        egraph = read_egraph(path)
        row |= {
            "nodes": str(len(egraph.ids)),
            "classes": str(len(egraph.class_names)),
            "read_seconds": f"{time.perf_counter() - begin:.3f}",
        }
        greedy, best = extract_serialized(egraph, time_limit)
    except InputError as error:
        return row | {"problem": str(error).replace(str(path), name)}
    is_optimal = best.status is ExtractionStatus.OPTIMAL
    return row | {
        "greedy": repr(greedy.dag_cost),
        "greedy_seconds": f"{greedy.seconds:.4f}",
        "best": repr(best.dag_cost),
        "bound": repr(best.lower_bound),
        "status": "optimal" if is_optimal else "bounded",
        "seconds": f"{best.seconds:.3f}",
    }


def _table(rows: Sequence[dict[str, str]], published: dict[str, dict[str, str]]) -> str:
    """Return the table in Markdown, and the geometric means of ratios below it."""
    extra = list(next(iter(published.values()), {}))
    head = ["file", "nodes", "classes", "greedy", "best", "bound", "status", "seconds", *extra]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    ratios: dict[str, list[float]] = {name: [] for name in ("greedy", *extra)}
    for row in rows:
        if row["problem"]:
            lines.append(f"| {row['file']} | {row['problem']} |" + " |" * (len(head) - 2))
            continue
        others = next((published[key] for key in published if row["file"].endswith(key)), {})
        cells = [row["file"], row["nodes"], row["classes"]]
        cells += [f"{float(row[name]):.7g}" for name in ("greedy", "best", "bound")]
        cells += [row["status"], f"{float(row['seconds']):.2f}"]
        lines.append("| " + " | ".join([*cells, *(others.get(key, "") for key in extra)]) + " |")
        for name, values in ratios.items():
            text = row["greedy"] if name == "greedy" else others.get(name, "")
            if text and float(text) > 0 and float(row["best"]) > 0:
                values.append(float(text) / float(row["best"]))
    means = [
        f"{name} / best: {math.exp(float(np.mean(np.log(values)))):.4f} ({len(values)} files)"
        for name, values in ratios.items()
        if values
    ]
    return "\n".join([*lines, "", *means, ""])


def _read_baselines(path: Path | None) -> dict[str, dict[str, str]]:
    if path is None:
        return {}
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or "file" not in rows[0]:
        raise InputError(f"{path}: expected a column file, and a row for each e-graph")
    return {
        row["file"].removesuffix(".json"): {k: v for k, v in row.items() if k != "file"}
        for row in rows
    }


def _read_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    if rows and tuple(rows[0]) != _COLUMNS:
        raise InputError(f"{path}: expected a table of this command, found another one")
    return rows


def _write_rows(path: Path, rows: Sequence[dict[str, str]]) -> None:
    from io import StringIO

    text = StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


if __name__ == "__main__":
    sys.exit(run_script(main))
