"""Every kind of policy runs episodes to their end, allowed actions only."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.agents.policies import (
    EnvPolicy,
    EpisodeSummary,
    RolloutSearch,
    RulePolicy,
    TrainedPolicy,
    run_episode,
)
from polygym.errors import InputError
from polygym.mdp.policies.registry import POLICIES

IDS = ("polygym/Construct-v0", "polygym/Explore-v0", "polygym/Schedule-v0")


def make(name: str, **arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(f"polygym:{name}", reward="static", **arguments)


class Watched:
    """A policy that refuses to choose what the mask forbids."""

    def __init__(self, policy: EnvPolicy) -> None:
        self.policy = policy
        self.actions: list[int] = []

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Any) -> int:
        action = self.policy(env, observation)
        assert observation["action_mask"][action] == 1
        self.actions.append(action)
        return action


def run(name: str, policy: EnvPolicy, **arguments: Any) -> tuple[EpisodeSummary, list[int]]:
    watched = Watched(policy)
    ending = run_episode(make(name, **arguments), watched, seed=5)
    assert ending.info["is_success"]
    assert ending.steps == len(watched.actions)
    return ending, watched.actions


@pytest.mark.rotates
@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("rule", POLICIES)
def test_rules_finish_episodes(name: str, rule: str) -> None:
    ending, _ = run(name, RulePolicy(rule, seed=1), kernel="mvt")
    assert 0 < ending.reward <= 1


def test_seeds_decide_what_dice_do() -> None:
    first = run(IDS[2], RulePolicy("uniform", seed=1))[1]
    assert first == run(IDS[2], RulePolicy("uniform", seed=1))[1]
    assert first != run(IDS[2], RulePolicy("uniform", seed=2))[1]


def test_an_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="bias_coeff_0"):
        RulePolicy("bias_coeff_1")


def test_weights_are_those_of_the_paper() -> None:
    """With 1 : 0.15 : 0.15 a free coefficient is 0 in 1/1.3 of all cases."""
    coefficients = np.array(
        [
            action
            for seed in range(40)
            for action in run(IDS[1], RulePolicy("bias_coeff_0", seed=seed))[1]
        ]
    )
    share = np.bincount(coefficients, minlength=3) / len(coefficients)
    assert np.allclose(share, [1 / 1.3, 0.15 / 1.3, 0.15 / 1.3], atol=0.04)


def test_greedy_is_at_least_as_good_as_the_least_coefficients() -> None:
    for kernel in ("gemm", "mvt", "jacobi-1d", "trisolv"):
        least, _ = run(IDS[2], RulePolicy("earliest"), kernel=kernel)
        best, _ = run(IDS[2], RulePolicy("greedy"), kernel=kernel)
        assert best.reward >= least.reward


def test_looking_ahead_beats_dice_on_average() -> None:
    def mean(make_policy: Any) -> float:
        return float(
            np.mean([run(IDS[1], make_policy(seed), kernel="mvt")[0].reward for seed in range(5)])
        )

    searched = mean(lambda seed: RolloutSearch(seed=seed))
    assert searched > mean(lambda seed: RulePolicy("uniform", seed=seed))


def test_networks_with_and_without_masks() -> None:
    pytest.importorskip("torch")
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    env = make(IDS[2], kernel="mvt")
    masked = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0)
    ending, _ = run(IDS[2], TrainedPolicy(masked, deterministic=False), kernel="mvt")
    assert ending.reward > 0
    env = make(IDS[1], kernel="mvt")
    plain = PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0)
    ending = run_episode(env, TrainedPolicy(plain), seed=0)
    assert ending.info["status"] == "not measured"


def test_another_environment_is_refused() -> None:
    with pytest.raises(TypeError, match="CartPole"):
        run_episode(gymnasium.make("CartPole-v1"), RulePolicy("uniform"))


def test_a_model_of_other_observations_is_refused_with_words() -> None:
    from gymnasium import spaces
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.env_util import make_vec_env

    env = make("polygym/Schedule-v0", kernel="mvt")
    model = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0)
    old_spaces = dict(model.observation_space.spaces)
    for name in ("rows", "generator", "point"):  # what version 1 had
        old_spaces[name] = spaces.Box(-127, 127, old_spaces[name].shape, np.int8)
    model.observation_space = spaces.Dict(old_spaces)
    with pytest.raises(InputError, match=r"version 3 of the observation.*generator, point, rows"):
        run_episode(env, TrainedPolicy(model))
    with pytest.raises(ValueError, match="Observation spaces do not match"):
        model.set_env(make_vec_env(lambda: env))
    wider = make("polygym/Schedule-v0", kernel="mvt", max_coefficient=3)
    trained = MaskablePPO("MultiInputPolicy", env, n_steps=32, batch_size=32, seed=0)
    with pytest.raises(InputError, match="action_mask"):
        run_episode(wider, TrainedPolicy(trained))
