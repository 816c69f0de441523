"""MaskablePPO on the static reward, which needs no clock, beside a rule that does not learn.

    python examples/train_agent.py

Its 512 steps take about twenty seconds on two cores; in them the network learns what the rule knows
of this kernel. `--steps 20000` takes many minutes. What a network learns on one kernel says nothing
about another one: measure on kernels that it has not seen.
"""

import argparse
import statistics

import gymnasium
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from polygym.agents.policies.env_policy import EnvPolicy, run_episode
from polygym.agents.policies.heuristics import RulePolicy
from polygym.agents.policies.trained_network import TrainedPolicy

ARGUMENTS = {"kernel": "mvt", "reward": "static"}


def mean_reward(policy: EnvPolicy, episodes: int) -> float:
    """Return the mean reward of a policy's episodes."""
    env = gymnasium.make("polygym:polygym/Schedule-v0", **ARGUMENTS)
    return statistics.mean(
        run_episode(env, policy, seed=seed).reward for seed in range(1000, 1000 + episodes)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=512)
    parser.add_argument("--episodes", type=int, default=20, help="for each mean")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    envs = make_vec_env("polygym:polygym/Schedule-v0", n_envs=4, env_kwargs=ARGUMENTS)
    model = MaskablePPO("MultiInputPolicy", envs, n_steps=32, seed=options.seed)
    model.learn(options.steps)
    for name, policy in (
        ("uniform", RulePolicy("uniform", seed=options.seed)),
        ("earliest", RulePolicy("earliest")),
        ("trained", TrainedPolicy(model)),
    ):
        print(f"{name}: {mean_reward(policy, options.episodes):.3f}")


if __name__ == "__main__":
    main()
