"""A trained policy on programs that it has never seen, beside random choices and isl.

    polygym train configs/clone-search.yaml --out runs/clone
    polygym train configs/from-nothing.yaml --set initial=runs/clone --out runs/nothing
    python benchmarks/zero_shot runs/nothing --out zero

For every program and every seed of the training the policy plays one episode of its likeliest
actions and ``--samples`` at random; random choices among the allowed actions play ``--random``
episodes, and so does, where a schedule is edited, a search that changes its best decisions
(``polygym.search.strategies.decision_search``). Nothing is learned on the way, and a training that
has seen one of the programs is refused. The reward must need no clock (``static``, ``model``,
``log_model``); logarithms are turned back into speedups. In Optimize-v0 what the reward gives isl's
schedule under the default mapping stands beside it. Folders of one experiment with other seeds
count as one.

Results are kept in ``--out``; the same command goes on where it was stopped. Intervals of 90 % are
those of ``polygym.agents.evaluation.aggregates``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polygym.agents.evaluation.aggregates import estimate_of, probability_of_improvement
from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.models import algorithm_class
from polygym.agents.experiments.splits import selected_kernels
from polygym.agents.policies import EnvPolicy, RulePolicy, TrainedPolicy, run_episode
from polygym.agents.policies.env_policy import inner_env
from polygym.agents.trainers.training import trained_models
from polygym.errors import InputError, PolygymError
from polygym.files import write_atomically
from polygym.mdp.env_ids import OPTIMIZE
from polygym.mdp.mapping_decisions import USE_DEFAULT_FOR_ALL
from polygym.mdp.rewards import RewardKind
from polygym.search.strategies.decision_search import DecisionSearch

LIKELIEST, SAMPLED, SEARCH, ISL = "likeliest", "sampled", "search", "isl"
SAME = 1e-9

# Episodes of a program and seed have resets of their own.
_FIRST_RESET = 5_000_000


class RandomActions:
    """Takes each allowed action with the same probability."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def __call__(self, env: Any, observation: Any) -> int:
        return int(self._generator.choice(np.flatnonzero(inner_env(env).action_masks())))


@dataclass(frozen=True, slots=True)
class ZeroShotRow:
    """The scores of the episodes of one agent for one program, in the order of the episodes."""

    agent: str
    kernel: str
    seed: int
    scores: tuple[float, ...]


def can_search(experiment: Experiment) -> bool:
    """Whether the search of decisions plays in an environment: one that edits a schedule."""
    return experiment.environment == OPTIMIZE and experiment.arguments.get("start") is not None


def random_policies(experiment: Experiment, seed: int) -> dict[str, EnvPolicy]:
    """Return what plays at random in an environment, by name."""
    if experiment.environment == OPTIMIZE:
        return {"random": RandomActions(seed)}
    return {name: RulePolicy(name, seed) for name in ("bias_coeff_0", "uniform")}


def scores_of_episodes(
    experiment: Experiment, env: Any, policy: EnvPolicy, count: int, seed: int
) -> tuple[float, ...]:
    """Return the scores of so many episodes: speedups, or static scores."""
    first = _FIRST_RESET + 100_003 * seed
    return tuple(
        score_of(experiment, run_episode(env, policy, seed=first + number).reward)
        for number in range(count)
    )


def score_of(experiment: Experiment, reward: float) -> float:
    """Return the score of an episode with that reward: a speedup, or a static score."""
    kind = RewardKind.named(experiment.arguments["reward"])
    return round(math.exp(reward) if kind.is_logarithm else float(reward), 6)


def scores_of_search(experiment: Experiment, env: Any, count: int, seed: int) -> tuple[float, ...]:
    """Return the scores of the trials of a search, in their order."""
    env.reset(seed=_FIRST_RESET)
    first = inner_env(env)
    search = DecisionSearch(first.episode, first.worth, np.random.default_rng([_FIRST_RESET, seed]))
    search.run(count, 1)
    return tuple(score_of(experiment, reward) for reward in search.trials)


def isl_score(experiment: Experiment, kernel: str) -> tuple[float, ...]:
    """Return the score of isl's schedule under the default mapping."""
    given = {**experiment.arguments, "start": "isl", "mapping": "default"}
    env = make_env(replace(experiment, arguments=given), kernel)
    first = inner_env(env)

    def keep_defaults(_: Any, __: Any) -> int:
        return first.problem.options.first_answer + USE_DEFAULT_FOR_ALL

    scores = scores_of_episodes(experiment, env, keep_defaults, 1, 0)
    env.close()
    return scores


def play_kernel(
    experiment: Experiment, models: Mapping[int, Path], kernel: str, options: argparse.Namespace
) -> list[ZeroShotRow]:
    """Play the episodes of all agents for one program."""
    import torch

    rows = []
    env = make_env(experiment, kernel)
    for seed, path in sorted(models.items()):
        model = algorithm_class(experiment.algorithm).load(path, device="cpu")
        torch.manual_seed(seed)
        agents: dict[str, tuple[EnvPolicy, int]] = {
            LIKELIEST: (TrainedPolicy(model), 1),
            SAMPLED: (TrainedPolicy(model, deterministic=False), options.samples),
        }
        for name, policy in random_policies(experiment, seed).items():
            agents[name] = policy, options.random
        for name, (policy, count) in agents.items():
            scores = scores_of_episodes(experiment, env, policy, count, seed)
            rows.append(ZeroShotRow(name, kernel, seed, scores))
        if can_search(experiment):
            trials = scores_of_search(experiment, env, options.random, seed)
            rows.append(ZeroShotRow(SEARCH, kernel, seed, trials))
        if experiment.environment == OPTIMIZE:
            rows.append(ZeroShotRow(ISL, kernel, seed, isl_score(experiment, kernel)))
    env.close()
    return rows


def is_played(
    rows: Sequence[ZeroShotRow], kernel: str, seeds: Sequence[int], options: argparse.Namespace
) -> bool:
    """Say whether all that is asked for is there already."""
    wanted = {LIKELIEST: 1, SAMPLED: options.samples, ISL: 1}
    counts = {
        (row.agent, row.seed): len(row.scores) >= wanted.get(row.agent, options.random)
        for row in rows
        if row.kernel == kernel
    }
    return all(counts.get((LIKELIEST, seed), False) for seed in seeds) and all(counts.values())


def best_scores(rows: Sequence[ZeroShotRow], agent: str, count: int) -> Any:
    """Return the best of the first episodes: a row for each seed, a column for each program."""
    kernels = list(dict.fromkeys(row.kernel for row in rows))
    seeds = sorted({row.seed for row in rows})
    known = {(row.kernel, row.seed): row.scores for row in rows if row.agent == agent}
    return np.array([[max(known[kernel, seed][:count]) for kernel in kernels] for seed in seeds])


def report(rows: Sequence[ZeroShotRow], samples: int, random: int) -> str:
    """Return the best scores by program, and what all programs together say."""
    kernels = list(dict.fromkeys(row.kernel for row in rows))
    agents = list(dict.fromkeys(row.agent for row in rows))
    trained = {
        "likeliest actions": best_scores(rows, LIKELIEST, 1),
        f"best of {samples}": best_scores(rows, SAMPLED, samples),
    }
    others = {
        f"{name}, best of {count}": best_scores(rows, name, count)
        for name in agents
        if name not in (LIKELIEST, SAMPLED, ISL)
        for count in dict.fromkeys((samples, random))
    }
    if ISL in agents:
        others[ISL] = best_scores(rows, ISL, 1)
    columns = trained | others
    lines = [f"| program | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for at, kernel in enumerate(kernels):
        cells = [_cell(scores[:, at]) for scores in columns.values()]
        lines.append(f"| {kernel} | {' | '.join(cells)} |")
    lines += ["", "| over | interquartile mean of ratios | better with probability | programs |"]
    lines.append("|---|---|---|---|")
    for (own, reached), (name, scores) in product(trained.items(), others.items()):
        wins = int(np.sum(_means(reached) >= _means(scores) - SAME))
        lines.append(
            f"| {own} over {name} | {estimate_of(reached / scores)} | "
            f"{probability_of_improvement(reached, scores)} | {wins} of {len(kernels)} |"
        )
    return "\n".join(lines)


def _means(scores: Any) -> Any:
    return np.exp(np.log(np.maximum(scores, SAME)).mean(axis=0))


def _cell(scores: Any) -> str:
    """Return the geometric mean of seeds, with the least and the most where they differ."""
    mean = float(_means(scores[:, None])[0])
    if scores.max() - scores.min() < 0.005:
        return f"{mean:.2f}"
    return f"{mean:.2f} ({scores.min():.2f} to {scores.max():.2f})"


def read_trainings(folders: Sequence[Path]) -> tuple[Experiment, dict[int, Path]]:
    """Return the experiment of folders that differ in their seeds only, and its models.

    Raises:
        InputError: they do not, there is no model, or the reward is measured.
    """
    experiments, models = [], dict[int, Path]()
    for folder in folders:
        experiment, trained = trained_models(folder)
        experiments.append(replace(experiment, seeds=(0,)))
        if twice := sorted(models.keys() & trained.keys()):
            raise InputError(f"{folder}: expected other seeds, found {twice} again")
        models |= trained
    if any(other != experiments[0] for other in experiments):
        raise InputError("folders: expected one experiment with several seeds, found several")
    if not models:
        raise InputError(f"{folders[0]}: expected a trained model, found none")
    if RewardKind.named(experiments[0].arguments.get("reward", "speedup")).is_measured:
        raise InputError("reward: expected static, model or log_model, found a measured one")
    return experiments[0], models


def expect_unseen(experiment: Experiment, kernels: Sequence[str]) -> None:
    """Refuse programs that the training has seen."""
    if seen := sorted(set(selected_kernels(experiment.kernels)) & set(kernels)):
        raise InputError(f"programs: expected none of the training, found {', '.join(seen)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", help="of polygym train")
    parser.add_argument("--kernels", default="split:test", help="a selection")
    parser.add_argument("--samples", type=int, default=20, metavar="N", help="of the policy")
    parser.add_argument("--random", type=int, default=200, metavar="N", help="of random choices")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    options = parser.parse_args()
    file = options.out / "zero-shot.json"
    try:
        experiment, models = read_trainings(options.folders)
        kernels = selected_kernels(options.kernels)
        expect_unseen(experiment, kernels)
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        rows = [ZeroShotRow(**{**row, "scores": tuple(row["scores"])}) for row in known]
        options.out.mkdir(parents=True, exist_ok=True)
        for kernel in kernels:
            if not is_played(rows, kernel, tuple(models), options):
                rows = [row for row in rows if row.kernel != kernel]
                rows += play_kernel(experiment, models, kernel, options)
                write_atomically(file, json.dumps([asdict(row) for row in rows]).encode())
                print(f"{kernel}: played", file=sys.stderr, flush=True)
    except PolygymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(report([row for row in rows if row.kernel in kernels], options.samples, options.random))
    return 0


if __name__ == "__main__":
    sys.exit(main())
