"""What a training finds without a clock, beside dice that take as many steps.

    python benchmarks/static.py configs/schedule-static.yaml --kernels split:test --out static

Of every kernel and seed the experiment is trained on that kernel alone, and policies by dice play
in the same environment until they have taken as many steps. What counts is the best reward of an
episode in each; the reward of the trained policy, which takes its likeliest action each time,
stands beside it. Each training is kept in a folder of its own, and the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from agents.actors import FIRST_SEED
from agents.experiments import Evaluated, Experiment, make_env, read
from agents.models import algorithm_of
from agents.policies import Heuristic, Network, run_episode
from agents.splits import chosen
from agents.tables import rows_of
from agents.training import train
from polygym.errors import PolygymError
from polygym.files import write_atomically

DICE = ("uniform", "bias_coeff_0")
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """The best rewards of one kernel and seed: of the training, of dice, and of what came of it."""

    kernel: str
    seed: int
    steps: int
    training: float
    trained: float
    dice: dict[str, float]


def best_of_dice(experiment: Experiment, rule: str, seed: int) -> float:
    """Return the best reward of the episodes that a rule finishes in the steps of a training."""
    env, policy = make_env(experiment), Heuristic(rule, seed)
    left, best = experiment.steps, -np.inf
    for number in range(experiment.steps):
        ending = run_episode(env, policy, seed=seed * 1_000_003 + number)
        left -= ending.steps
        if left < 0:
            break
        best = max(best, ending.reward)
    env.close()
    return float(best)


def compared(experiment: Experiment, kernel: str, seed: int, folder: Path) -> Row:
    """Train on one kernel with one seed, and let dice have as many steps."""
    own = replace(experiment, kernels=kernel, seeds=(seed,), evaluation=Evaluated())
    train(own, folder, lambda text: print(f"  {text}", file=sys.stderr), resume=True)
    place = folder / f"seed-{seed}"
    rewards = [float(row["reward"]) for row in rows_of(place / "episodes.csv")]
    env = make_env(own)
    model = algorithm_of(own.algorithm).load(place / "model.zip", device="cpu")
    trained = run_episode(env, Network(model), seed=FIRST_SEED).reward
    env.close()
    dice = {rule: round(best_of_dice(own, rule, seed), 6) for rule in DICE}
    return Row(kernel, seed, own.steps, max(rewards), round(trained, 6), dice)


def remembered(file: Path) -> list[Row]:
    if not file.exists():
        return []
    return [Row(**one) for one in json.loads(file.read_text(encoding="utf-8"))]


def table(rows: Sequence[Row]) -> str:
    """Return the means over seeds, and of how many kernels the training is as good as dice."""
    kernels = sorted({row.kernel for row in rows})
    heads = ["kernel", "seeds", "training", *DICE, "trained, likeliest action"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    as_good = 0
    for kernel in kernels:
        own = [row for row in rows if row.kernel == kernel]
        training = float(np.mean([row.training for row in own]))
        dice = [float(np.mean([row.dice[rule] for row in own])) for rule in DICE]
        trained = float(np.mean([row.trained for row in own]))
        as_good += training >= dice[0] - SAME
        numbers = [training, *dice, trained]
        lines.append(f"| {kernel} | {len(own)} | {' | '.join(f'{x:.3f}' for x in numbers)} |")
    lines.append(f"\nas good as {DICE[0]} or better: {as_good} of {len(kernels)} kernels")
    return "\n".join(lines)


def missing(
    rows: Sequence[Row], kernels: Sequence[str], seeds: Sequence[int]
) -> Iterator[tuple[str, int]]:
    """Yield what has not been compared, seed by seed."""
    known = {(row.kernel, row.seed) for row in rows}
    for seed in seeds:
        for kernel in kernels:
            if (kernel, seed) not in known:
                yield kernel, seed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="an experiment; its kernels do not count")
    parser.add_argument("--kernels", default="split:test", help="a selection")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--set", action="append", default=[], dest="overrides", metavar="X=Y")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    options = parser.parse_args()
    file = options.out / "static.json"
    try:
        experiment = read(options.file, options.overrides)
        rows = remembered(file)
        for kernel, seed in missing(rows, chosen(options.kernels), options.seeds):
            row = compared(experiment, kernel, seed, options.out / kernel / str(seed))
            rows.append(row)
            entries = [{name: getattr(one, name) for name in Row.__slots__} for one in rows]
            write_atomically(file, json.dumps(entries, indent=1).encode())
            print(f"{kernel} seed {seed}: {row.training:.3f}, dice {row.dice}", file=sys.stderr)
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
