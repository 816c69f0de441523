"""Many episodes in one process, stepped together: what ``gymnasium.make_vec`` makes.

    envs = gymnasium.make_vec("polygym:polygym/Schedule-v0", 16, kernel="mvt", reward="static")

It does what Gymnasium's own ``vectorization_mode="sync"`` does, in less time: observations are
written into arrays of the whole vector, where most of what an earlier step has written stays, and
nothing is looked at twice. As there, an episode that has ended begins anew in the next step, whose
action has no effect and whose reward is 0.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from polygym.envs.base import PolygymEnv
from polygym.envs.episode_end import Info
from polygym.envs.optimize import OptimizeEnv
from polygym.envs.schedule import ConstructEnv, ExploreEnv, ScheduleEnv
from polygym.envs.transform import TransformEnv
from polygym.errors import InputError
from polygym.mdp.observation.arrays import Array, Observation
from polygym.mdp.observation.schedule_observer import ObservationBuffer
from polygym.mdp.observation.transform_arrays import hidden_loops


class PolygymVectorEnv(VectorEnv[Observation, Array, Array]):
    """The common part; each environment has one of its own."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own declaration)
        **PolygymEnv.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    ENV_CLASS: ClassVar[type[PolygymEnv]]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        if type(num_envs) is not int or num_envs < 1:
            raise InputError(f"num_envs: expected a number from 1 on, found {num_envs!r}")
        self.envs = tuple(self.ENV_CLASS(**arguments) for _ in range(num_envs))
        self.num_envs = num_envs
        self.render_mode = self.envs[0].render_mode
        self.single_action_space = self.envs[0].action_space
        self.single_observation_space = self.envs[0].observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._arrays: Observation = {
            name: np.zeros((num_envs, *box.shape), box.dtype)
            for name, box in self.envs[0].observation_boxes.items()
        }
        self._shown = tuple(
            ObservationBuffer({name: array[place] for name, array in self._arrays.items()})
            for place in range(num_envs)
        )
        self._over = np.zeros(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Info]:
        """Begin all episodes; a seed is that of the first, and one more for each that follows."""
        for env, own in zip(self.envs, self._seeds(seed), strict=True):
            env.reset(seed=own, options=options)
        self._over[:] = False
        for env, shown in zip(self.envs, self._shown, strict=True):
            env.write_observation(shown)
        return self._copied(), self._infos({})

    def step(self, actions: Array) -> tuple[Observation, Array, Array, Array, Info]:
        """Take an action in every episode; those that have ended begin anew."""
        numbers = self._numbers(actions)
        rewards = np.zeros(self.num_envs, np.float64)
        endings: dict[int, Info] = {}
        for place, env in enumerate(self.envs):
            if self._over[place]:
                env.reset()
            else:
                rewards[place], ending = env.take_number(numbers[place])
                if ending:
                    endings[place] = ending
            self._over[place] = place in endings
            env.write_observation(self._shown[place])
        truncated = np.zeros(self.num_envs, np.bool_)
        return self._copied(), rewards, self._over.copy(), truncated, self._infos(endings)

    def action_masks(self) -> Array:
        """Return which actions are allowed in every episode."""
        return self._arrays["action_mask"].astype(bool)

    def render(self) -> tuple[Any, ...]:
        """Return what each environment shows."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **_: Any) -> None:
        """Close the environments."""
        for env in self.envs:
            env.close()

    def _numbers(self, actions: Array) -> list[int]:
        """Return the actions in the numbers of episodes."""
        given, count = np.asarray(actions), int(self.envs[0].action_space.n)
        if given.shape != (self.num_envs,):
            raise InputError(
                f"actions: expected {self.num_envs} side by side, found the shape {given.shape}"
            )
        if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= count:
            raise InputError(
                f"actions: expected integers from 0 to {count - 1}, found {given.tolist()}"
            )
        result: list[int] = (given.astype(np.int64) + self.ENV_CLASS.FIRST_ACTION).tolist()
        return result

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + place for place in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InputError(f"seed: expected {self.num_envs} of them, found {len(seed)}")
        return list(seed)

    def _copied(self) -> Observation:
        return {name: array.copy() for name, array in self._arrays.items()}

    def _infos(self, endings: dict[int, Info]) -> Info:
        """Return what is said of all, and what the ends say of some, as Gymnasium puts it."""
        everywhere = np.ones(self.num_envs, np.bool_)
        kernels = np.full(self.num_envs, None, object)
        kernels[:] = [env.problem.program.name for env in self.envs]
        infos: Info = {
            "action_mask": self._arrays["action_mask"].copy(),
            "_action_mask": everywhere,
            "kernel": kernels,
            "_kernel": everywhere.copy(),
            "space_complete": np.array([env.episode.is_space_complete for env in self.envs]),
            "_space_complete": everywhere.copy(),
        }
        for place, ending in endings.items():
            infos = self._add_info(infos, ending, place)
        return infos


class ConstructVectorEnv(PolygymVectorEnv):
    """Construct-v0, many at once."""

    ENV_CLASS: ClassVar[type[PolygymEnv]] = ConstructEnv


class ExploreVectorEnv(PolygymVectorEnv):
    """Explore-v0, many at once."""

    ENV_CLASS: ClassVar[type[PolygymEnv]] = ExploreEnv


class ScheduleVectorEnv(PolygymVectorEnv):
    """Schedule-v0, many at once."""

    ENV_CLASS: ClassVar[type[PolygymEnv]] = ScheduleEnv


class OptimizeVectorEnv(PolygymVectorEnv):
    """Optimize-v0, many at once."""

    ENV_CLASS: ClassVar[type[PolygymEnv]] = OptimizeEnv


class TransformVectorEnv(PolygymVectorEnv):
    """Transform-v0, many at once."""

    ENV_CLASS: ClassVar[type[PolygymEnv]] = TransformEnv

    def _infos(self, endings: dict[int, Info]) -> Info:
        infos = super()._infos(endings)
        infos["steps_complete"] = np.array(
            [env.episode.is_over or env.episode.offer.is_complete for env in self.envs]
        )
        states = [env.episode.transform_state for env in self.envs]
        infos["hidden_loops"] = np.array(
            [0 if state is None else hidden_loops(state) for state in states], np.int64
        )
        for name in ("steps_complete", "hidden_loops"):
            infos[f"_{name}"] = np.ones(self.num_envs, np.bool_)
        return infos
