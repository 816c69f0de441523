"""Dice alone: the simplest search, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polygym.search.strategies.candidates import Candidate, SearchSpace

_ATTEMPTS = 30


class RandomSearch:
    """Dice alone, after the seeds.

    With ``is_by_generation`` what comes next depends on a whole generation, which is asked for at
    once; else it may be asked for bit by bit. So many as ``batch_size`` are compiled, on all cores,
    before they are measured.
    """

    is_by_generation = False
    batch_size = 16

    def __init__(
        self, space: SearchSpace, seeds: Sequence[Candidate], rng: np.random.Generator
    ) -> None:
        """Begin with the seeds."""
        self.space, self.rng = space, rng
        self.speedups: dict[Candidate, float] = {}
        self._seeds = list(seeds)
        # Asked from time to time by those that take long to choose: then nobody wants the rest.
        self.is_over: Callable[[], bool] = lambda: False

    def ask(self, count: int) -> list[Candidate]:
        """Return candidates to try, none twice or again: the seeds, then what the dice say."""
        return self._fill(count, lambda: self.space.sample(self.rng))

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """Remember it, so that it is not tried again."""
        self.speedups[candidate] = speedup

    def _fill(self, count: int, make: Callable[[], Candidate]) -> list[Candidate]:
        chosen: dict[Candidate, None] = {}
        while self._seeds and len(chosen) < count:
            seed = self._seeds.pop(0)
            if seed not in self.speedups:
                chosen[seed] = None
        attempts = 0
        while len(chosen) < count and attempts < _ATTEMPTS * count:
            attempts += 1
            candidate = make()
            if candidate not in self.speedups:
                chosen[candidate] = None
        return list(chosen)
