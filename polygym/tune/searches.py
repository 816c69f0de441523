"""Who chooses what is tried next; told what became of it, in speedups (0: it failed).

*genetic*: a population, the first of seeds and dice. Then the best are kept, and the others are
children of three parents each, the fitter the likelier, which have every gene from one of them; now
and then a gene is rolled anew.

*random*: dice alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from polygym.tune.candidates import Candidate, Genes

_ELITES = 0.1
_MUTATION = 0.07
_ATTEMPTS = 30


class Random:
    """Dice alone, after the seeds."""

    def __init__(self, genes: Genes, seeds: Sequence[Candidate], dice: np.random.Generator) -> None:
        """Begin with the seeds."""
        self.genes, self.dice = genes, dice
        self.found: dict[Candidate, float] = {}
        self._seeds = list(seeds)

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


class Genetic(Random):
    """A population with crossover of three parents, mutation and elites."""

    def generation(self, count: int) -> list[Candidate]:
        """Return children of the fittest, or seeds and dice where there are none yet."""
        ranked = sorted(self.found, key=lambda one: -self.found[one])[:count]
        ranked = [one for one in ranked if self.found[one] > 0]
        if len(ranked) < 3:
            return super().generation(count)
        fitness = np.array([self.found[one] for one in ranked])
        chances = fitness / fitness.sum()
        # The elites stay parents; they need no second measurement.
        children = max(1, count - round(_ELITES * count))
        return self._filled(children, lambda: self._child(ranked, chances))

    def _child(self, ranked: Sequence[Candidate], chances: np.ndarray) -> Candidate:
        parents = [
            self.genes.values(ranked[int(place)])
            for place in self.dice.choice(len(ranked), size=3, p=chances)
        ]
        values = {}
        for name in self.genes.names():
            values[name] = parents[int(self.dice.integers(3))][name]
            if self.dice.random() < _MUTATION:
                values[name] = self.genes.value(name, self.dice)
        return self.genes.chosen(values)


SEARCHES: dict[str, type[Random]] = {"genetic": Genetic, "random": Random}
