"""What a policy is, and how an episode is run with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium

from polygym.envs.base import PolygymEnv
from polygym.episodes.tables import Observation


class Policy(Protocol):
    """Chooses the next action of an environment.

    A network looks at the observation, a rule at the episode behind it (``inner(env).episode``), a
    search at copies of the environment (``inner(env).fork()``).
    """

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return an action; the environment is not changed."""
        ...


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ended: the sum of its rewards, its length, and the last ``info``."""

    reward: float
    steps: int
    info: dict[str, Any]


def inner(env: gymnasium.Env[Any, Any]) -> PolygymEnv:
    """Return the polygym environment inside of wrappers."""
    found = env.unwrapped
    if not isinstance(found, PolygymEnv):
        raise TypeError(f"expected one of polygym's environments, found {type(found).__name__}")
    return found


def run_episode(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> Ending:
    """Reset the environment and let the policy act until the episode ends."""
    observation, info = env.reset(seed=seed, options=options)
    total, steps, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy(env, observation))
        total += float(reward)
        steps += 1
        over = terminated or truncated
    return Ending(total, steps, info)
