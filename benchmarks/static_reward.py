"""Training without a clock, beside random policies that take as many steps.

    python benchmarks/static_reward.py configs/schedule-static.yaml --kernels split:test --out
    static

Of every kernel and seed the experiment is trained on that kernel alone, and policies at random play
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

from polygym.agents.evaluation.agent_sources import FIRST_SEED
from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import EvaluationPlan, Experiment
from polygym.agents.experiments.models import algorithm_class
from polygym.agents.experiments.reading import read_experiment
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.policies import RulePolicy, TrainedPolicy, run_episode
from polygym.agents.trainers.training import train_experiment
from polygym.agents.trainers.training_tables import read_rows
from polygym.errors import PolygymError
from polygym.files import write_atomically

RANDOM_POLICIES = ("uniform", "bias_coeff_0")
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class StaticRewardRow:
    """Best rewards of one kernel and seed: training, random search, trained policy."""

    kernel: str
    seed: int
    steps: int
    training: float
    trained: float
    random_policies: dict[str, float]


def best_of_random(experiment: Experiment, rule: str, seed: int) -> float:
    """Return the best reward of the episodes that a rule finishes in the steps of a training."""
    env, policy = make_env(experiment), RulePolicy(rule, seed)
    left, best = experiment.steps, -np.inf
    for number in range(experiment.steps):
        ending = run_episode(env, policy, seed=seed * 1_000_003 + number)
        left -= ending.steps
        if left < 0:
            break
        best = max(best, ending.reward)
    env.close()
    return float(best)


def compare_kernel(experiment: Experiment, kernel: str, seed: int, folder: Path) -> StaticRewardRow:
    """Train on one kernel with one seed, and let random policies take as many steps."""
    own = replace(experiment, kernels=kernel, seeds=(seed,), evaluation=EvaluationPlan())
    train_experiment(own, folder, lambda text: print(f"  {text}", file=sys.stderr), resume=True)
    place = folder / f"seed-{seed}"
    rewards = [float(row["reward"]) for row in read_rows(place / "episodes.csv")]
    env = make_env(own)
    model = algorithm_class(own.algorithm).load(place / "model.zip", device="cpu")
    trained = run_episode(env, TrainedPolicy(model), seed=FIRST_SEED).reward
    env.close()
    random_rewards = {rule: round(best_of_random(own, rule, seed), 6) for rule in RANDOM_POLICIES}
    return StaticRewardRow(kernel, seed, own.steps, max(rewards), round(trained, 6), random_rewards)


def read_static_rows(file: Path) -> list[StaticRewardRow]:
    if not file.exists():
        return []
    return [StaticRewardRow(**load) for load in json.loads(file.read_text(encoding="utf-8"))]


def table(rows: Sequence[StaticRewardRow]) -> str:
    """Return the means over seeds, and on how many kernels training matches random policies."""
    kernels = sorted({row.kernel for row in rows})
    heads = ["kernel", "seeds", "training", *RANDOM_POLICIES, "trained, likeliest action"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    as_good = 0
    for kernel in kernels:
        own = [row for row in rows if row.kernel == kernel]
        training = float(np.mean([row.training for row in own]))
        means = [
            float(np.mean([row.random_policies[rule] for row in own])) for rule in RANDOM_POLICIES
        ]
        trained = float(np.mean([row.trained for row in own]))
        as_good += training >= means[0] - SAME
        numbers = [training, *means, trained]
        lines.append(f"| {kernel} | {len(own)} | {' | '.join(f'{x:.3f}' for x in numbers)} |")
    lines.append(
        f"\nas good as {RANDOM_POLICIES[0]} or better: {as_good} of {len(kernels)} kernels"
    )
    return "\n".join(lines)


def missing_runs(
    rows: Sequence[StaticRewardRow], kernels: Sequence[str], seeds: Sequence[int]
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
        experiment = read_experiment(options.file, options.overrides)
        rows = read_static_rows(file)
        for kernel, seed in missing_runs(rows, selected_kernels(options.kernels), options.seeds):
            row = compare_kernel(experiment, kernel, seed, options.out / kernel / str(seed))
            rows.append(row)
            entries = [
                {name: getattr(row, name) for name in StaticRewardRow.__slots__} for row in rows
            ]
            write_atomically(file, json.dumps(entries, indent=1).encode())
            print(
                f"{kernel} seed {seed}: {row.training:.3f}, random search {row.random_policies}",
                file=sys.stderr,
            )
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
