"""Which search finds fast code in the fewest trials? Dice, genes, and models.

Every contender searches every program with every seed, from the same start: ``--start naive`` is
the order of the text without any mapping but threads, and dice over mappings and isl's schedules;
``--start default`` is what `polygym tune` begins with. A trial is a candidate that is compiled, run
and timed beside the original order::

    python benchmarks/cost.py --out study             # the usual programs; goes on if it was ended
    python benchmarks/cost.py --out study --report    # only say what there is
    python benchmarks/cost.py lu tc:conv2d --trials 256 --seeds 5 --out study

``--out`` gets ``journal.jsonl``, a line for every search with the speedup of every trial over the
original order (0: it failed). Of each search counts the best so far at 16, 32, 64 … trials; bests
are divided by those of dice with the same seed and program, and of these ratios there is the
geometric mean. *To 95 %* are the trials until a search has 95 % of the best that any contender has
found for the program, as many as there are if it never has: their median.

``transfer`` has learned from the corpus of other programs with whose model polygym comes; ``model``
learns from its own trials alone; ``filter`` is dice of which that model lets through what it likes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from polybench import Dataset
from polygym.compiler.codegen.mapping import DEFAULT, SEQUENTIAL
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL
from polygym.cost.shipped import shipped
from polygym.errors import PolygymError
from polygym.measure.evaluation import EvaluationOptions, Evaluator
from polygym.measure.evaluation.compilers import Compilers
from polygym.measure.worker.timing import this_machine
from polygym.programs import load_program
from polygym.search.tune.by_model import ByModel, Filtered, LookedAt
from polygym.search.tune.candidates import Candidate, Genes, Way, schedules_of
from polygym.search.tune.dice import Random
from polygym.search.tune.searches import Genetic

PROGRAMS = (
    "syr2k", "trmm", "gemver", "lu", "jacobi-2d", "covariance", "random:2000000001",
    "random:2000000002", "random:2000000003", "random:2000000004",
)  # fmt: skip
CONTENDERS = ("random", "genetic", "filter", "model", "transfer")
STEPS = (16, 32, 64, 128, 256, 512)
COMPILE_SECONDS = 5.0
AT_A_TIME = 16
GENERATION = 32


@dataclass(frozen=True)
class Task:
    """A search of the study."""

    program: str
    contender: str
    seed: int
    start: str
    dataset: str
    threads: int
    trials: int

    @property
    def key(self) -> tuple[str, ...]:
        """What it is known by in the journal."""
        return tuple(map(str, asdict(self).values()))


def searching(task: Task, genes: Genes, begin: Sequence[Candidate], looked_at: LookedAt) -> Random:
    """Return a contender."""
    dice = np.random.default_rng(task.seed)
    match task.contender:
        case "random":
            return Random(genes, begin, dice)
        case "genetic":
            return Genetic(genes, begin, dice)
        case "filter":
            return Filtered(genes, begin, dice, looked_at)
        case "model":
            return ByModel(genes, begin, dice, looked_at)
        case _:
            return ByModel(genes, begin, dice, looked_at, shipped())


def searched(task: Task) -> list[float]:
    """Return the speedup of every trial."""
    threads = task.threads
    program = load_program(task.program, dataset=Dataset[task.dataset.upper()])
    known: dict[Way, Schedule] = dict(schedules_of(program.scop, 20.0))
    start = replace(DEFAULT, threads=threads)
    genes = Genes.of(program.scop, tuple(known), dict(program.parameters), start)
    naive = replace(SEQUENTIAL, threads=threads)
    begin = [Candidate(ORIGINAL, naive)] if ORIGINAL in known else []
    if task.start == "default":
        begin = [Candidate(way, start) for way in known] + begin
    looked_at = LookedAt(program.scop, dict(program.parameters), known)
    search = searching(task, genes, begin, looked_at)
    options = EvaluationOptions(threads=threads, compile_seconds=COMPILE_SECONDS, mapping=start)
    found: list[float] = []
    cores = sorted(os.sched_getaffinity(0))
    with (
        closing(Compilers(COMPILE_SECONDS, cores)) as compilers,
        Evaluator(program, options, compiler=compilers) as evaluator,
    ):
        best = float("inf")
        while len(found) < task.trials:
            size = min(
                task.trials - len(found), GENERATION if search.is_by_generation else AT_A_TIME
            )
            part = search.generation(size)[:size]
            if not part:
                break
            choices = [(known[one.strategy], one.mapping) for one in part]
            compilers.compile_all(program, choices)
            for candidate, choice in zip(part, choices, strict=True):
                evaluation = evaluator.evaluate(*choice, best_so_far=best)
                if evaluation.is_ok:
                    best = min(best, evaluation.seconds)
                search.learn(candidate, evaluation.speedup)
                found.append(round(evaluation.speedup, 4))
    return found


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print what there is."""
    runs: dict[str, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    kinds = ("start", "dataset", "threads", "trials")
    for kind in sorted({tuple(str(row[name]) for name in kinds) for row in rows}):
        runs.clear()
        for row in rows:
            if tuple(str(row[name]) for name in kinds) == kind:
                runs[str(row["contender"])][str(row["program"]), int(row["seed"])] = row["speedups"]
        start, dataset, threads, _ = kind
        _print(f"{start}, {dataset}, threads {threads}", runs)


def _print(start: str, runs: dict[str, dict[tuple[str, int], list[float]]]) -> None:
    dice = runs.get("random", {})
    print(f"\nstart {start}: {len({program for program, _ in dice})} programs")
    most = max((len(one) for own in runs.values() for one in own.values()), default=0)
    steps = [step for step in STEPS if step <= most]
    heads = "".join(f"{step:>8}" for step in steps)
    print(f"{'best / best of dice at':24}{heads}{'to 95 %':>10}{'searches':>10}")
    bests: dict[str, float] = defaultdict(float)
    for own in runs.values():
        for (program, _), speedups in own.items():
            bests[program] = max(bests[program], *speedups)
    for contender in CONTENDERS:
        own = {key: one for key, one in runs.get(contender, {}).items() if key in dice}
        if not own:
            continue
        line = f"{contender:24}"
        for step in steps:
            ratios = [
                log(max(max(one[:step]), 1e-3) / max(max(dice[key][:step]), 1e-3))
                for key, one in own.items()
                if len(one) >= step <= len(dice[key])
            ]
            line += f"{exp(fmean(ratios)):8.3f}" if ratios else f"{'-':>8}"
        needed = [
            next((k + 1 for k, v in enumerate(one) if v >= 0.95 * bests[program]), len(one))
            for (program, _), one in own.items()
        ]
        print(f"{line}{median(needed):10.0f}{len(own):10}")


def main() -> int:
    """Read the options, search what is missing, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--out", type=Path, required=True, help="a folder for the journal")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--start", choices=("naive", "default"), default="naive")
    parser.add_argument("--dataset", default="medium", help="sizes of the programs")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--report", action="store_true", help="only say what there is")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    journal = options.out / "journal.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    done = {tuple(str(row[name]) for name in Task.__dataclass_fields__) for row in rows}
    started = time.monotonic()
    asked = (options.start, options.dataset, options.threads, options.trials)
    tasks = [
        Task(program, contender, seed, *asked)
        for seed in range(options.seeds)
        for program in options.programs
        for contender in options.contenders
    ]
    try:
        for task in [] if options.report else tasks:
            if options.minutes and time.monotonic() - started > 60 * options.minutes:
                break
            if task.key in done:
                continue
            try:
                found = searched(task)
            except PolygymError as error:
                print(f"{task.program} {task.contender} {task.seed}: {error}", file=sys.stderr)
                continue
            row = {
                **asdict(task),
                "machine": this_machine().processor,
                "speedups": found,
            }
            with journal.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            print(
                f"{task.program} {task.contender} {task.seed}: best {max(found):.2f}x", flush=True
            )
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
    report(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
