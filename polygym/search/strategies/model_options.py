"""Options of a search that learns from its own measurements.

Its models are small, since a program has tens or hundreds of measurements, and are made again after
every few: trees in a tenth of a second, a TreeGRU in one or two.

Options of a model-guided search: the model, and the treatment of its uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from polygym.cost.models import cost_model
from polygym.cost.models.boosted_trees import BoostedTreeOptions
from polygym.cost.models.correction import Correction, train_correction
from polygym.cost.models.pretrained import PRETRAINED, ModelChoice, TargetMachine, matches_machine
from polygym.cost.models.tree_gru import TreeGRUOptions
from polygym.mapping.machine import Machine

_ENSEMBLE_SIZE = 5  # that differ where the model is not sure
_DIVERSITY_HALF_LIFE = 16


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """Which model learns, to what it is fitted, and by what candidates are chosen.

    ``diversity`` is what an entry of a mapping that no one else in the batch has is worth before
    anything is measured, in deviations of the scores
    (:func:`~polygym.search.strategies.model_annealing.select_diverse`). With measurements it is
    worth less and less: what a model does not know it can learn from others at first, and later
    from candidates that it trusts.
    """

    kind: cost_model.ModelKind = cost_model.ModelKind.TREES
    objective: cost_model.Objective = cost_model.Objective.RANK
    acquisition: cost_model.Acquisition = cost_model.Acquisition.MEAN
    diversity: float = 1.0

    def wants_loops(self, prior: cost_model.CostModel | None) -> bool:
        """Whether what it learns, or what is there already, looks at candidates' loops."""
        return self.kind is cost_model.ModelKind.TREE_GRU or (
            prior is not None and prior.wants_loops
        )

    def diversity_weight(self, measured: int) -> float:
        """Return what a new entry is worth after so many measurements: after 48 a quarter."""
        return self.diversity * _DIVERSITY_HALF_LIFE / (_DIVERSITY_HALF_LIFE + measured)

    def fit_correction(
        self, samples: cost_model.TrainingSamples, prior: cost_model.CostModel | None
    ) -> Correction:
        """Return another model, if there is one, with what the samples of one program add."""
        return train_correction(samples, prior, self._make_learner)

    @property
    def _make_learner(self) -> BoostedTreeOptions | TreeGRUOptions:
        # Without doubt to be taken into account one model is enough.
        members = 1 if self.acquisition is cost_model.Acquisition.MEAN else _ENSEMBLE_SIZE
        match self.kind:
            case cost_model.ModelKind.TREES:
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
            case cost_model.ModelKind.TREE_GRU:
                # One case is one batch, so an epoch is a step.
                return TreeGRUOptions(
                    self.objective, epochs=120, cases_per_batch=1, members=members
                )
            case _:
                assert_never(self.kind)


DEFAULT_LEARNING = LearningOptions()
"""Trees that put pairs in order, the mean of their scores, and diverse batches at first."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model, the acquisition, and where candidates are measured: None for this machine.

    By anything but the mean, what a program's own measurements teach is learned by several models,
    each from a sample of them, and by how much these differ is how sure they are.
    """

    model: ModelChoice = PRETRAINED
    acquisition: cost_model.Acquisition = cost_model.Acquisition.MEAN
    kind: cost_model.ModelKind = cost_model.ModelKind.TREES

    @property
    def learning(self) -> LearningOptions:
        """How a search learns from its own measurements."""
        return LearningOptions(self.kind, acquisition=self.acquisition)

    @property
    def where(self) -> TargetMachine | None:
        """The machine that candidates are measured on, None for this one."""
        return self.model.target

    @property
    def machine(self) -> Machine | None:
        """For what loops are planned there."""
        return None if self.where is None else self.where.machine

    def on_machine(self, where: TargetMachine) -> ModelOptions:
        """Return the same for candidates that are measured on a machine of another kind."""
        return replace(self, model=replace(self.model, target=where))

    def is_local(self, model: cost_model.CostModel | None) -> bool:
        """Whether there is a model that has learned on a machine like the one that measures."""
        return model is not None and matches_machine(model.card, self.where)


DEFAULT_MODEL_OPTIONS = ModelOptions()
"""The model that comes with polygym, and what it expects."""
