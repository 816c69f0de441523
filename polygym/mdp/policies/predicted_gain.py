"""Gain that the learned policy predicts of schedules and mappings, and its departure from defaults.

Two networks of scores (:mod:`polygym.autoschedule.weights`) are asked, one about a schedule's
rows, one about the planned loops of a schedule under a mapping; at the loops boosted trees look as
well. The policy takes something only where what they promise together
(:mod:`polygym.autoschedule.weights`) is more than ``least``.

What is worked out of a task is remembered with it: features of a schedule take tens of
milliseconds, of another mapping about one, and of rows alone two.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from polygym.autoschedule.weights import EnsembleScores, PolicyWeights, ensemble_scores
from polygym.cost.features.schedules.program_features import ProgramFeatures
from polygym.cost.features.schedules.schedule_vector import schedule_features
from polygym.cost.models.tree_inference import TreeInference
from polygym.errors import PolygymError
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import Mapping
from polygym.mdp.episode import Task
from polygym.mdp.extractors import extractor_of
from polygym.poly.schedule import Schedule

_MEMO_SIZE = 20_000


@dataclass(eq=False, slots=True)
class GainPredictor:
    """What is expected of a program's schedules and mappings, as weights and trees have it."""

    task: Task
    weights: PolicyWeights
    trees: TreeInference | None = None
    _row_scores: LruCache[Schedule, EnsembleScores | None] = field(
        default_factory=lambda: LruCache(4096)
    )
    _scores: dict[tuple[Schedule, Mapping], EnsembleScores | None] = field(default_factory=dict)

    def schedule_scores(self, schedules: Sequence[Schedule]) -> list[EnsembleScores | None]:
        """Return the scores of schedules' rows; None where there are no features."""
        find, compute = self._row_scores.get, self._compute_row_scores
        return [find(schedule, partial(compute, schedule)) for schedule in schedules]

    def mapping_scores(
        self, schedule: Schedule, mappings: Sequence[Mapping]
    ) -> list[EnsembleScores | None]:
        """Return the scores of a schedule under mappings, which are looked at at once."""
        if len(self._scores) > _MEMO_SIZE:
            self._scores.clear()
        known = self._scores
        new = [mapping for mapping in dict.fromkeys(mappings) if (schedule, mapping) not in known]
        if new:
            scores = self._compute_loop_scores(schedule, new)
            known.update(
                ((schedule, mapping), score) for mapping, score in zip(new, scores, strict=True)
            )
        return [self._scores[schedule, mapping] for mapping in mappings]

    @property
    def _has_sizes(self) -> bool:
        """Whether the task says how large the program is; without that there are no features."""
        return {parameter.name for parameter in self.task.scop.parameters} <= set(self.task.sizes)

    def _compute_row_scores(self, schedule: Schedule) -> EnsembleScores | None:
        if not self._has_sizes:
            return None
        try:
            ground = ProgramFeatures.of(self.task.scop, self.task.sizes)
            vector = schedule_features(ground, schedule).vector
        except PolygymError:
            return None
        return EnsembleScores(self.weights.schedule_network.scores(vector[None])[:, 0])

    def _compute_loop_scores(
        self, schedule: Schedule, mappings: Sequence[Mapping]
    ) -> list[EnsembleScores | None]:
        if not self._has_sizes:
            return [None] * len(mappings)
        extractor = extractor_of(self.task, schedule)
        if isinstance(extractor, PolygymError):
            return [None] * len(mappings)
        seen = extractor.features(mappings)
        there = [place for place, entry in enumerate(seen) if not isinstance(entry, PolygymError)]
        result: list[EnsembleScores | None] = [None] * len(mappings)
        if there:
            vectors = np.array([seen[place].vector for place in there])  # type: ignore[union-attr]
            scores = ensemble_scores(vectors, self.weights.candidate_network, self.trees)
            for place, score in zip(there, scores, strict=True):
                result[place] = score
        return result
