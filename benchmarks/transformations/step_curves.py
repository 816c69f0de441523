"""The best speedup after so many evaluations, of searches over steps and of random schedules."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp, log
from pathlib import Path

from polygym.agents.experiments.splits import selected_kernels
from polygym.durations import parse_duration
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.problems.loading import dataset_named
from polygym.programs import Program, load_program
from polygym.ratios import ratio_text
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, Evaluator
from polygym.search.strategies.candidates import Unscheduled
from polygym.search.strategies.registry import StrategyContext, make_strategy

STRATEGIES = ("bias_coeff_0", "steps", "steps-beam", "steps-mcts")
COUNTS = (1, 2, 5, 10, 20, 50, 100)
_PATIENCE = 3000


def searched(
    program: Program, strategy_name: str, options: argparse.Namespace
) -> Iterator[tuple[float, Evaluation]]:
    """Yield the seconds since the start and the evaluation of every new candidate."""
    mapping = parse_mapping(f"{options.mapping} threads={options.threads}")
    sizes = scop_sizes(program.scop, dict(program.parameters))
    context = StrategyContext(program.scop, sizes, mapping, {}, seed=options.seed)
    strategy = make_strategy(strategy_name, context)
    measuring = EvaluationOptions(threads=options.threads, mapping=mapping)
    seen, proposals, best = set[object](), 0, float("inf")
    start = time.monotonic()
    with Evaluator(program, measuring) as evaluator:
        while proposals < _PATIENCE:
            batch = strategy.ask(min(strategy.batch_size, 4))
            if not batch:
                return
            for proposal in batch:
                proposals += 1
                if isinstance(proposal, Unscheduled):
                    continue
                schedule = context.known[proposal.source]
                evaluation = evaluator.evaluate(schedule, proposal.mapping, best_so_far=best)
                strategy.tell(proposal, evaluation.speedup if evaluation.is_ok else 0.0)
                if evaluation.is_ok:
                    best = min(best, evaluation.seconds)
                key = evaluation.canonical_key or (schedule, proposal.mapping)
                if key not in seen:
                    seen.add(key)
                    yield time.monotonic() - start, evaluation


def curves(options: argparse.Namespace) -> int:
    """Search what is missing; with ``--report`` print the tables."""
    options.out.mkdir(parents=True, exist_ok=True)
    if options.report:
        report(options)
        return 0
    deadline = time.monotonic() + parse_duration(options.time_limit)
    for kernel in selected_kernels(options.programs):
        for strategy in options.strategies.split(","):
            name = f"{Path(kernel).stem}.{strategy}.{options.threads}.{options.dataset}"
            file = options.out / f"{name}.{options.budget}.{options.seed}.json"
            if file.exists():
                continue
            if time.monotonic() > deadline:
                print("the time is over; the same command goes on", file=sys.stderr)
                return 1
            program = load_program(kernel, dataset=dataset_named(options.dataset))
            rows, bad = [], Counter[str]()
            for seconds, evaluation in searched(program, strategy, options):
                rows.append([round(seconds, 2), round(evaluation.speedup, 4)])
                bad[evaluation.status.value] += 1
                if len(rows) >= options.budget:
                    break
            document = {"program": kernel, "strategy": strategy, "threads": options.threads,
                        "dataset": options.dataset, "mapping": options.mapping,
                        "seed": options.seed, "statuses": dict(bad), "rows": rows}  # fmt: skip
            file.write_text(json.dumps(document))
            best = max((row[1] for row in rows), default=0)
            print(f"{name}: {len(rows)} candidates, best {ratio_text(best)}, {dict(bad)}",
                  file=sys.stderr, flush=True)  # fmt: skip
    return 0


def report(options: argparse.Namespace) -> None:
    """Print the geometric means of the bests after so many evaluations."""
    groups: dict[tuple[str, int], dict[str, dict[str, list[float]]]] = {}
    for file in sorted(options.out.glob("*.json")):
        found = json.loads(file.read_text())
        group = groups.setdefault((found["dataset"], found["threads"]), {})
        group.setdefault(found["strategy"], {})[found["program"]] = [
            speedup for _, speedup in found["rows"]
        ]
    for (dataset, threads), strategies in groups.items():
        common = sorted(set.intersection(*(set(known) for known in strategies.values())))
        print(f"\n{dataset}, threads={threads}, {len(common)} programs\n")
        print(f"| strategy | {' | '.join(map(str, COUNTS))} |\n|---|{'---|' * len(COUNTS)}")
        for strategy, known in strategies.items():
            means = [geometric_mean([best_after(known[name], count) for name in common])
                     for count in COUNTS]  # fmt: skip
            print(f"| {strategy} | {' | '.join(f'{mean:.2f}' for mean in means)} |")


def best_after(speedups: Sequence[float], count: int) -> float:
    """Return the best of the first candidates; at least 0.05, for those of which none ran."""
    return max(0.05, *speedups[:count], 0.0)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return exp(sum(map(log, values)) / len(values)) if values else 0.0
