"""Transformation steps: the time of an exact mask, searches at equal evaluations, random sequences.

    python benchmarks/transformations.py masks                      # milliseconds a step
    python benchmarks/transformations.py curves --out curves --time-limit 60m
    python benchmarks/transformations.py curves --out curves --report
    python benchmarks/transformations.py sequences --out sequences --count 100000 --time-limit 60m

``masks`` plays random episodes of Transform-v0 without features in one process and times each step
with its mask: the state's offer, every candidate decided. ``curves`` searches every program with
every strategy from nothing, without isl's schedules: ``steps``, ``steps-beam`` and ``steps-mcts``
are transformations of the source order, ``bias_coeff_0`` episodes of Schedule-v0. All begin with
the same mapping. Row k is the best speedup over the original order (LLVM -O3, one thread) after k
candidates that were run; an equal candidate counts once. ``sequences`` compiles, runs and compares
the programs after random legal steps, storage and index-set splitting included.

Every command goes on where an earlier run with the same ``--out`` was stopped. Nothing else should
run beside ``masks`` and ``curves``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp, log
from pathlib import Path

import numpy as np

from polygym.agents.experiments.splits import selected_kernels
from polygym.durations import parse_duration
from polygym.envs.transform import TransformEnv
from polygym.errors import PolygymError
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.problems.loading import dataset_named
from polygym.poly.transform.splitting.conditions import Splitting
from polygym.poly.transform.storage.plan import StoragePlan
from polygym.programs import Program, load_program
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan
from polygym.ratios import ratio_text
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, Evaluator
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.strategies.candidates import Unscheduled
from polygym.search.strategies.registry import StrategyContext, make_strategy
from polygym.transformations.candidates import candidate_steps
from polygym.transformations.state import TransformProgram, TransformState
from polygym.transformations.steps import Step, Stop, Undo

STRATEGIES = ("bias_coeff_0", "steps", "steps-beam", "steps-mcts")
COUNTS = (1, 2, 5, 10, 20, 50, 100)
_PATIENCE = 3000
_LONGEST = 12
_ATTEMPTS = 50


def masks(options: argparse.Namespace) -> int:
    """Print the time of a step for every kernel."""
    medians: list[float] = []
    print("| program | first mask, ms | median step | slowest step | steps | most actions |")
    print("|---|---|---|---|---|---|")
    for kernel in selected_kernels(options.programs):
        env = TransformEnv(kernel, reward="static", threads=2, max_steps=options.steps)
        started = time.perf_counter()
        _, info = env.reset(seed=0)
        first = time.perf_counter() - started
        times, offered = [], 0
        for seed in range(options.episodes):
            _, info = env.reset(seed=seed)
            rng = np.random.default_rng(seed)
            for _ in range(options.steps):
                allowed = np.flatnonzero(info["action_mask"])
                offered = max(offered, len(env.episode.offer.steps))
                if len(allowed) < 3:
                    break
                action = int(rng.choice(allowed[allowed > 1]))
                started = time.perf_counter()
                env.take(action)
                mask = env.action_masks()
                times.append(time.perf_counter() - started)
                info = {"action_mask": mask}
        medians.append(statistics.median(times))
        cells = (first, medians[-1], max(times))
        shown = " | ".join(f"{1e3 * value:.1f}" for value in cells)
        print(f"| {kernel} | {shown} | {len(times)} | {offered} |", flush=True)
    print(f"\nmedian of the medians {1e3 * statistics.median(medians):.1f} ms, "
          f"worst median {1e3 * max(medians):.1f} ms")  # fmt: skip
    return 0


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


def random_sequence(
    start: TransformState, rng: np.random.Generator
) -> tuple[TransformState, list[Step]]:
    """Return the state after random legal steps, each kind as likely as every other."""
    state = start
    steps: list[Step] = []
    for _ in range(1 + int(rng.integers(_LONGEST))):
        offered = [step for step in candidate_steps(state) if not isinstance(step, (Stop, Undo))]
        for _ in range(_ATTEMPTS):
            kinds = list(dict.fromkeys(map(type, offered)))
            kind = kinds[int(rng.integers(len(kinds)))]
            own = [step for step in offered if type(step) is kind]
            step = own[int(rng.integers(len(own)))]
            (verdict,) = state.verdicts([step])
            if verdict.is_allowed:
                state = verdict.state or state.after(step)
                steps.append(step)
                break
    return state, steps


def sequences(options: argparse.Namespace) -> int:
    """Run programs after random sequences until enough are counted or the time is over."""
    options.out.mkdir(parents=True, exist_ok=True)
    journal = options.out / f"sequences.{options.part}.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    done = {(row["program"], row["round"]) for row in map(json.loads, lines)}
    counts = Counter[str]()
    for row in map(json.loads, lines):
        counts.update(row["statuses"])
    deadline = time.monotonic() + parse_duration(options.time_limit)
    kernels = selected_kernels(options.programs)[options.part :: options.parts]
    with journal.open("a") as out:
        for number in range(10**6):
            for kernel in kernels:
                if (kernel, number) in done:
                    continue
                if sum(counts.values()) >= options.count or time.monotonic() > deadline:
                    return finish(counts)
                statuses, failures = sequences_of(kernel, number, options)
                row = {"program": kernel, "round": number, "statuses": statuses,
                       "failures": failures}  # fmt: skip
                out.write(json.dumps(row) + "\n")
                out.flush()
                counts.update(statuses)
                for failure in failures:
                    print(kernel, failure, file=sys.stderr, flush=True)
    return finish(counts)


def sequences_of(
    kernel: str, number: int, options: argparse.Namespace
) -> tuple[dict[str, int], list[str]]:
    """Return how one round of sequences of a program ended, and those that are defects."""
    rng = np.random.default_rng([options.seed, number, *kernel.encode()])
    program = load_program(kernel, dataset=dataset_named(options.dataset))
    sizes = scop_sizes(program.scop, dict(program.parameters))
    threads = 1 + int(rng.integers(2))
    start = TransformProgram(program.scop, sizes).start(parse_mapping(f"threads={threads}"))
    counts, failures = Counter[str](), []
    by_program: dict[tuple[Splitting, StoragePlan], list[tuple[TransformState, list[Step]]]] = {}
    for _ in range(options.round):
        state, steps = random_sequence(start, rng)
        key = (state.splitting, state.storage)
        by_program.setdefault(key, []).append((state, steps))
    for (splitting, storage), states in by_program.items():
        changed = apply_splitting_to(program, splitting)
        if not storage.is_source:
            changed = with_storage_plan(changed, storage, sys.maxsize)
        measuring = EvaluationOptions(threads=threads, timeout_factor=1000.0, compile_seconds=60.0)
        with Evaluator(changed, measuring) as evaluator:
            for state, steps in states:
                text = "; ".join(map(str, steps))
                try:
                    evaluation = evaluator.evaluate(state.schedule, state.mapping, best_so_far=1e-9)
                except PolygymError as error:
                    counts[type(error).__name__] += 1
                    failures.append(f"{type(error).__name__}: {error} after {text}")
                    continue
                counts[evaluation.status.value] += 1
                if evaluation.status in (OutcomeStatus.WRONG_OUTPUT, OutcomeStatus.CRASH):
                    failures.append(
                        f"{evaluation.status.value} after {text} (threads={threads}): "
                        f"{evaluation.error_details}"
                    )
    return dict(counts), failures


def finish(counts: Counter[str]) -> int:
    """Print the counts; return 1 where something is wrong."""
    print(f"{sum(counts.values()):,} sequences: {dict(counts)}")
    bad = set(counts) - {"ok", "timeout", "does not compile", "out of memory"}
    return int(bool(bad))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    masking = commands.add_parser("masks", help="the time of a step with its exact mask")
    masking.add_argument("--steps", type=int, default=12, metavar="N")
    masking.add_argument("--episodes", type=int, default=5, metavar="N")
    masking.set_defaults(run=masks)
    search = commands.add_parser("curves", help="the best speedup after so many evaluations")
    search.add_argument("--strategies", default=",".join(STRATEGIES), metavar="NAME,...")
    search.add_argument("--threads", type=int, default=2, metavar="N")
    search.add_argument("--mapping", default="default", metavar="MAPPING")
    search.add_argument("--budget", type=int, default=100, metavar="N")
    search.add_argument("--report", action="store_true", help="print the tables, run nothing")
    search.set_defaults(run=curves, dataset="medium")
    sequence = commands.add_parser("sequences", help="run programs after random legal steps")
    sequence.add_argument("--count", type=int, default=1000, metavar="N")
    sequence.add_argument("--round", type=int, default=20, metavar="N", help="of one program")
    sequence.add_argument("--part", type=int, default=0, metavar="K", help="of --parts, from 0")
    sequence.add_argument("--parts", type=int, default=1, metavar="N")
    sequence.set_defaults(run=sequences, dataset="mini")
    for command in (masking, search, sequence):
        command.add_argument("--programs", default="all", metavar="SELECTION")
    for command, dataset in ((search, "medium"), (sequence, "mini")):
        command.add_argument("--out", type=Path, required=True, metavar="DIR")
        command.add_argument("--dataset", default=dataset, metavar="SIZE")
        command.add_argument("--seed", type=int, default=0, metavar="N")
        command.add_argument("--time-limit", default="60m", metavar="DURATION")
    options = parser.parse_args()
    try:
        result: int = options.run(options)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    return result


if __name__ == "__main__":
    sys.exit(main())
