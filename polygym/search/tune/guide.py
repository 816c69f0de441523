"""What leads a search that follows a model of cost: which model, and what it does with doubt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.machine import Machine
from polygym.cost.chosen import SHIPPED, ChosenModel
from polygym.cost.model import Acquisition, Model
from polygym.cost.shipped import Where, is_of_this_machine
from polygym.search.tune.learning import Learning


@dataclass(frozen=True, slots=True)
class Guide:
    """A model, the acquisition, and where candidates are measured: None for this machine.

    By anything but the mean, what a program's own measurements teach is learned by several models,
    each from a sample of them, and by how much these differ is how sure they are.
    """

    model: ChosenModel = SHIPPED
    acquisition: Acquisition = Acquisition.MEAN

    @property
    def learning(self) -> Learning:
        """How a search learns from its own measurements."""
        return Learning(acquisition=self.acquisition)

    @property
    def where(self) -> Where | None:
        """The machine that candidates are measured on, None for this one."""
        return self.model.where

    @property
    def machine(self) -> Machine | None:
        """For what loops are planned there."""
        return None if self.where is None else self.where.machine

    def elsewhere(self, where: Where) -> Guide:
        """Return the same for candidates that are measured on a machine of another kind."""
        return replace(self, model=replace(self.model, where=where))

    def is_of_here(self, model: Model | None) -> bool:
        """Whether there is a model that has learned on a machine like the one that measures."""
        return model is not None and is_of_this_machine(model.card, self.where)

    def to_json(self) -> dict[str, str]:
        """Return what decides what is tried: another model is another search."""
        return {"model": self.model.digest, "acquisition": self.acquisition.value}


USUAL = Guide()
"""The model that comes with polygym, and what it expects."""
