r"""Guides of a tree search: a network's priors of actions and its value of an episode.

A guide gives each allowed action a *prior*, a probability, and the state a *value*. Values, and
what ends are worth, are on a scale of their own,

    h(x) = sign(x) log2(1 + |x|),

on which speedups of 1, 3 and 7 are 1, 2 and 3: a network learns numbers of that size, and a speedup
of 100 does not drown the difference between 1 and 2. It is monotonic, h(-x) = -h(x), and near 0
like x / ln 2. Networks of cloning and expert iteration learn values on that scale; what PPO and A2C
learn is a reward itself, and is put on it.
"""

from math import copysign, log2
from typing import Any, Protocol

import numpy as np

from polygym.agents.policies.trained_network import expect_same_observations
from polygym.envs.base import PolygymEnv
from polygym.errors import InputError, LimitError
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import Mapping
from polygym.mdp.episode import Episode, Task
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule

Array = np.ndarray[Any, np.dtype[Any]]


class SearchGuide(Protocol):
    """Gives priors of an environment's actions, 0 where one is not allowed, and a value."""

    def __call__(self, env: PolygymEnv, episode: Episode) -> tuple[Array, float]:
        """Look at an episode of the environment's program that is not over."""
        ...


def scaled_value(worth: float) -> float:
    """Return a reward on the scale of values.

    >>> scaled_value(3.0), scaled_value(-1.0), scaled_value(0.0)
    (2.0, -1.0, 0.0)
    """
    return copysign(log2(1.0 + abs(worth)), worth)


def uniform_guide(env: PolygymEnv, episode: Episode) -> tuple[Array, float]:
    """Know nothing: all allowed actions alike, and the value 0."""
    allowed = np.array(env.allowed(episode), float)
    return allowed / allowed.sum(), 0.0


class NetworkGuide:
    """Asks a trained model; ``is_scaled`` says that its values are on the scale of searches."""

    def __init__(self, model: Any, *, is_scaled: bool) -> None:
        if not hasattr(model.policy, "value_net"):
            raise InputError(
                "a search: expected a model that has learned what states are worth, found "
                f"{type(model).__name__}, which has not"
            )
        self._model, self._is_scaled = model, is_scaled
        self._checked: Task | None = None

    def __call__(self, env: PolygymEnv, episode: Episode) -> tuple[Array, float]:
        """Return what the network thinks of an episode."""
        import torch

        if self._checked is not episode.task:
            expect_same_observations(self._model, env)
            self._checked = episode.task
        policy = self._model.policy
        if policy.training:
            policy.set_training_mode(False)
        shown, _ = policy.obs_to_tensor(env.observation_of(episode))
        allowed = torch.tensor([env.allowed(episode)])
        with torch.no_grad():
            logarithms, values = masked_priors_and_values(policy, shown, allowed)
        priors = np.exp(logarithms[0].double().numpy()) * np.array(env.allowed(episode), float)
        value = float(values[0])
        return priors / priors.sum(), value if self._is_scaled else scaled_value(value)


def masked_priors_and_values(policy: Any, shown: Any, allowed: Any) -> tuple[Any, Any]:
    """Return log priors under a mask, and values, of a batch of observations, as tensors."""
    import torch

    features = policy.extract_features(shown)
    if policy.share_features_extractor:
        of_actions, of_values = policy.mlp_extractor(features)
    else:
        of_actions = policy.mlp_extractor.forward_actor(features[0])
        of_values = policy.mlp_extractor.forward_critic(features[1])
    scores = policy.action_net(of_actions).masked_fill(~allowed, -1e8)
    return torch.log_softmax(scores, -1), policy.value_net(of_values).squeeze(-1)


_MEMO_SIZE = 1 << 14


class EndRewards:
    """Asks an environment for what it pays for an end, once for each schedule and mapping."""

    def __init__(self) -> None:
        self._known: LruCache[tuple[Task, Schedule, Mapping | None], float] = LruCache(_MEMO_SIZE)

    def scaled_reward(self, env: PolygymEnv, episode: Episode) -> float:
        """Return what the environment pays for an episode that is over, on the scale of values.

        Where it measures, this measures.
        """
        if episode.phase is Phase.INVALID:
            return scaled_value(env.worth(episode))
        try:
            key = episode.task, episode.schedule(), episode.mapping
        except LimitError:
            return scaled_value(env.worth(episode))
        return self._known.get(key, lambda: scaled_value(env.worth(episode)))
