"""A search that looks ahead: every allowed action is tried in a copy of the environment.

For each allowed action a few episodes are played to their end with a rule, on copies of the
immutable episode, and their schedules get the static score; the action with the best schedule is
taken. Nothing is compiled or run.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from agents.policies.env_policy import inner_env
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.rewards import static_reward


class RolloutSearch:
    """Takes the action behind which a rule found the best schedule in ``rollouts`` episodes."""

    def __init__(self, rule: str = "bias_coeff_0", rollouts: int = 1, seed: int | None = None):
        self._rule = policy_named(rule)
        self._rollouts = rollouts
        self._generator = np.random.default_rng(seed)

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the action with the best schedule, the first of equal ones."""
        polygym_env = inner_env(env)
        episode = polygym_env.episode
        allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
        if len(allowed) > 1:
            allowed.sort(key=lambda action: -self._promise(episode.after(action)))
        return allowed[0] - polygym_env.FIRST_ACTION

    def _promise(self, episode: Episode) -> float:
        return max(
            static_reward(play_episode(episode, self._rule, self._generator))
            for _ in range(self._rollouts)
        )
