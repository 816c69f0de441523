"""Simulated annealing: chains that walk uphill, and less and less often downhill.

A step proposes a neighbour for every chain. It is taken where its score is not lower, else with
probability exp(Δ / T), where T falls from 1 towards 0 during a run. Scores are in units of how much
those of the chains differ, so T means the same for every model. Chains persist: a later run, when
the model has learned more, goes on where the last one has ended (AutoTVM, section 3.3).
"""

from collections.abc import Callable, Sequence

import numpy as np

from polygym.search.planning.gc_thresholds import reduced_gc
from polygym.search.strategies.candidates import Candidate

CHAIN_COUNT = 128


class AnnealingChains:
    """Chains, and where they are."""

    def __init__(self, start: Sequence[Candidate], rng: np.random.Generator) -> None:
        """Begin with one chain at each of some candidates."""
        self.current = list(start)
        self._dice = rng

    @reduced_gc()
    def run(
        self,
        steps: int,
        neighbor: Callable[[Candidate], Candidate],
        score: Callable[[Sequence[Candidate]], np.ndarray],
        is_over: Callable[[], bool] = lambda: False,
    ) -> dict[Candidate, float]:
        """Walk, and return the score of every candidate that was looked at.

        ``is_over`` is asked before every step.
        """
        now = score(self.current)
        seen = dict(zip(self.current, map(float, now), strict=True))
        known = now[np.isfinite(now)]
        unit = float(known.std()) if len(known) else 0.0
        for step in range(steps):
            if is_over():
                break
            temperature = (1.0 - step / steps) * (unit or 1.0)
            proposed = [neighbor(candidate) for candidate in self.current]
            array = score(proposed)
            seen.update(zip(proposed, map(float, array), strict=True))
            with np.errstate(invalid="ignore", over="ignore"):
                chance = np.exp(np.minimum(0.0, array - now) / temperature)
            taken = self._dice.random(len(proposed)) < np.nan_to_num(chance)
            for place in np.flatnonzero(taken | ~np.isfinite(now)):
                self.current[int(place)] = proposed[int(place)]
            now = np.where(taken | ~np.isfinite(now), array, now)
        return seen
