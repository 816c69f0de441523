"""What the learned policy expects of schedules and mappings, and when it departs from a default.

Two networks of scores (:mod:`polygym.episodes.learned_weights`) are asked, one about a schedule's
rows, one about the planned loops of a schedule under a mapping. With member k's scores s_k(x) of
what may be chosen and s_k(d) of what there is, a network promises

    mean over k of (s_k(x) - s_k(d)), less ``caution`` times their deviation,

that is: by which power of two x is faster, on the safe side. Planned loops are looked at by boosted
trees as well (:mod:`polygym.cost.shipped`), which err elsewhere; of what both promise the *promise*
is √(a·b) where both are above 0, else the smaller one. The policy takes x only where that is more
than ``least``. Example, five members that say 0.5, 0.7, 0.6, 0.8 and 0.4: 0.6 in the mean with a
deviation of 0.14; with a caution of 1 the network promises 0.46, a third faster at least. If trees
promise 0.26, it is 0.35; if they promise -0.1, it is that.

What is worked out of a task is remembered with it: features of a schedule take tens of
milliseconds, of another mapping about one, and of rows alone two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.candidate import Candidates
from polygym.cost.ground import Ground
from polygym.cost.nests import Floats
from polygym.cost.rows import row_features
from polygym.cost.walked_trees import WalkedTrees
from polygym.episodes.automatic import promise_of
from polygym.episodes.episode import Task
from polygym.episodes.learned_weights import Weights
from polygym.errors import PolygymError
from polygym.lru import Memory
from polygym.pickles import pickled_by_name

_MOST_SCORES = 20_000


@pickled_by_name
@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What is thought of something: a score of every member of a network, and one of trees."""

    members: Floats
    trees: float | None = None


def ahead(found: Scores | None, now: Scores | None, caution: float) -> float:
    """Return the promise of something beside what there is now; -inf where nothing is known."""
    if found is None or now is None:
        return -inf
    apart = found.members - now.members
    promised = float(apart.mean() - caution * apart.std())
    if found.trees is None or now.trees is None:
        return promised
    return promise_of(promised, found.trees - now.trees)


@dataclass(eq=False, slots=True)
class Promise:
    """What is expected of a program's schedules and mappings, as weights and trees have it."""

    task: Task
    weights: Weights
    trees: WalkedTrees | None = None
    _rows: Memory[Schedule, Scores | None] = field(default_factory=lambda: Memory(4096))
    _candidates: Memory[Schedule, Candidates | None] = field(default_factory=lambda: Memory(16))
    _scores: dict[tuple[Schedule, Mapping], Scores | None] = field(default_factory=dict)

    def of_schedules(self, schedules: Sequence[Schedule]) -> list[Scores | None]:
        """Return the scores of schedules' rows; None where there are no features."""
        return [self._rows.get(one, partial(self._of_rows, one)) for one in schedules]

    def of_mappings(self, schedule: Schedule, mappings: Sequence[Mapping]) -> list[Scores | None]:
        """Return the scores of a schedule under mappings, which are looked at at once."""
        if len(self._scores) > _MOST_SCORES:
            self._scores.clear()
        new = [one for one in dict.fromkeys(mappings) if (schedule, one) not in self._scores]
        if new:
            for one, score in zip(new, self._of_loops(schedule, new), strict=True):
                self._scores[schedule, one] = score
        return [self._scores[schedule, one] for one in mappings]

    @property
    def _has_sizes(self) -> bool:
        """Whether the task says how large the program is; without that there are no features."""
        return {one.name for one in self.task.scop.parameters} <= set(self.task.sizes)

    def _of_rows(self, schedule: Schedule) -> Scores | None:
        if not self._has_sizes:
            return None
        try:
            ground = Ground.of(self.task.scop, self.task.sizes)
            vector = row_features(ground, schedule).vector
        except PolygymError:
            return None
        return Scores(self.weights.schedules.scores(vector[None])[:, 0])

    def _of_loops(self, schedule: Schedule, mappings: Sequence[Mapping]) -> list[Scores | None]:
        known = self._candidates.get(schedule, lambda: self._candidates_of(schedule))
        if known is None:
            return [None] * len(mappings)
        seen = known.features(mappings)
        there = [place for place, one in enumerate(seen) if not isinstance(one, PolygymError)]
        found: list[Scores | None] = [None] * len(mappings)
        if there:
            vectors = np.array([seen[place].vector for place in there])  # type: ignore[union-attr]
            members = self.weights.candidates.scores(vectors)
            trees = None if self.trees is None else self.trees.scores(vectors).mean(axis=0)
            for column, place in enumerate(there):
                found[place] = Scores(
                    members[:, column], None if trees is None else float(trees[column])
                )
        return found

    def _candidates_of(self, schedule: Schedule) -> Candidates | None:
        if not self._has_sizes:
            return None
        try:
            return Candidates(LegalSchedule(self.task.scop, schedule), self.task.sizes)
        except PolygymError:
            return None
