"""Random search alone: the simplest search, and what all of them have in common."""

from collections.abc import Callable, Sequence

import numpy as np

from polygym.mdp.episode import Episode
from polygym.search.strategies.candidates import Candidate, SearchSpace
from polygym.search.strategies.protocol import Proposal

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
