"""Searches that a model of cost leads: it learns from what was measured and says what to try next.

*model*: chains of annealing (:mod:`polygym.search.tune.annealing`) walk over schedules and mappings
to where the model expects speed; of all that they have seen a good and diverse part is measured
(:mod:`polygym.search.tune.diversity`), in turn with the most promising of what is a step or two
away from the best so far, and one in twenty is by dice alone. Moves change an entry of the mapping,
or take another schedule: one of isl's, an edit of one of the best so far, which is legal
(:mod:`polygym.search.tune.edits`), or one that a policy has played. Whenever the model has learned,
the most promising of some that were played is measured, even if there are more promising candidates
(:mod:`polygym.search.tune.plays`). Half of what the chains lead to is code that there is already,
under another mapping; that is not measured again.

*filter*: 32 times as many candidates by dice as are wanted, of which the model's first are
measured; here too one in twenty is by dice alone.

The model is the sum of two (AutoTVM, equation 4): one that has learned from other programs, if
there is one, and the correction that this program's measurements ask for. Before there are enough
of these the other one leads alone; where it has learned on another kind of machine dice decide half
of what is measured, and where there is no other one all of it. All of it follows from the seed and
from what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from polygym.cost.correction import Correction, expected
from polygym.cost.model import Acquisition, Model, Samples, acquired
from polygym.search.explore.neighbourhood import changed, place_of_parent
from polygym.search.tune.annealing import CHAINS, Chains
from polygym.search.tune.candidates import Candidate, Edited, Genes
from polygym.search.tune.dice import Random
from polygym.search.tune.diversity import diverse
from polygym.search.tune.learning import USUAL, Learning
from polygym.search.tune.looked_at import LookedAt, together
from polygym.search.tune.plays import Plays

# Fewer measurements than these say nothing; after so many new ones the model learns again.
_ENOUGH, _NEW = 12, 12
_STEPS = 6
_DICE = 0.05
_DICE_ELSEWHERE = 0.5  # before what another machine teaches is corrected
_OF_MAPPING = 0.85
_STEPS_NEAR = 2
_EDITS = 2  # new schedules before each run of the chains, while they are not too many
_MOST_EDITS = 40
_MAPPINGS = 3  # of the best, under which what was played is looked at
_PER_CHOSEN = 32
_AMONG = 64  # candidates for a place in the batch


class ByModel(Random):
    """Annealing on a model that learns as it goes."""

    def __init__(
        self,
        genes: Genes,
        seeds: Sequence[Candidate],
        dice: np.random.Generator,
        looked_at: LookedAt,
        other: Model | None = None,
        is_of_here: bool = True,
        learning: Learning = USUAL,
    ) -> None:
        """Begin with the seeds; ``other`` has learned from other programs.

        ``is_of_here`` says that it did so on a machine like this one, ``learning`` what is learned
        here.
        """
        super().__init__(genes, seeds, dice)
        self._looked_at = looked_at
        self._other = other
        self._is_of_here = is_of_here
        self._model: Correction | None = None
        self._learning = learning
        self._best_score = 0.0
        self._learned_from = 0
        self._chains: Chains | None = None
        self._edits = 0
        self._plays: Plays | None = None
        self._played_at = 0

    def generation(self, count: int) -> list[Candidate]:
        """Return the seeds, then what the model expects to be fast."""
        ready: list[Candidate] = []
        wanted = count - len(self._seeds)
        if wanted > 0 and (self._other is not None or self._has_enough):
            self._learn_again()
            ready = [one for one in self._expected(wanted) if one not in self._seeds]
        share = _DICE if self._is_of_here or self._model is not None else _DICE_ELSEWHERE
        return self._filled(
            count,
            lambda: (
                ready.pop(0)
                if ready and self.dice.random() >= share
                else self.genes.random(self.dice)
            ),
        )

    @property
    def _has_enough(self) -> bool:
        return sum(speedup > 0 for speedup in self.found.values()) >= _ENOUGH

    def _learn_again(self) -> None:
        """Fit the correction to what was measured, if much of it is new."""
        if not self._has_enough or len(self.found) - self._learned_from < _NEW:
            return
        self._learned_from = len(self.found)
        worst = min(speedup for speedup in self.found.values() if speedup > 0)
        looks, seconds = [], []
        for look, speedup in zip(
            self._looked_at.looks(list(self.found)), self.found.values(), strict=True
        ):
            if look is not None:
                looks.append(look)
                # What failed is slower than all that did not.
                seconds.append(1.0 / speedup if speedup > 0 else 2.0 / worst)
        if len(looks) < _ENOUGH:
            return
        vectors, loops = together(looks)
        cases = np.zeros(len(looks), dtype=np.int64)
        samples = Samples(vectors, np.array(seconds), cases, loops)
        self._model = self._learning.corrected(samples, self._other)
        # On the model's own scale, which for a model of ranks is no other's.
        self._best_score = float(self._model.scores(vectors, loops).mean(axis=0).max())

    def _score(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return how fast candidates are expected to be; -inf where there are no features.

        Once the search is over nobody wants them, and no more are looked at.
        """
        looks = self._looked_at.looks(candidates, self.is_over)
        found = np.full(len(looks), -np.inf)
        known = [place for place, look in enumerate(looks) if look is not None]
        if not known:
            return found
        rows = together([look for look in looks if look is not None])
        if self._model is not None:
            scores = self._model.scores(*rows)
            # Where no members may differ there is no doubt to be taken into account.
            kind = self._learning.acquisition if len(scores) > 1 else Acquisition.MEAN
            found[known] = acquired(scores, kind, self._best_score)
        else:
            found[known] = 0.0 if self._other is None else expected(self._other, *rows)
        return found

    def _expected(self, count: int) -> list[Candidate]:
        """Return new candidates, the most promising and most diverse ones first."""
        self._edit()
        first = self._play()
        if self._chains is None:
            begin = [self.genes.random(self.dice) for _ in range(CHAINS // 2)]
            usual = [Candidate(self.genes.strategies[0], self.genes.start)]
            good = self._best() or self._seeds[:CHAINS] or usual
            begin += [good[place % len(good)] for place in range(CHAINS - len(begin))]
            self._chains = Chains(begin, self.dice)
        seen = self._chains.run(_STEPS, self._neighbour, self._score, self.is_over)
        near = self._near()
        fresh = self._different(near | seen)
        parts = (
            {one: score for one, score in fresh.items() if (one in near) is is_near}
            for is_near in (True, False)
        )
        pairs = zip_longest(*(self._chosen(part, count) for part in parts))
        return [*first, *(one for pair in pairs for one in pair if one is not None)]

    def _near(self) -> dict[Candidate, float]:
        """Return the scores of what is a step or two away from the best that were measured.

        Of candidates that differ in one entry a model knows better which is faster than of any two.
        """
        best = self._best()
        near = [best[place_of_parent(len(best), self.dice)] for _ in range(CHAINS if best else 0)]
        for _ in range(_STEPS_NEAR):
            near += [self._neighbour(one) for one in near[-CHAINS:]]
        return dict(zip(near, map(float, self._score(near)), strict=True))

    def _different(self, scores: Dictionary[Candidate, float]) -> dict[Candidate, float]:
        """Return those whose code is none that was measured, one of each."""
        known = {look.code for look in self._looked_at.looks(list(self.found)) if look is not None}
        found: dict[Candidate, float] = {}
        for one, look in zip(scores, self._looked_at.looks(list(scores)), strict=True):
            if look is not None and np.isfinite(scores[one]) and look.code not in known:
                known.add(look.code)
                found[one] = scores[one]
        return found

    def _chosen(self, fresh: Dictionary[Candidate, float], count: int) -> list[Candidate]:
        if not fresh:
            return []
        ranked = sorted(fresh, key=lambda one: -fresh[one])[: _AMONG * count]
        spread = float(np.std([fresh[one] for one in ranked])) or 1.0
        scores = {one: fresh[one] / spread for one in ranked}
        entries = {one: tuple(self.genes.values(one).values()) for one in ranked}
        return diverse(scores, entries, count, self._learning.worth_of_entry(len(self.found)))

    def _best(self) -> list[Candidate]:
        ranked = sorted(self.found, key=lambda one: -self.found[one])
        return [one for one in ranked if self.found[one] > 0][:8]

    def _neighbour(self, candidate: Candidate) -> Candidate:
        if self.dice.random() < _OF_MAPPING:
            return Candidate(candidate.strategy, changed(candidate.mapping, self.dice))
        ways = self._looked_at.ways
        return Candidate(ways[int(self.dice.integers(len(ways)))], candidate.mapping)

    def _edit(self) -> None:
        """Add legal changes of the best schedules to those that there are."""
        best = self._best()
        for _ in range(_EDITS if best and self._edits < _MOST_EDITS else 0):
            parent = best[place_of_parent(len(best), self.dice)]
            if self._looked_at.edit(parent.strategy, Edited(self._edits), self.dice):
                self._edits += 1

    def _play(self) -> list[Candidate]:
        """Return the most promising of some schedules that policies play, now and then.

        It is looked at under the mapping with which the search began, and under those of the best.
        """
        if len(self.found) - self._played_at < _NEW:
            return []
        self._played_at = len(self.found)
        if self._plays is None:
            self._plays = Plays(self._looked_at.scop, self.dice)
        some = self._plays.some(self._looked_at.is_new, self.is_over)
        for schedule, way in some.items():
            self._looked_at.consider(way, schedule)
        tried = [next(iter(self.found)), *self._best()[:_MAPPINGS]]
        mappings = dict.fromkeys(one.mapping for one in tried)
        seen = [Candidate(way, mapping) for mapping in mappings for way in some.values()]
        scores = self._score(seen)
        best = [seen[int(scores.argmax())]] if np.isfinite(scores).any() else []
        self._looked_at.decide({one.strategy for one in best})
        return best


class Filtered(ByModel):
    """Dice alone, of whose many proposals the model lets the best through."""

    def _expected(self, count: int) -> list[Candidate]:
        proposed = [self.genes.random(self.dice) for _ in range(_PER_CHOSEN * count)]
        scores = self._score(proposed)
        fresh = self._different(dict(zip(proposed, map(float, scores), strict=True)))
        return sorted(fresh, key=lambda one: -fresh[one])[:count]
