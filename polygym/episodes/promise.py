"""What the learned policy expects of schedules and mappings, and when it departs from a default.

Two networks of scores (:mod:`polygym.episodes.learned_weights`) are asked, one about a schedule's
rows, one about the planned loops of a schedule under a mapping; at the loops boosted trees look as
well. The policy takes something only where what they promise together
(:mod:`polygym.episodes.opinions`) is more than ``least``.

What is worked out of a task is remembered with it: features of a schedule take tens of
milliseconds, of another mapping about one, and of rows alone two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.candidate import Candidates
from polygym.cost.ground import Ground
from polygym.cost.rows import row_features
from polygym.cost.walked_trees import WalkedTrees
from polygym.episodes.episode import Task
from polygym.episodes.learned_weights import Weights
from polygym.episodes.opinions import Scores, scores_of
from polygym.errors import PolygymError
from polygym.lru import Memory

_MOST_SCORES = 20_000


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
            scores = scores_of(vectors, self.weights.candidates, self.trees)
            for place, score in zip(there, scores, strict=True):
                found[place] = score
        return found

    def _candidates_of(self, schedule: Schedule) -> Candidates | None:
        if not self._has_sizes:
            return None
        try:
            return Candidates(LegalSchedule(self.task.scop, schedule), self.task.sizes)
        except PolygymError:
            return None
