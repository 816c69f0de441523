"""Searches that a model of cost leads: it learns from what was measured and says what to try next.

*model*: chains of annealing walk over schedules and mappings to where the model expects speed; of
all that they have seen a good and diverse part is measured, in turn with the most promising of what
is a step or two away from the best so far, and one in twenty is at random alone. Moves change an
entry of the mapping, or take another schedule: one of isl's, an edit of one of the best so far,
which is legal (:mod:`polygym.search.strategies.schedule_edits`), or one that a policy has played.
Whenever the model has learned, the most promising of some that were played is measured, even if
there are more promising candidates (:mod:`polygym.search.strategies.samplers`). Half of what the
chains lead to is code that there is already, under another mapping; that is not measured again.

*filter*: 32 times as many candidates at random as are wanted, of which the model's first are
measured; here too one in twenty is at random alone.

The model is the sum of two (AutoTVM, equation 4): one that has learned from other programs, if
there is one, and the correction that this program's measurements ask for. Before there are enough
of these the other one leads alone; where it has learned on another kind of machine random choices
decide half of what is measured, and where there is no other one all of it. All of it follows from
the seed and from what was measured.

Simulated annealing: chains that walk uphill, and less and less often downhill.

A step proposes a neighbour for every chain. It is taken where its score is not lower, else with
probability exp(Δ / T), where T falls from 1 towards 0 during a run. Scores are in units of how much
those of the chains differ, so T means the same for every model. Chains persist: a later run, when
the model has learned more, goes on where the last one has ended (AutoTVM, section 3.3).

Diversity among many good candidates: which of them to measure.

Of a set S of b candidates with scores f (AutoTVM, equation 3)

    L(S) = Σ f(s) + α · Σ_j |{ s_j : s ∈ S }|

is to be large, where s_j is entry number j of a candidate, a tile or a width of vectors: every
value that no other one has counts. L is submodular, for a value counts once, however many have it.
Where no score is below 0 it is monotone as well, and taking again and again the candidate that adds
most reaches (1 - 1/e) of the best there is (Nemhauser, Wolsey and Fisher 1978).

A model's scores may be below 0, as those of ranks are. What the greedy way chooses is the same with
any constant c added to all of them, which adds c to every gain; with c = -min f the condition
holds. So for scores of any sign (1 - 1/e) is promised of L(S) - b · min f, the sets being of b
candidates, and not of L itself.

Example, α = 1: of a, b, c with scores 3, 2.9, 2.5 and entries (32, on), (32, on), (8, off) the
first is a, then c, which adds 2.5 + 2, while b adds 2.9.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Mapping as Dictionary
from itertools import zip_longest
from typing import TypeVar

import numpy as np

from polygym.cost.models import cost_model
from polygym.cost.models.correction import Correction, base_scores
from polygym.search.planning.gc_thresholds import reduced_gc
from polygym.search.strategies.candidates import Candidate, EditedSchedule, SearchSpace
from polygym.search.strategies.feature_cache import FeatureCache, stack_features
from polygym.search.strategies.model_options import DEFAULT_LEARNING, LearningOptions
from polygym.search.strategies.neighborhood import mutate_mapping, sample_parent
from polygym.search.strategies.random_search import RandomSearch
from polygym.search.strategies.samplers import EpisodeSchedules

# Fewer measurements than these say nothing; after so many new ones the model learns again.
_MIN_SAMPLES, _REFIT_AFTER = 12, 12
_STEPS = 6
_RANDOM_SHARE = 0.05
_RANDOM_SHARE_FOREIGN = 0.5  # before what another machine teaches is corrected
_MAPPING_MOVE_SHARE = 0.85
_NEIGHBOR_STEPS = 2
_EDITS_PER_RUN = 2  # new schedules before each run of the chains, while they are not too many
_MAX_EDITS = 40
_MAPPINGS_PER_EPISODE = 3  # of the best, under which what was played is looked at
_PER_CHOSEN = 32
_POOL_PER_SLOT = 64  # candidates for a place in the batch


class ModelAnnealing(RandomSearch):
    """Annealing on a model that learns as it goes."""

    def __init__(
        self,
        space: SearchSpace,
        seeds: Sequence[Candidate],
        rng: np.random.Generator,
        features: FeatureCache,
        prior: cost_model.CostModel | None = None,
        is_local_prior: bool = True,
        learning: LearningOptions = DEFAULT_LEARNING,
    ) -> None:
        """Begin with the seeds; ``prior`` has learned from other programs.

        ``is_local_prior`` says that it did so on a machine like this one, ``learning`` what is
        learned here.
        """
        super().__init__(space, seeds, rng)
        self._looked_at = features
        self._other = prior
        self._is_of_here = is_local_prior
        self._model: Correction | None = None
        self._learning = learning
        self._best_score = 0.0
        self._learned_from = 0
        self._chains: AnnealingChains | None = None
        self._edits = 0
        self._plays: EpisodeSchedules | None = None
        self._played_at = 0

    def ask(self, count: int) -> list[Candidate]:
        """Return the seeds, then what the model expects to be fast."""
        ready: list[Candidate] = []
        wanted = count - len(self._seeds)
        if wanted > 0 and (self._other is not None or self._has_enough):
            self._refit()
            ready = [choice for choice in self._propose(wanted) if choice not in self._seeds]
        is_foreign = not self._is_of_here and self._model is None
        share = _RANDOM_SHARE_FOREIGN if is_foreign else _RANDOM_SHARE

        def propose() -> Candidate:
            is_ready = ready and self.rng.random() >= share
            return ready.pop(0) if is_ready else self.space.sample(self.rng)

        return self._fill(count, propose)

    @property
    def _has_enough(self) -> bool:
        return sum(speedup > 0 for speedup in self.speedups.values()) >= _MIN_SAMPLES

    def _refit(self) -> None:
        """Fit the correction to what was measured, if much of it is new."""
        if not self._has_enough or len(self.speedups) - self._learned_from < _REFIT_AFTER:
            return
        self._learned_from = len(self.speedups)
        worst = min(speedup for speedup in self.speedups.values() if speedup > 0)
        looks, seconds = [], []
        features = self._looked_at.features(list(self.speedups))
        for look, speedup in zip(features, self.speedups.values(), strict=True):
            if look is not None:
                looks.append(look)
                # What failed is slower than all that did not.
                seconds.append(1.0 / speedup if speedup > 0 else 2.0 / worst)
        if len(looks) < _MIN_SAMPLES:
            return
        vectors, loops = stack_features(looks)
        cases = np.zeros(len(looks), dtype=np.int64)
        samples = cost_model.TrainingSamples(vectors, np.array(seconds), cases, loops)
        self._model = self._learning.fit_correction(samples, self._other)
        # On the model's own scale, which for a model of ranks is no other's.
        self._best_score = float(self._model.scores(vectors, loops).mean(axis=0).max())

    def _score(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return how fast candidates are expected to be; -inf where there are no features.

        Once the search is over nobody wants them, and no more are looked at.
        """
        looks = self._looked_at.features(candidates, self.is_over)
        array = np.full(len(looks), -np.inf)
        known = [place for place, look in enumerate(looks) if look is not None]
        if not known:
            return array
        rows = stack_features([look for look in looks if look is not None])
        if self._model is not None:
            scores = self._model.scores(*rows)
            # Where no members may differ there is no doubt to be taken into account.
            kind = self._learning.acquisition if len(scores) > 1 else cost_model.Acquisition.MEAN
            array[known] = cost_model.acquisition_values(scores, kind, self._best_score)
        else:
            array[known] = 0.0 if self._other is None else base_scores(self._other, *rows)
        return array

    def _propose(self, count: int) -> list[Candidate]:
        """Return new candidates, the most promising and most diverse ones first."""
        self._propose_edits()
        first = self._propose_episode()
        if self._chains is None:
            begin = [self.space.sample(self.rng) for _ in range(CHAIN_COUNT // 2)]
            usual = [Candidate(self.space.sources[0], self.space.default)]
            good = self._best_candidates() or self._seeds[:CHAIN_COUNT] or usual
            begin += [good[place % len(good)] for place in range(CHAIN_COUNT - len(begin))]
            self._chains = AnnealingChains(begin, self.rng)
        seen = self._chains.run(_STEPS, self._neighbor, self._score, self.is_over)
        near = self._neighbors()
        fresh = self._distinct_code(near | seen)
        parts = (
            {choice: score for choice, score in fresh.items() if (choice in near) is is_near}
            for is_near in (True, False)
        )
        pairs = zip_longest(*(self._chosen(part, count) for part in parts))
        return [
            *first,
            *(candidate for pair in pairs for candidate in pair if candidate is not None),
        ]

    def _neighbors(self) -> dict[Candidate, float]:
        """Return the scores of what is a step or two away from the best that were measured.

        Of candidates that differ in one entry a model knows better which is faster than of any two.
        """
        best = self._best_candidates()
        near = [best[sample_parent(len(best), self.rng)] for _ in range(CHAIN_COUNT if best else 0)]
        for _ in range(_NEIGHBOR_STEPS):
            near += [self._neighbor(candidate) for candidate in near[-CHAIN_COUNT:]]
        return dict(zip(near, map(float, self._score(near)), strict=True))

    def _distinct_code(self, scores: Dictionary[Candidate, float]) -> dict[Candidate, float]:
        """Return those whose code is none that was measured, one of each."""
        measured = self._looked_at.features(list(self.speedups))
        known = {look.code for look in measured if look is not None}
        result: dict[Candidate, float] = {}
        for candidate, look in zip(scores, self._looked_at.features(list(scores)), strict=True):
            if look is not None and np.isfinite(scores[candidate]) and look.code not in known:
                known.add(look.code)
                result[candidate] = scores[candidate]
        return result

    def _chosen(self, fresh: Dictionary[Candidate, float], count: int) -> list[Candidate]:
        if not fresh:
            return []
        ranked = sorted(fresh, key=lambda candidate: -fresh[candidate])[: _POOL_PER_SLOT * count]
        spread = float(np.std([fresh[candidate] for candidate in ranked])) or 1.0
        scores = {candidate: fresh[candidate] / spread for candidate in ranked}
        entries = {candidate: tuple(self.space.values(candidate).values()) for candidate in ranked}
        weight = self._learning.diversity_weight(len(self.speedups))
        return select_diverse(scores, entries, count, weight)

    def _best_candidates(self) -> list[Candidate]:
        return self.ranked()[:8]

    def _neighbor(self, candidate: Candidate) -> Candidate:
        if self.rng.random() < _MAPPING_MOVE_SHARE:
            return Candidate(candidate.source, mutate_mapping(candidate.mapping, self.rng))
        ways = self._looked_at.sources
        return Candidate(ways[int(self.rng.integers(len(ways)))], candidate.mapping)

    def _propose_edits(self) -> None:
        """Add legal changes of the best schedules to those that there are."""
        best = self._best_candidates()
        for _ in range(_EDITS_PER_RUN if best and self._edits < _MAX_EDITS else 0):
            parent = best[sample_parent(len(best), self.rng)]
            if self._looked_at.edit(parent.source, EditedSchedule(self._edits), self.rng):
                self._edits += 1

    def _propose_episode(self) -> list[Candidate]:
        """Return the most promising of some schedules that policies play, now and then.

        It is looked at under the mapping with which the search began, and under those of the best.
        """
        if len(self.speedups) - self._played_at < _REFIT_AFTER:
            return []
        self._played_at = len(self.speedups)
        if self._plays is None:
            self._plays = EpisodeSchedules(self._looked_at.scop, self.rng)
        some = self._plays.sample(self._looked_at.is_new, self.is_over)
        for schedule, way in some.items():
            self._looked_at.consider(way, schedule)
        tried = [next(iter(self.speedups)), *self._best_candidates()[:_MAPPINGS_PER_EPISODE]]
        mappings = dict.fromkeys(candidate.mapping for candidate in tried)
        seen = [Candidate(way, mapping) for mapping in mappings for way in some.values()]
        scores = self._score(seen)
        best = [seen[int(scores.argmax())]] if np.isfinite(scores).any() else []
        self._looked_at.decide({candidate.source for candidate in best})
        return best


class ModelFilter(ModelAnnealing):
    """Random search alone, of whose many proposals the model lets the best through."""

    def _propose(self, count: int) -> list[Candidate]:
        proposed = [self.space.sample(self.rng) for _ in range(_PER_CHOSEN * count)]
        scores = self._score(proposed)
        fresh = self._distinct_code(dict(zip(proposed, map(float, scores), strict=True)))
        return sorted(fresh, key=lambda candidate: -fresh[candidate])[:count]


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


Item = TypeVar("Item")


def select_diverse(
    scores: Mapping[Item, float],
    entries: Mapping[Item, Sequence[Hashable]],
    count: int,
    alpha: float,
) -> list[Item]:
    """Return so many, those first that add most.

    >>> entries = {"a": (32, True), "b": (32, True), "c": (8, False)}
    >>> select_diverse({"a": 3.0, "b": 2.9, "c": 2.5}, entries, 2, alpha=1.0)
    ['a', 'c']
    """
    left = dict(sorted(scores.items(), key=lambda scored: -scored[1]))
    have: set[tuple[int, Hashable]] = set()
    chosen: list[Item] = []

    def gain(item: Item) -> float:
        new = sum(pair not in have for pair in enumerate(entries[item]))
        return left[item] + alpha * new

    while left and len(chosen) < count:
        best = max(left, key=gain)
        del left[best]
        chosen.append(best)
        have.update(enumerate(entries[best]))
    return chosen
