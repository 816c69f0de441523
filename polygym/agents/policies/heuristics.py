"""The rules of :mod:`polygym.mdp.policies.registry` as policies of an environment.

:class:`RolloutSearch` tries every allowed action on a copy of the immutable episode: a rule plays a
few episodes to their end, and the action with the best static score is taken. Nothing is run.
"""

from typing import Any

import gymnasium
import numpy as np

from polygym.agents.policies.env_policy import inner_env
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.rewards import static_reward


class RulePolicy:
    """A rule by its name: uniform, bias_coeff_0, bias_select_dep, earliest or greedy."""

    def __init__(self, name: str, seed: int | None = None) -> None:
        self.name = name
        self._choose = policy_named(name)
        self._generator = np.random.default_rng(seed)

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the rule's action."""
        polygym_env = inner_env(env)
        return self._choose(polygym_env.episode, self._generator) - polygym_env.FIRST_ACTION


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
