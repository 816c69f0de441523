"""Random search, which all others extend, and genetic search.

Genetic search: children of three parents, the fitter the likelier.

The first generation is the initial candidates and random ones. Then the best are kept, and the
others are children which have every gene from one of three parents; now and then a gene is sampled
anew.
"""

from collections.abc import Callable, Sequence

import numpy as np

from polygym.mdp.episode import Episode
from polygym.search.strategies.candidates import Candidate, Proposal, SearchSpace

_ATTEMPTS = 30


class RandomSearch:
    """Random search alone, after the seeds.

    Subclasses choose in other ways; ``size`` is the number of candidates of a batch.
    """

    is_indexed = False
    cuts_off = True
    size = 16

    def __init__(
        self, space: SearchSpace, seeds: Sequence[Candidate], rng: np.random.Generator
    ) -> None:
        """Begin with the seeds."""
        self.space, self.rng = space, rng
        self.speedups: dict[Candidate, float] = {}
        self._seeds = list(seeds)
        # Asked from time to time by those that take long to choose: then nobody wants the rest.
        self.is_over: Callable[[], bool] = lambda: False

    @property
    def batch_size(self) -> int:
        """The initial candidates together, then batches."""
        return len(self._seeds) or self.size

    def episode_of(self, proposal: Proposal) -> Episode | None:
        """Return nothing: candidates are schedules under mappings, whatever led to them."""

    def skip(self, count: int) -> None:
        """Refuse to skip: what comes next depends on the outcomes before."""
        raise NotImplementedError

    def ask(self, count: int) -> list[Candidate]:
        """Return new candidates: the initial ones, then random ones."""
        return self._fill(count, lambda: self.space.sample(self.rng))

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """Remember it, so that it is not tried again."""
        self.speedups[candidate] = speedup

    def ranked(self) -> list[Candidate]:
        """Return the candidates that ran, the fastest first."""
        ran = [candidate for candidate, speedup in self.speedups.items() if speedup > 0]
        return sorted(ran, key=lambda candidate: -self.speedups[candidate])

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
        places = self.rng.choice(len(ranked), size=3, p=chances)
        parents = [self.space.values(ranked[int(place)]) for place in places]
        values = {}
        for name in self.space.names():
            values[name] = parents[int(self.rng.integers(3))][name]
            if self.rng.random() < _MUTATION:
                values[name] = self.space.sample_value(name, self.rng)
        return self.space.chosen(values)
