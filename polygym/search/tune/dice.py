"""Dice alone: the simplest search, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polygym.search.tune.candidates import Candidate, Genes

_ATTEMPTS = 30


class Random:
    """Dice alone, after the seeds.

    With ``is_by_generation`` what comes next depends on a whole generation, which is asked for at
    once; else it may be asked for bit by bit. So many as ``at_a_time`` are compiled, on all cores,
    before they are measured.
    """

    is_by_generation = False
    at_a_time = 16

    def __init__(self, genes: Genes, seeds: Sequence[Candidate], dice: np.random.Generator) -> None:
        """Begin with the seeds."""
        self.genes, self.dice = genes, dice
        self.found: dict[Candidate, float] = {}
        self._seeds = list(seeds)
        # Asked from time to time by those that take long to choose: then nobody wants the rest.
        self.is_over: Callable[[], bool] = lambda: False

    def generation(self, count: int) -> list[Candidate]:
        """Return candidates to try, none twice or again: the seeds, then what the dice say."""
        return self._filled(count, lambda: self.genes.random(self.dice))

    def learn(self, candidate: Candidate, speedup: float) -> None:
        """Remember it, so that it is not tried again."""
        self.found[candidate] = speedup

    def _filled(self, count: int, make: Callable[[], Candidate]) -> list[Candidate]:
        chosen: dict[Candidate, None] = {}
        while self._seeds and len(chosen) < count:
            seed = self._seeds.pop(0)
            if seed not in self.found:
                chosen[seed] = None
        attempts = 0
        while len(chosen) < count and attempts < _ATTEMPTS * count:
            attempts += 1
            candidate = make()
            if candidate not in self.found:
                chosen[candidate] = None
        return list(chosen)
