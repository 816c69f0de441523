"""A trained model of stable-baselines3 or sb3-contrib as a policy."""

from inspect import signature
from typing import Any

import gymnasium

from polygym.agents.policies.env_policy import trainable_env
from polygym.errors import InputError
from polygym.mdp.observation.arrays import OBSERVATION_VERSION, Observation


class TrainedPolicy:
    """Asks a model for its action, with the mask if the model takes one (MaskablePPO does)."""

    def __init__(self, model: Any, *, deterministic: bool = True) -> None:
        self._model = model
        self._deterministic = deterministic
        self._checked: gymnasium.Env[Any, Any] | None = None
        self._takes_mask = "action_masks" in signature(model.predict).parameters

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return the model's action."""
        if self._checked is not env:
            expect_same_observations(self._model, env)
            self._checked = env
        extra = {"action_masks": trainable_env(env).action_masks()} if self._takes_mask else {}
        action, _ = self._model.predict(observation, deterministic=self._deterministic, **extra)
        return int(action)


def expect_same_observations(model: Any, env: gymnasium.Env[Any, Any]) -> None:
    """Refuse a model of other observations: it would take their numbers for its own.

    Raises:
        InputError: the environment shows something else than the model was trained on.
    """
    trained = model.observation_space
    shown = trainable_env(env).observation_space
    if trained == shown:
        return
    known, wanted = (dict(getattr(space, "spaces", {})) for space in (trained, shown))
    names = sorted(name for name in {*known, *wanted} if known.get(name) != wanted.get(name))
    raise InputError(
        f"a model: expected one of version {OBSERVATION_VERSION} of the observation with this "
        "environment's max_dimensions and max_coefficient, found one that was trained on "
        f"another {', '.join(names)}; train it anew"
    )
