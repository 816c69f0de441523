"""What leads a search that follows a model of cost: which model, and what it does with doubt."""

from __future__ import annotations

from dataclasses import dataclass

from polygym.cost.chosen import SHIPPED, ChosenModel
from polygym.cost.model import Acquisition, Model
from polygym.cost.shipped import is_of_this_machine
from polygym.search.tune.learning import Learning


@dataclass(frozen=True, slots=True)
class Guide:
    """A model, and the acquisition.

    By anything but the mean, what a program's own measurements teach is learned by several models,
    each from a sample of them, and by how much these differ is how sure they are.
    """

    model: ChosenModel = SHIPPED
    acquisition: Acquisition = Acquisition.MEAN

    @property
    def learning(self) -> Learning:
        """How a search learns from its own measurements."""
        return Learning(acquisition=self.acquisition)

    def is_of_here(self, model: Model | None) -> bool:
        """Whether there is a model, which has learned from times of a machine like this one."""
        return model is not None and is_of_this_machine(model.card)

    def to_json(self) -> dict[str, str]:
        """Return what decides what is tried: another model is another search."""
        return {"model": self.model.digest, "acquisition": self.acquisition.value}


USUAL = Guide()
"""The model that comes with polygym, and what it expects."""
