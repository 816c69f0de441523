"""The leaderboard: what agents find of programs, beside isl's schedule under the default mapping.

    python benchmarks/leaderboard.py learned bias_coeff_0 --budget 1 --seeds 5 --out board
    python benchmarks/leaderboard.py learned annealing rollouts runs/clone --budget 20 --out board
    python benchmarks/leaderboard.py --report --out board

An agent is a policy of `polygym optimize`, `annealing` (`polygym tune --strategy annealing`),
`rollouts`, or the folder of a training. It has so many trials for a kernel as the budget says, and
the best five of what it found run in turn with isl's schedule: the best of these beside isl's is
what counts. What fails counts as slower by the timeout's factor. An agent that makes no random
choice has one seed, whatever is asked for, and a training has its own; one that has learned from
kernels for tests plays on others only.

`board/leaderboard.jsonl` gets a line for every kernel, seed and budget, and the same command leaves
out what is there. Tables are of the lines at the sizes and in the threads that are asked for.
Kernels are those of a split (`--kernels split:test`, the usual), at LARGE, in two threads. Nothing
else should run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from leaderboard_study.agents import (
    TrialBudget,
    agent_outcome,
    agent_seeds,
    check_agent,
    check_no_leakage,
)

from polygym.agents.experiments.splits import selected_kernels
from polygym.errors import PolygymError
from polygym.runtime.evaluation.fingerprint import machine_fingerprint

_FAILED_SPEEDUP = 0.1
_BOOTSTRAP_SAMPLES = 2000


def rows_of(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def measure_agent(agent: str, kernel: str, seed: int, rules: TrialBudget) -> dict[str, Any]:
    """Let an agent play, and return a row."""
    outcome = agent_outcome(agent, kernel, seed, rules)
    return {
        "agent": agent,
        "kernel": kernel,
        "seed": seed,
        "budget": rules.budget,
        "over_isl": _FAILED_SPEEDUP if outcome.over_isl is None else outcome.over_isl,
        "isl": outcome.isl,
        "dataset": rules.dataset,
        "threads": rules.threads,
        "machine": machine_fingerprint().key,
        "wrong": outcome.wrong,
    }


def log_speedup(row: dict[str, Any]) -> float:
    """Return the logarithm of how many times as fast as isl's schedule a row is."""
    return float(np.log(max(_FAILED_SPEEDUP, row["over_isl"])))


def geometric_mean_interval(
    rows: Iterable[dict[str, Any]], rng: np.random.Generator
) -> tuple[float, ...]:
    """Return the geometric mean over kernels, its interval of 90 %, and the least kernel.

    Seeds of a kernel are put together first; the interval draws kernels and, of each, seeds.
    """
    by_kernel: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        by_kernel[row["kernel"]].append(log_speedup(row))
    names = sorted(by_kernel)
    drawn = [
        np.mean(
            [
                np.mean(rng.choice(by_kernel[name], len(by_kernel[name])))
                for name in rng.choice(names, len(names))
            ]
        )
        for _ in range(_BOOTSTRAP_SAMPLES)
    ]
    of_kernels = [np.mean(by_kernel[name]) for name in names]
    low, high = np.quantile(drawn, (0.05, 0.95))
    return tuple(np.exp([np.mean(of_kernels), low, high, min(of_kernels)]).tolist())


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| agent | budget | kernels | seeds | over isl | 90 % | least kernel |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["budget"], row["agent"]].append(row)
    for (budget, agent), own in sorted(groups.items()):
        mean, low, high, least = geometric_mean_interval(own, np.random.default_rng(0))
        kernels, seeds = ({row[name] for row in own} for name in ("kernel", "seed"))
        lines.append(
            f"| {agent} | {budget} | {len(kernels)} | {len(seeds)} | {mean:.2f} | "
            f"{low:.2f} to {high:.2f} | {least:.2f} |"
        )
    return "\n".join(lines)


def by_kernel(rows: list[dict[str, Any]]) -> str:
    """Return a table with a row for every kernel and a column for every agent and budget."""
    columns = sorted({(row["budget"], row["agent"]) for row in rows})
    lines = [
        f"| kernel | {' | '.join(f'{agent}, {budget}' for budget, agent in columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for kernel in sorted({row["kernel"] for row in rows}):
        cells = []
        for budget, agent in columns:
            own = [
                log_speedup(row)
                for row in rows
                if (row["kernel"], row["budget"], row["agent"]) == (kernel, budget, agent)
            ]
            cells.append(f"{np.exp(np.mean(own)):.2f}" if own else "-")
        lines.append(f"| {kernel} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("agents", nargs="*", help="who plays; see above")
    parser.add_argument("--kernels", default="split:test", help="a selection")
    parser.add_argument("--budget", type=int, default=1, help="trials for a kernel")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--dataset", default="large")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument(
        "--report", action="store_true", help="print what there is, measure nothing"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "leaderboard.jsonl"
    names = ("agent", "kernel", "seed", "budget", "dataset", "threads", "machine")
    known = {tuple(row[name] for name in names) for row in rows_of(file)}
    rules, machine = (
        TrialBudget(options.budget, options.dataset, options.threads),
        machine_fingerprint().key,
    )
    try:
        kernels = selected_kernels(options.kernels)
        for agent in options.agents:
            check_agent(agent)
            check_no_leakage(agent, kernels)
        for agent in () if options.report else options.agents:
            for kernel in kernels:
                for seed in agent_seeds(agent, options.seeds, options.budget):
                    if (agent, kernel, seed, options.budget, *rules.conditions, machine) in known:
                        continue
                    row = measure_agent(agent, kernel, seed, rules)
                    with file.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(row) + "\n")
                    print(f"{agent} {kernel} seed {seed}: {row['over_isl']:.2f}", file=sys.stderr)
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    asked = (*rules.conditions, machine)
    rows = [row for row in rows_of(file) if tuple(row[name] for name in names[4:]) == asked]
    print(table(rows), by_kernel(rows), sep="\n\n")
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
