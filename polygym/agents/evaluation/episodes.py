"""Episodes of trained agents, or of rules, on programs: result lines, and a table of their means.

``polygym evaluate`` prints both.
"""

from collections.abc import Iterator, Sequence
from math import exp, log

from polygym.agents.evaluation.agent_sources import (
    FIRST_SEED,
)
from polygym.agents.evaluation.results import EpisodeResultLine
from polygym.agents.experiments.environments import make_env
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.train_test_leakage import leakage_note, test_kernels_among
from polygym.agents.policies.env_policy import EnvPolicy, inner_env, run_episode


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
