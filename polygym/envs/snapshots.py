"""Environments whose episode is a value: a fork copies next to nothing."""

import copy
from typing import Self, TypeVar

import gymnasium

ObservationType = TypeVar("ObservationType")
ActionType = TypeVar("ActionType")


class SnapshotEnv(gymnasium.Env[ObservationType, ActionType]):
    """An environment that can be forked: its episode is a value, its rng is copied."""

    def fork(self) -> Self:
        """Return an independent environment in the same state, for a tree search."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Copy what changes (the episode is a value; the random numbers), share what does not."""
        # Not by copy.copy: that may go the way of pickles, which take all actions again.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.action_space = copy.deepcopy(self.action_space, memo)
        other.observation_space = copy.deepcopy(self.observation_space, memo)
        if self._np_random is not None:
            other._np_random = copy.deepcopy(self._np_random, memo)
        memo[id(self)] = other
        return other
