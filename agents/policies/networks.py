"""A trained model of stable-baselines3 or sb3-contrib as a policy."""

from __future__ import annotations

from inspect import signature
from typing import Any

import gymnasium

from agents.policies.protocol import inner
from polygym.episodes.tables import Observation


class Network:
    """Asks a model for its action, with the mask if the model takes one (MaskablePPO does)."""

    def __init__(self, model: Any, *, deterministic: bool = True) -> None:
        self._model = model
        self._deterministic = deterministic
        self._takes_mask = "action_masks" in signature(model.predict).parameters

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the model's action."""
        extra = {"action_masks": inner(env).action_masks()} if self._takes_mask else {}
        action, _ = self._model.predict(observation, deterministic=self._deterministic, **extra)
        return int(action)
