"""Environments in which it may be decided beforehand where a program keeps its values.

With ``storage=True`` an episode begins with :mod:`polygym.episodes.storing`, and the observation
has two arrays more (:mod:`polygym.episodes.storage_tables`). Without it, which is the default,
everything is as in an environment that knows of no storage.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from polygym.compiler.storage.price import USUAL_LIMIT
from polygym.envs.base import PolygymEnv, space_of
from polygym.envs.endings import Info
from polygym.episodes import arguments
from polygym.episodes.episode import Episode
from polygym.episodes.observe import Shown
from polygym.episodes.recorded import STORAGE, STORAGE_LIMIT
from polygym.episodes.storage_tables import add_storing, storage_tables
from polygym.episodes.tables import Array, Observation, Table, tables


class StoringEnv(PolygymEnv):
    """The common part of these environments."""

    def __init__(
        self,
        kernel: str = "gemm",
        *,
        storage: bool = False,
        storage_limit: int = USUAL_LIMIT,
        **others: Any,
    ) -> None:
        super().__init__(kernel, **others)
        self._stores = arguments.switch(STORAGE, storage)
        limit = arguments.storage_limit(storage_limit)
        if not self._stores:
            return
        self._options = replace(self._options, storage_limit=limit)
        self._arguments |= {STORAGE: True, STORAGE_LIMIT: limit}
        self._resize({})

    def _resize(self, more: dict[str, Table]) -> None:
        """Make the spaces for as many actions as there are, and for more arrays."""
        count = self._options.actions
        self._actions = slice(0, count)
        self.action_space: spaces.Discrete = spaces.Discrete(count)
        arrays = {**tables(self._options.max_dimensions, count), **more}
        if self._stores:
            arrays |= storage_tables()
        self.observation_space = space_of(arrays)

    def _observe(self, episode: Episode, allowed: Array) -> Observation:
        found = super()._observe(episode, allowed)
        return self._with_storing(found, episode)

    def _with_storing(self, found: Observation, episode: Episode) -> Observation:
        """Return an observation with what there is to say about storage."""
        if self._stores:
            for name, table in storage_tables().items():
                found[name] = np.zeros(table.size, table.dtype)
            add_storing(found, episode)
        return found

    def show(self, shown: Shown) -> None:
        """Write the observation into arrays, in which that of an earlier state stands."""
        super().show(shown)
        if self._stores:
            add_storing(shown.arrays, self.episode)

    def _settle(self, info: Info) -> float:
        value = super()._settle(info)
        storing = self.episode.storing
        if storing is not None:
            info["splitting"], info["storage"] = str(storing.cuts), str(storing.plan)
        return value
