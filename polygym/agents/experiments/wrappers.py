"""Wrappers for polygym's environments: which kernel is next, what a time is, and shaped rewards.

An environment by itself draws a random kernel. The wrappers that choose know the kernels of the
environment that they wrap, and hand the reset of it the one that is next; a reset that names a
kernel itself has its way.
"""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from polygym.agents.policies.env_policy import inner_env, trainable_env
from polygym.envs.episode_end import Info
from polygym.errors import InputError
from polygym.mdp.observation.arrays import Observation
from polygym.mdp.predicted_reward import expect_cost_model, predicted_log_speedup
from polygym.mdp.rewards import reward_of_success

_Env = gymnasium.Env[Observation, np.int64]


class PolygymWrapper(
    gymnasium.Wrapper[Observation, np.int64, Observation, np.int64], RecordConstructorArgs
):
    """A wrapper of one of polygym's environments, whose masks it shows."""

    def action_masks(self) -> np.ndarray[Any, Any]:
        """Return which actions are allowed, for algorithms with masks."""
        return trainable_env(self.env).action_masks()


class KernelOrderWrapper(PolygymWrapper):
    """What the wrappers have in common: the kernels, the reset, and how many episodes there were.

    Which kernel is next follows from a seed and that number. The seed is that of the last reset
    that had one, with which they begin anew; before there was any it is the environment's own. So
    the members of a vector, whose seeds differ, are not all about the same kernel at a time.
    """

    def __init__(self, env: _Env) -> None:
        RecordConstructorArgs.__init__(self)  # unless there are arguments, which are kept already
        gymnasium.Wrapper.__init__(self, env)
        self._kernels: Sequence[str] = trainable_env(env).targets
        self._seed: int | None = None
        self._episode, self._is_held = 0, False

    def resume_at(self, seed: int, episode: int) -> None:
        """Go on with an episode of that number; resets do not begin anew any more."""
        self._seed, self._episode, self._is_held = seed, episode, True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode on the next kernel, which is the next one still if that fails."""
        if seed is not None and not self._is_held:
            self._seed, self._episode = seed, 0
        elif self._seed is None:
            self._seed = trainable_env(self.env).next_seed
        given = {} if options is None else options
        subject = trainable_env(self.env).SUBJECT
        if not isinstance(given, Mapping) or given.get(subject) is not None:
            return self.env.reset(seed=seed, options=options)
        chosen = {**given, subject: self._kernel(self._seed, self._episode)}
        result = self.env.reset(seed=seed, options=chosen)
        self._episode += 1
        return result

    def _kernel(self, seed: int, episode: int) -> str:
        """Return the kernel of an episode by its number."""
        raise NotImplementedError


class CycleKernels(KernelOrderWrapper):
    """The kernels in their order, again and again, from the one with the number ``start`` on.

    Without a ``start`` the seed is that number, counted on from the first behind the last kernel.
    A vector gives each of its members the seed of the one before and 1, so these go round evenly.

    Example, three kernels and ``reset(seed=4)`` of two members: they begin with the second and the
    third, go on with the third and the first, then with the first and the second.
    """

    def __init__(self, env: _Env, start: int | None = None) -> None:
        if start is not None:
            RecordConstructorArgs.__init__(self, start=start)
            if type(start) is not int or start < 0:
                raise InputError(f"start: expected a number from 0 on, found {start!r}")
        super().__init__(env)
        self._start = start

    def _kernel(self, seed: int, episode: int) -> str:
        first = seed if self._start is None else self._start
        return self._kernels[(first + episode) % len(self._kernels)]


class RandomOrderKernels(KernelOrderWrapper):
    """All kernels in a random order, then all in another one: none comes up less often."""

    def _kernel(self, seed: int, episode: int) -> str:
        turn, place = divmod(episode, len(self._kernels))
        order = np.random.default_rng([seed, turn]).permutation(len(self._kernels))
        return self._kernels[int(order[place])]


class CurriculumByDepth(KernelOrderWrapper):
    """First kernels of few loops and statements, then more and more, at random among them.

    One more of the kernels, in the order of their depth and then of their statements, joins with
    every ``episodes`` episodes.
    """

    def __init__(self, env: _Env, episodes: int = 20) -> None:
        RecordConstructorArgs.__init__(self, episodes=episodes)
        super().__init__(env)
        if type(episodes) is not int or episodes < 1:
            raise InputError(f"episodes: expected a number from 1 on, found {episodes!r}")
        self._episodes = episodes
        self._order: list[str] | None = None

    def _kernel(self, seed: int, episode: int) -> str:
        if self._order is None:
            self._order = sorted(self._kernels, key=self._size)
        open_now = min(len(self._order), 1 + episode // self._episodes)
        rng = np.random.default_rng([seed, episode])
        return self._order[int(rng.integers(open_now))]

    def _size(self, name: str) -> tuple[int, int]:
        scop = inner_env(self.env).problem_of(name).program.scop
        return scop.depth, len(scop.statements)


class RuntimePointEstimate(PolygymWrapper):
    """Pays for another estimate of the time than the best of its samples: the median or the mean.

    The original order's time is estimated alike. Where nothing was measured, or a schedule failed,
    the reward stays as it is.
    """

    def __init__(self, env: _Env, estimate: str = "median") -> None:
        RecordConstructorArgs.__init__(self, estimate=estimate)
        gymnasium.Wrapper.__init__(self, env)
        inner_env(env)  # one of polygym's, or this says so
        if any(isinstance(inner, PotentialShaping) for inner in wrappers_of(env)):
            raise InputError(
                "RuntimePointEstimate: expected PotentialShaping around it, found it inside, where "
                "its last reward would be lost"
            )
        if not isinstance(estimate, str) or estimate not in ESTIMATES:
            raise InputError(
                f"estimate: expected one of {', '.join(ESTIMATES)}, found {estimate!r}"
            )
        self._estimate = ESTIMATES[estimate]

    def step(self, action: np.int64) -> tuple[Observation, SupportsFloat, bool, bool, Info]:
        """Take an action; at the end the reward and the times are those of the estimate."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        env = inner_env(self.env)
        evaluation = env.evaluation
        if not terminated or evaluation is None or not evaluation.is_ok:
            return observation, reward, terminated, truncated, info
        seconds = float(self._estimate(evaluation.samples))
        before = float(self._estimate(evaluation.baseline_samples))
        info |= {"seconds": seconds, "baseline_seconds": before, "speedup": before / seconds}
        value = reward_of_success(env.reward_kind, before / seconds, env.timeout_factor)
        return observation, float(value), terminated, truncated, info


class PotentialShaping(PolygymWrapper):
    """Pays for each decision at once what the cost model expects of it.

    The potential φ is the logarithm of the predicted speedup of the decisions so far, 0 at the end.
    A step pays γ·φ(after) - φ(before) on top of its reward, where γ (``gamma``) is the algorithm's
    own discount. With γ = 1 the rewards of an episode still add up to what they did, less φ of its
    beginning, which is 0 for the original order without a mapping. So the best policies stay the
    best.

    Example, γ = 1, an episode of three steps whose end is worth 1.5, with φ = 0, 0.7, 1.5 before
    the steps: they pay 0.7, 0.8, and 1.5 - 1.5 = 0.
    """

    def __init__(self, env: _Env, gamma: float = 1.0) -> None:
        RecordConstructorArgs.__init__(self, gamma=gamma)
        gymnasium.Wrapper.__init__(self, env)
        inner_env(env)
        if not isinstance(gamma, int | float) or not 0 < gamma <= 1:
            raise InputError(f"gamma: expected a number above 0 and up to 1, found {gamma!r}")
        expect_cost_model()
        self._gamma = float(gamma)
        self._potential = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin an episode."""
        result = self.env.reset(seed=seed, options=options)
        self._potential = predicted_log_speedup(inner_env(self.env).episode)
        return result

    def step(self, action: np.int64) -> tuple[Observation, SupportsFloat, bool, bool, Info]:
        """Take an action; the reward has what it changed of the potential."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        before = self._potential
        self._potential = predicted_log_speedup(inner_env(self.env).episode)
        shaped = float(reward) + self._gamma * self._potential - before
        return observation, shaped, terminated, truncated, info


def wrappers_of(env: gymnasium.Env[Any, Any]) -> Iterator[gymnasium.Env[Any, Any]]:
    """Yield the wrappers of an environment, the outermost first."""
    while isinstance(env, gymnasium.Wrapper):
        yield env
        env = env.env


ESTIMATES: dict[str, Callable[[Sequence[float]], Any]] = {
    "minimum": min, "median": statistics.median, "mean": statistics.fmean,
}  # fmt: skip

WRAPPERS: dict[str, type[gymnasium.Wrapper[Any, Any, Any, Any]]] = {
    wrapper.__name__: wrapper
    for wrapper in (
        CycleKernels,
        RandomOrderKernels,
        CurriculumByDepth,
        RuntimePointEstimate,
        PotentialShaping,
    )
}
"""By the names that an experiment has for them."""

TRAINING_WRAPPERS = (KernelOrderWrapper, PotentialShaping)
"""Those that make no sense where an agent is evaluated."""
