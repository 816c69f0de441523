"""What leads a search that follows a model of cost: which model, and what it does with doubt."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from polygym.cost.model import Acquisition, Model
from polygym.cost.saved import digest_of, load_model
from polygym.cost.shipped import digest, is_of_this_machine, shipped
from polygym.errors import InputError
from polygym.search.tune.learning import Learning


@dataclass(frozen=True, slots=True)
class Guide:
    """A model's file, the one that comes with polygym if it is empty, and the acquisition.

    By anything but the mean, what a program's own measurements teach is learned by several models,
    each from a sample of them, and by how much these differ is how sure they are.
    """

    model: str = ""
    acquisition: Acquisition = Acquisition.MEAN
    of_file: str = field(init=False)

    def __post_init__(self) -> None:
        """Look at what the file holds, which may be another model later.

        Raises:
            InputError: there is no such file.
        """
        object.__setattr__(self, "of_file", self._found())

    def loaded(self) -> Model | None:
        """Return the model; None where polygym comes without one.

        Raises:
            InputError: the file holds none, or another one by now, or what reads it is missing.
        """
        found = load_model(Path(self.model)) if self.model else shipped()
        if self._found() != self.of_file:
            raise InputError(f"{self.model}: expected the model of the beginning, found another")
        return found

    @property
    def learning(self) -> Learning:
        """How a search learns from its own measurements."""
        return Learning(acquisition=self.acquisition)

    def is_of_here(self, model: Model | None) -> bool:
        """Whether there is a model, which has learned from times of a machine like this one."""
        return model is not None and is_of_this_machine(model.card)

    def to_json(self) -> dict[str, str]:
        """Return what decides what is tried: another model is another search."""
        return {"model": self.of_file or digest(), "acquisition": self.acquisition.value}

    def _found(self) -> str:
        """Return which model the file holds; empty where none is named."""
        if not self.model:
            return ""
        try:
            return digest_of(Path(self.model))
        except OSError as error:
            raise InputError(f"{self.model}: expected a model, found: {error}") from None


USUAL = Guide()
"""The model that comes with polygym, and what it expects."""
