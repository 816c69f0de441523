"""Fixed policies, which an agent has to beat: TENSAT's strategy, and the steepest descent.

They have the form of all policies of agents, ``policy(env, observation) -> action``, and look at
the episode alone::

    policy = Tensat(k_multi=1)
    observation, info = env.reset()
    while info["status"] == "running":
        observation, reward, *_, info = env.step(policy(env, observation))
"""

from dataclasses import dataclass
from typing import Any

import gymnasium

from polygym.errors import InputError
from polygym.graphs.envs.saturation_episode import (
    ALL_MULTI_SOURCE,
    ALL_SINGLE_SOURCE,
    EXTRACT_GREEDY,
    EXTRACT_OPTIMAL,
    SaturationEpisode,
)
from polygym.graphs.envs.substitution_episode import STOP, SubstitutionEpisode
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Tensat:
    """Saturate-v0 as TENSAT plays it.

    Every rule of several outputs is applied in the first ``k_multi`` iterations, every rule of one
    output after it, and in further iterations, until nothing changes or the limit is reached. Then
    the best graph is extracted, by integer programming unless ``is_greedy``.
    """

    k_multi: int = 1
    is_greedy: bool = False

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Any = None) -> int:
        """Return the next action."""
        episode = _episode(env)
        if not isinstance(episode, SaturationEpisode):
            raise InputError(f"Tensat: expected polygym/Saturate-v0, found {env}")
        several = episode.action_statistics[ALL_MULTI_SOURCE].count
        if several < self.k_multi and several <= episode.action_statistics[ALL_SINGLE_SOURCE].count:
            if not episode.refusal(ALL_MULTI_SOURCE):
                return ALL_MULTI_SOURCE
        if not episode.refusal(ALL_SINGLE_SOURCE):
            return ALL_SINGLE_SOURCE
        if several < self.k_multi and not episode.refusal(ALL_MULTI_SOURCE):
            return ALL_MULTI_SOURCE
        return EXTRACT_GREEDY if self.is_greedy else EXTRACT_OPTIMAL


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SteepestDescent:
    """Substitute-v0 without looking ahead: the substitution that gains most, while one gains."""

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Any = None) -> int:
        """Return the next action; of equal gains the first."""
        episode = _episode(env)
        if not isinstance(episode, SubstitutionEpisode):
            raise InputError(f"Steepest: expected polygym/Substitute-v0, found {env}")
        costs = [candidate.cost for candidate in episode.candidates]
        least = min(costs, default=episode.cost)
        return 1 + costs.index(least) if least < episode.cost else STOP


def _episode(env: gymnasium.Env[Any, Any]) -> object:
    return getattr(env.unwrapped, "episode", None)
