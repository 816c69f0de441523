"""Options of a search that learns from its own measurements.

Its models are small, since a program has tens or hundreds of measurements, and are made again after
every few: trees in a tenth of a second, a TreeGRU in one or two.
"""

from dataclasses import dataclass
from typing import assert_never

from polygym.cost.models.boosted_trees import BoostedTreeOptions
from polygym.cost.models.correction import Correction, train_correction
from polygym.cost.models.cost_model import (
    Acquisition,
    CostModel,
    ModelKind,
    Objective,
    TrainingSamples,
)
from polygym.cost.models.tree_gru import TreeGRUOptions

_ENSEMBLE_SIZE = 5  # that differ where the model is not sure
_DIVERSITY_HALF_LIFE = 16


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """Which model learns, to what it is fitted, and by what candidates are chosen.

    ``diversity`` is what an entry of a mapping that no one else in the batch has is worth before
    anything is measured, in deviations of the scores (:mod:`polygym.search.strategies.diversity`).
    With measurements it is worth less and less: what a model does not know it can learn from others
    at first, and later from candidates that it trusts.
    """

    kind: ModelKind = ModelKind.TREES
    objective: Objective = Objective.RANK
    acquisition: Acquisition = Acquisition.MEAN
    diversity: float = 1.0

    def wants_loops(self, prior: CostModel | None) -> bool:
        """Whether what it learns, or what is there already, looks at candidates' loops."""
        return self.kind is ModelKind.TREE_GRU or (prior is not None and prior.wants_loops)

    def diversity_weight(self, measured: int) -> float:
        """Return what a new entry is worth after so many measurements: after 48 a quarter."""
        return self.diversity * _DIVERSITY_HALF_LIFE / (_DIVERSITY_HALF_LIFE + measured)

    def fit_correction(self, samples: TrainingSamples, prior: CostModel | None) -> Correction:
        """Return another model, if there is one, with what the samples of one program add."""
        return train_correction(samples, prior, self._make_learner)

    @property
    def _make_learner(self) -> BoostedTreeOptions | TreeGRUOptions:
        # Without doubt to be taken into account one model is enough.
        members = 1 if self.acquisition is Acquisition.MEAN else _ENSEMBLE_SIZE
        match self.kind:
            case ModelKind.TREES:
                return BoostedTreeOptions(
                    self.objective,
                    rounds=80,
                    leaves=12,
                    learning_rate=0.1,
                    min_rows_per_leaf=4,
                    column_fraction=0.6,
                    members=members,
                    threads=1,
                    top_weight=1.0,
                    random_splits=True,
                )
            case ModelKind.TREE_GRU:
                # One case is one batch, so an epoch is a step.
                return TreeGRUOptions(
                    self.objective, epochs=120, cases_per_batch=1, members=members
                )
            case _:
                assert_never(self.kind)


DEFAULT_LEARNING = LearningOptions()
"""Trees that put pairs in order, the mean of their scores, and diverse batches at first."""
