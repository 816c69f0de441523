"""Rewards that come later: a rollout is played while a fleet measures how its episodes ended.

The last step of an episode has reward 0 at first. When the rollout is full, its rewards are put
where they belong, and what the algorithm has computed of them is computed again: returns and
advantages. So the random numbers, the steps and what is learned are as they would be if each
episode's end had been waited for; only the waiting is done once, for all of them together.

This is for algorithms that learn from whole rollouts: PPO, MaskablePPO and A2C.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.agents.experiments.experiment import ROLLOUT_ALGORITHMS, Experiment
from polygym.envs.episode_end import PendingReward
from polygym.mdp.rewards import RewardKind


@dataclass(frozen=True, slots=True)
class DelayedReward:
    """A reward that is to come, and the place in the rollout where it belongs.

    ``episode`` is what the algorithm keeps of the episode for its mean reward, if it does.
    """

    pending: PendingReward
    step: int
    env: int
    episode: dict[str, Any] | None


def delayed_rewards_in(locals_: dict[str, Any]) -> list[DelayedReward]:
    """Return what the step that was just taken leaves to come; the buffer gets it next."""
    place = int(locals_["rollout_buffer"].pos)
    return [
        DelayedReward(info["pending"], place, env, info.get("episode"))
        for env, info in enumerate(locals_["infos"])
        if "pending" in info
    ]


def assign_rewards(model: Any, late: list[DelayedReward]) -> list[tuple[float, str]]:
    """Put rewards where they belong, having waited for them; return each with its status.

    Raises:
        PolygymError: one could not be measured.
    """
    import torch
    from stable_baselines3.common.utils import obs_as_tensor

    result = []
    buffer = model.rollout_buffer
    for delayed_reward in late:
        reward, evaluation = delayed_reward.pending.wait()
        buffer.rewards[delayed_reward.step, delayed_reward.env] += reward
        if delayed_reward.episode is not None:
            delayed_reward.episode["r"] += reward
        result.append((reward, evaluation.status.value))
    if late:
        with torch.no_grad():
            seen = obs_as_tensor(model._last_obs, model.device)
            values = model.policy.predict_values(seen)
        dones = np.asarray(model._last_episode_starts)
        buffer.compute_returns_and_advantage(last_values=values, dones=dones)
    return result


def refusal_reason(experiment: Experiment) -> str:
    """Return why an experiment cannot be trained with rewards that come later, "" if it can."""
    if experiment.algorithm not in ROLLOUT_ALGORITHMS:
        known = ", ".join(ROLLOUT_ALGORITHMS)
        return f"algorithm: expected one of {known}, found {experiment.algorithm}"
    if any(name == "RuntimePointEstimate" for name, _ in experiment.wrappers):
        return "wrappers: expected none that wants the times at once, found RuntimePointEstimate"
    reward = experiment.arguments.get("reward", RewardKind.SPEEDUP.value)
    if not RewardKind.named(reward).is_measured:
        return f"arguments.reward: expected one that is measured, found {reward}"
    return ""
