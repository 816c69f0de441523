"""Let trained agents, or rules, act on kernels, and write down what came of it.

    python -m agents.evaluate runs/mvt --kernels gemm,mvt
    python -m agents.evaluate runs/mvt --kernels split:train --set reward=speedup --out some.jsonl
    python -m agents.evaluate runs/mvt --kernels mvt --simulations 64
    python -m agents.evaluate earliest --environment polygym/Schedule-v0 --kernels mvt

An agent is the folder of a training, all of whose seeds act, each with the likeliest action; or a
rule: uniform, bias_coeff_0, bias_select_dep, earliest, greedy, learned. A training's network may
look ahead: with a tree of so many simulations a step, whose most visited action is taken
(`--simulations`), or along a beam, the best of whose ends is the plan (`--beam-width`). `--set`
gives the environment another argument than the training had. `python -m agents.compare` puts files
of results beside each other, and `python -m agents.validate` plays them again. Who has learned from
a kernel for tests that is evaluated here is said below the table.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from math import exp, log
from pathlib import Path

from agents.command_line import exit_code, expect_folder_of, parser_of
from agents.evaluation import results
from agents.evaluation.agent_sources import (
    FIRST_SEED,
    LookaheadOptions,
    add_arguments,
    policies_of_agent,
    test_kernels_learned_by,
    with_environment_arguments,
)
from agents.evaluation.results import EpisodeResultLine
from agents.experiments.environments import make_env
from agents.experiments.experiment import Experiment
from agents.experiments.splits import selected_kernels
from agents.experiments.train_test_leakage import leakage_note, test_kernels_among
from agents.policies.env_policy import EnvPolicy, inner_env, run_episode
from polygym.errors import InputError


def evaluate_policies(
    name: str,
    experiment: Experiment,
    policies: Iterator[tuple[int, EnvPolicy]],
    kernels: Sequence[str],
    episodes: int,
    leaked_kernels: Sequence[str] = (),
) -> Iterator[EpisodeResultLine]:
    """Yield what became of every episode of an agent that has learned from kernels for tests."""
    seen = [kernel for kernel in kernels if _is_trained_on(experiment, kernel, leaked_kernels)]
    for seed, policy in policies:
        for kernel in kernels:
            env = make_env(experiment, kernel)
            for number in range(episodes):
                ending = run_episode(env, policy, seed=FIRST_SEED + number)
                yield EpisodeResultLine(
                    name, seed, ending.info["kernel"], number, round(ending.reward, 6),
                    round(ending.info["speedup"], 6), ending.info["status"],
                    inner_env(env).export(), kernel in seen,
                )  # fmt: skip
            env.close()


def _is_trained_on(experiment: Experiment, kernel: str, learned_from: Sequence[str]) -> bool:
    return bool(learned_from) and not set(learned_from).isdisjoint(
        test_kernels_among(experiment, [kernel])
    )


def means_table(rows: Sequence[EpisodeResultLine]) -> str:
    """Return the means of rewards, and of speedups where there are any, by kernel."""
    kernels = list(dict.fromkeys(line.kernel for line in rows))
    lines = [f"{'kernel':24} {'reward':>10} {'speedup':>10}  status"]
    for kernel in kernels:
        own = [line for line in rows if line.kernel == kernel]
        reward = sum(result.reward for result in own) / len(own)
        states = ", ".join(dict.fromkeys(result.status for result in own))
        lines.append(f"{kernel:24} {reward:10.3f} {_geometric_mean(own):>10}  {states}")
    lines.append(
        f"{'all':24} {sum(o.reward for o in rows) / len(rows):10.3f} {_geometric_mean(rows):>10}"
    )
    if seen := dict.fromkeys(result.kernel for result in rows if result.trained_on):
        lines.append(leakage_note(rows[0].agent, list(seen)))
    return "\n".join(lines)


def _geometric_mean(lines: Sequence[EpisodeResultLine]) -> str:
    """Return the geometric mean of speedups; what failed counts as a thousandth."""
    if all(line.status == "not measured" for line in lines):
        return "-"
    logarithms = [log(max(1e-3, line.speedup)) for line in lines]
    return f"{exp(sum(logarithms) / len(logarithms)):.3f}x"


def main(arguments: list[str] | None = None) -> int:
    """Evaluate; return 0, 1 after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("evaluate", __doc__)
    add_arguments(parser)
    parser.add_argument(
        "--kernels", required=True, metavar="PROGRAMS", help="a selection, split:test among them"
    )
    parser.add_argument("--episodes", type=int, default=1, metavar="N", help="of each kernel")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="of a random rule")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a file for the results")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _evaluate(options), "ended; what was written is kept")


def _evaluate(options: Namespace) -> None:
    if options.episodes < 1 or options.seeds < 1:
        raise InputError("--episodes and --seeds: expected numbers from 1 on")
    expect_folder_of(options.out, "--out")
    ahead = LookaheadOptions.from_options(options)
    experiment, policies = policies_of_agent(
        options.agent, options.environment, range(options.seeds), ahead
    )
    experiment = with_environment_arguments(experiment, options.overrides)
    kernels = selected_kernels(options.kernels)
    lines, name = [], ahead.agent_name(options.agent)
    seen = test_kernels_learned_by(options.agent)
    for line in evaluate_policies(name, experiment, policies, kernels, options.episodes, seen):
        lines.append(line)
        print(f"seed {line.seed}, {line.kernel}: {line.reward:.3f}", file=sys.stderr, flush=True)
        if options.out is not None:
            results.write_results(options.out, lines)
    print(means_table(lines))


if __name__ == "__main__":
    sys.exit(main())
