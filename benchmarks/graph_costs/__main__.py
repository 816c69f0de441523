"""Do costs of graphs order equal graphs as their times do?

    python benchmarks/graph_costs --out rows.csv                    # all networks, one thread
    python benchmarks/graph_costs --out rows.csv model.onnx layers  # these, an exported one too
    python benchmarks/graph_costs --out rows.csv --report           # the table, nothing is run

Equal variants of each network are extracted from its e-graph under random costs, compiled and
called in turn. Beside the shortest call of a variant stand its static cost, the sum of its
operators' times and the cost of its plan. The table has Spearman's rank correlation of each with
the times: by network, and over all variants in units of the first of their network. The same
command goes on where it was stopped. Nothing else should run beside it.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from networks import NETWORKS
from timing import VariantRow, measured_variants
from variants import graph_variants

from polygym.cost.models.cross_validation import spearman
from polygym.graphs.ir.graph import Model, random_weights
from polygym.graphs.saved_model import open_source

_COSTS = ("static", "operators", "plan")
_COLUMNS = tuple(field.name for field in fields(VariantRow))


def main() -> int:
    """Measure the networks that have no rows yet, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--variants", type=int, default=16, metavar="N", help="of a network")
    parser.add_argument("--seconds", type=float, default=15.0, metavar="N", help="of calls, each")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--report", action="store_true", help="print the table, run nothing")
    options = parser.parse_args()
    done = {row["network"] for row in _rows(options.out)}
    try:
        for name in [] if options.report else options.networks or NETWORKS:
            if name not in done:
                print(name, file=sys.stderr)
                _append(options.out, _measured(name, options))
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    print(_table(_rows(options.out)))
    return 0


def _measured(name: str, options: argparse.Namespace) -> list[VariantRow]:
    if name in NETWORKS:
        graph = NETWORKS[name]()
        model = Model(graph, random_weights(graph, options.seed))
    else:
        model = open_source(name, seed=options.seed).model
    variants = graph_variants(model.graph, options.variants, options.seed)
    return measured_variants(name, variants, model.weights, options.threads, options.seconds)


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _append(path: Path, rows: Sequence[VariantRow]) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerows(map(asdict, rows))


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rank correlations of all networks as a table."""
    lines = ["| network | variants | µs | " + " | ".join(_COSTS) + " |"]
    lines.append("|" + "---|" * (3 + len(_COSTS)))
    within: dict[str, list[float]] = {kind: [] for kind in _COSTS}
    pooled: dict[str, list[np.ndarray[Any, Any]]] = {kind: [] for kind in (*_COSTS, "times")}
    for name in dict.fromkeys(row["network"] for row in rows):
        own = [row for row in rows if row["network"] == name]
        times = np.array([float(row["microseconds"]) for row in own])
        pooled["times"].append(times / times[0])
        for kind in _COSTS:
            costs = np.array([float(row[kind]) for row in own])
            pooled[kind].append(costs / costs[0])
            within[kind].append(spearman(costs, times))
        found = " | ".join(f"{within[kind][-1]:.2f}" for kind in _COSTS)
        lines.append(f"| {name} | {len(own)} | {times.min():.0f} to {times.max():.0f} | {found} |")
    if not rows:
        return "no rows"
    middle = " | ".join(f"{statistics.median(within[kind]):.2f}" for kind in _COSTS)
    lines.append(f"| median | | | {middle} |")
    every = np.concatenate(pooled["times"])
    whole = " | ".join(f"{spearman(np.concatenate(pooled[kind]), every):.2f}" for kind in _COSTS)
    lines.append(f"| all | {len(rows)} | | {whole} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
