"""The rules of :mod:`polygym.mdp.policies.registry` as policies of an environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from agents.policies.env_policy import inner_env
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.policies.registry import policy_named


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
