"""``polygym graph extract``: the cheapest terms of e-graphs that others wrote as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.options.common import json_option
from polygym.cli.options.values import choice_option, duration_option, file_option
from polygym.cli.output import console
from polygym.errors import InputError
from polygym.files import write_atomically

if TYPE_CHECKING:
    from polygym.rewrite.extraction import ExtractionSummary

_HELP = """Extract the cheapest terms of e-graphs, files in the JSON of extraction-gym or SmoothE.

The DAG cost counts each node once, the tree cost as often as it is used. Greedy takes the cheapest
tree of each class. The other method makes the choice smaller, searches locally, and solves an
integer program, also where classes need each other in cycles; no choice has a smaller DAG cost than
the bound.

\b
Examples:
  polygym graph extract egraph.json
  polygym graph extract suite/*.json --time-limit 60s --json
  polygym graph extract egraph.json --class 12 --out chosen.json
"""


@click.command("extract", help=_HELP)
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.option(
    "--class",
    "roots",
    multiple=True,
    metavar="CLASS",
    help="A class to be extracted, instead of those that the file names; may be repeated.",
)
@choice_option(
    "--extraction",
    choices=["ilp", "greedy"],
    default="ilp",
    help="The best method, or greedy alone.",
)
@duration_option(
    "--time-limit", default="10s", help="Limit of a file: the best result so far is taken."
)
@file_option("--out", help="The chosen nodes by class, as JSON; for one FILE.")
@json_option
def command(
    files: Sequence[Path],
    roots: Sequence[str],
    extraction: str,
    time_limit: float,
    out: Path | None,
    as_json: bool,
) -> console.CommandResult:
    """Read, extract, and print a row for every method."""
    import json

    from polygym.rewrite.egraph.serialized import read_egraph
    from polygym.rewrite.extraction import extract_serialized

    if out is not None and len(files) > 1:
        raise InputError(f"--out: expected one FILE, found {len(files)}")
    documents: list[dict[str, Any]] = []
    for path in files:
        egraph = read_egraph(path, roots)
        seconds = time_limit if extraction == "ilp" else None
        try:
            greedy, best = extract_serialized(egraph, seconds)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        documents.append(
            {
                "file": str(path),
                "nodes": len(egraph.ids),
                "classes": len(egraph.class_names),
                "roots": len(egraph.roots),
                "greedy": _entry(greedy),
                "best": _entry(best),
            }
        )
        if not as_json:
            _print(documents[-1])
        if out is not None:
            chosen = {"choices": egraph.choices(best.nodes), **documents[-1]["best"]}
            write_atomically(out, (json.dumps(chosen, indent=1) + "\n").encode())
    return console.CommandResult(document=documents if as_json else None)


def _entry(summary: ExtractionSummary) -> dict[str, Any]:
    from math import isfinite

    from polygym.rewrite.extraction import ExtractionStatus

    is_optimal = summary.status is ExtractionStatus.OPTIMAL
    status = "optimal" if is_optimal else "bounded" if summary.lower_bound else "greedy"
    return {
        "dag_cost": summary.dag_cost,
        "tree_cost": summary.tree_cost if isfinite(summary.tree_cost) else None,
        "lower_bound": summary.lower_bound,
        "status": status,
        "seconds": summary.seconds,
    }


def _print(document: dict[str, Any]) -> None:
    console.heading(
        f"{document['file']}: {console.counted(document['nodes'], 'node')}, "
        f"{document['classes']} classes, {console.counted(document['roots'], 'root')}"
    )
    rows = []
    for name in ("greedy", "best"):
        entry = document[name]
        tree = "too large" if entry["tree_cost"] is None else f"{entry['tree_cost']:.10g}"
        rows.append(
            (
                name,
                f"{entry['dag_cost']:.10g}",
                tree,
                f"{entry['lower_bound']:.10g}",
                entry["status"],
                console.format_seconds(entry["seconds"]),
            )
        )
    head = ("METHOD", "DAG COST", "TREE COST", "LOWER BOUND", "STATUS", "TIME")
    console.print_table(head, rows, "lrrrlr")
