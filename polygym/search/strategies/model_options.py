"""Options of a model-guided search: the model, and the treatment of its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.cost.models.cost_model import Acquisition, CostModel, ModelKind
from polygym.cost.models.pretrained import PRETRAINED, ModelChoice, TargetMachine, matches_machine
from polygym.mapping.machine import Machine
from polygym.search.strategies.learning_options import LearningOptions


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model, the acquisition, and where candidates are measured: None for this machine.

    By anything but the mean, what a program's own measurements teach is learned by several models,
    each from a sample of them, and by how much these differ is how sure they are.
    """

    model: ModelChoice = PRETRAINED
    acquisition: Acquisition = Acquisition.MEAN
    kind: ModelKind = ModelKind.TREES

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

    def is_local(self, model: CostModel | None) -> bool:
        """Whether there is a model that has learned on a machine like the one that measures."""
        return model is not None and matches_machine(model.card, self.where)


DEFAULT_MODEL_OPTIONS = ModelOptions()
"""The model that comes with polygym, and what it expects."""
