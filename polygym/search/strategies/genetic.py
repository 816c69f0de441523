"""Genetic search: children of three parents, the fitter the likelier.

The first generation is the initial candidates and random ones. Then the best are kept, and the
others are children which have every gene from one of three parents; now and then a gene is sampled
anew.
"""

from collections.abc import Sequence

import numpy as np

from polygym.search.strategies.candidates import Candidate, SearchSpace
from polygym.search.strategies.random_search import RandomSearch

_ELITES = 0.1
_MUTATION = 0.07


class GeneticSearch(RandomSearch):
    """A population with crossover of three parents, mutation and elites."""

    def __init__(
        self,
        space: SearchSpace,
        seeds: Sequence[Candidate],
        rng: np.random.Generator,
        population: int = 100,
    ) -> None:
        """Begin with the seeds; ``population`` is the size of a generation."""
        super().__init__(space, seeds, rng)
        self.size = population

    @property
    def batch_size(self) -> int:
        """A generation; all initial candidates belong to the first one, even if they are more."""
        return max(len(self._seeds), self.size)

    def ask(self, count: int) -> list[Candidate]:
        """Return children of the fittest, or seeds and random ones where there are none yet."""
        ranked = self.ranked()[:count]
        if len(ranked) < 3:
            return super().ask(count)
        fitness = np.array([self.speedups[candidate] for candidate in ranked])
        chances = fitness / fitness.sum()
        # The elites stay parents; they need no second measurement.
        children = max(1, count - round(_ELITES * count))
        return self._fill(children, lambda: self._child(ranked, chances))

    def _child(self, ranked: Sequence[Candidate], chances: np.ndarray) -> Candidate:
        parents = [
            self.space.values(ranked[int(place)])
            for place in self.rng.choice(len(ranked), size=3, p=chances)
        ]
        values = {}
        for name in self.space.names():
            values[name] = parents[int(self.rng.integers(3))][name]
            if self.rng.random() < _MUTATION:
                values[name] = self.space.sample_value(name, self.rng)
        return self.space.chosen(values)
