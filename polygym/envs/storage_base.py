"""Environments in which it may be decided beforehand where a program keeps its values.

With ``storage=True`` an episode begins with :mod:`polygym.mdp.storage_decisions`, and the
observation has two arrays more (:mod:`polygym.mdp.observation.storage_arrays`). Without it, which
is the default, everything is as in an environment that knows of no storage.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polygym.envs.base import PolygymEnv
from polygym.envs.episode_end import Info
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Array, ArraySpec, Observation
from polygym.mdp.observation.schedule_observer import ObservationBuffer
from polygym.mdp.observation.storage_arrays import add_storage_arrays, storage_arrays
from polygym.mdp.problems import arguments
from polygym.mdp.records.record_checks import STORAGE_KEY, STORAGE_LIMIT_KEY
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT


class StorageEnv(PolygymEnv):
    """The common part of these environments."""

    _stores = False

    def __init__(
        self,
        kernel: str = "gemm",
        *,
        storage: bool = False,
        storage_limit: int = DEFAULT_MEMORY_LIMIT,
        **others: Any,
    ) -> None:
        super().__init__(kernel, **others)
        self._stores = arguments.check_switch(STORAGE_KEY, storage)
        limit = arguments.check_storage_limit(storage_limit)
        if not self._stores:
            return
        self._options = replace(self._options, storage_limit=limit)
        self._arguments |= {STORAGE_KEY: True, STORAGE_LIMIT_KEY: limit}
        self._set_spaces({})

    def _set_spaces(self, more: Mapping[str, ArraySpec]) -> None:
        super()._set_spaces({**more, **(storage_arrays() if self._stores else {})})

    def _observe(self, episode: Episode, allowed: Array) -> Observation:
        observation = super()._observe(episode, allowed)
        return self._with_storage_arrays(observation, episode)

    def _with_storage_arrays(self, observation: Observation, episode: Episode) -> Observation:
        """Return an observation with what there is to say about storage."""
        if self._stores:
            for name, table in storage_arrays().items():
                observation[name] = np.zeros(table.size, table.dtype)
            add_storage_arrays(observation, episode)
        return observation

    def write_observation(self, shown: ObservationBuffer) -> None:
        """Write the observation into arrays, in which that of an earlier state stands."""
        super().write_observation(shown)
        if self._stores:
            add_storage_arrays(shown.arrays, self.episode)

    def _end_episode(self, info: Info) -> float:
        value = super()._end_episode(info)
        storing = self.episode.storage_state
        if storing is not None:
            info["splitting"], info["storage"] = str(storing.splitting), str(storing.storage)
        return value
