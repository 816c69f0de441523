"""Policies that act in environments, and the loop that runs an episode with one."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import gymnasium

from polygym.envs.base import PolygymEnv
from polygym.mdp.observation.arrays import Array, Observation
from polygym.pickling import pickle_by_name


class EnvPolicy(Protocol):
    """Chooses the next action of an environment.

    A network looks at the observation, a rule at the episode behind it (``inner(env).episode``), a
    search at copies of the environment (``inner_env(env).fork()``).
    """

    def __call__(self, env: gymnasium.Env[Any, Any], observation: Observation) -> int:
        """Return an action; the environment is not changed."""
        ...


@pickle_by_name
@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """How an episode ended: the sum of its rewards, its length, and the last ``info``."""

    reward: float
    steps: int
    info: dict[str, Any]


class TrainableEnv(Protocol):
    """What trainers, wrappers and trained policies ask of an environment of programs or graphs."""

    SUBJECT: ClassVar[str]
    FIRST_ACTION: ClassVar[int]

    @property
    def targets(self) -> tuple[str, ...]:
        """The programs or graphs that episodes are about."""

    @property
    def next_seed(self) -> int:
        """The seed of the next reset if none is given."""

    @property
    def observation_space(self) -> Any:
        """The space of observations."""

    def action_masks(self) -> Array:
        """Return which actions are allowed."""


def trainable_env(env: gymnasium.Env[Any, Any]) -> TrainableEnv:
    """Return the environment of programs or graphs inside of wrappers."""
    from polygym.graphs.envs.base import GraphEnv

    result = env.unwrapped
    return result if isinstance(result, GraphEnv) else inner_env(env)


def inner_env(env: gymnasium.Env[Any, Any]) -> PolygymEnv:
    """Return the polygym environment inside of wrappers."""
    result = env.unwrapped
    if not isinstance(result, PolygymEnv):
        raise TypeError(f"expected one of polygym's environments, found {type(result).__name__}")
    return result


def run_steps(
    env: gymnasium.Env[Any, Any],
    policy: EnvPolicy,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> Iterator[EpisodeSummary]:
    """Let the policy act until the episode ends; yield what there is at its begin and every step.

    Each time it is what the ending would be if that were one; the last one is.
    """
    observation, info = env.reset(seed=seed, options=options)
    summary, over = EpisodeSummary(0.0, 0, info), False
    yield summary
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy(env, observation))
        summary = EpisodeSummary(summary.reward + float(reward), summary.steps + 1, info)
        over = terminated or truncated
        yield summary


def run_episode(
    env: gymnasium.Env[Any, Any],
    policy: EnvPolicy,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> EpisodeSummary:
    """Reset the environment and let the policy act until the episode ends."""
    (ending,) = deque(run_steps(env, policy, seed=seed, options=options), maxlen=1)
    return ending
