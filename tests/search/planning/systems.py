"""Systems for the tests: graphs of a few states, and numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np


class Graph:
    """States with names, what follows each, and costs."""

    def __init__(self, following: Mapping[str, str], costs: Mapping[str, float]) -> None:
        self.following, self.costs = following, costs
        self.asked: list[str] = []

    def successors(self, state: str) -> Sequence[str]:
        self.asked.append(state)
        return tuple(self.following.get(state, ""))

    def cost(self, state: str) -> float:
        return self.costs[state]

    def key(self, state: str) -> Hashable:
        return state

    def features(self, state: str) -> str:
        return state


class RandomGraph:
    """Random graphs of numbered states: three ways out of each, random costs."""

    def __init__(self, seed: int, count: int = 40) -> None:
        rng = np.random.default_rng(seed)
        self.edges = rng.integers(0, count, (count, 3))
        self.costs = rng.integers(0, 50, count).astype(float)

    def successors(self, state: int) -> Sequence[int]:
        return tuple(int(successor) for successor in self.edges[state])

    def cost(self, state: int) -> float:
        return float(self.costs[state])

    def key(self, state: int) -> Hashable:
        return state

    def features(self, state: int) -> int:
        return state

    def within(self, start: int, steps: int) -> set[int]:
        """Return what can be reached, by brute force."""
        result = {start}
        for _ in range(steps):
            result |= {other for state in result for other in self.successors(state)}
        return result
