"""Which model is asked: the one that comes with polygym, or the one of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from polygym.cost import shipped
from polygym.cost.model import Model
from polygym.cost.saved import digest_of, load_model
from polygym.cost.shipped import Where
from polygym.errors import InputError


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model's file; the model that comes with polygym where none is named.

    What the file holds is looked at here, since it may hold another model later. ``where`` is the
    machine that the model that comes with polygym is for, None for this one.

    Raises:
        InputError: there is no such file.
    """

    file: str = ""
    of_file: str = field(init=False)
    where: Where | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Look at what the file holds."""
        object.__setattr__(self, "of_file", self._found())

    @property
    def digest(self) -> str:
        """A word that is another one for another model; empty in a package without one."""
        return self.of_file or shipped.digest(self.where)

    def loaded(self) -> Model | None:
        """Return the model; None where polygym comes without one.

        Raises:
            InputError: the file holds none, or another one by now, or what reads it is missing.
        """
        found = load_model(Path(self.file)) if self.file else shipped.shipped(self.where)
        if self._found() != self.of_file:
            raise InputError(f"{self.file}: expected the model of the beginning, found another")
        return found

    def expected(self) -> Model:
        """Return the model.

        Raises:
            InputError: there is none, or what reads it is missing.
        """
        if not self.file:
            shipped.expect_path(self.where)
        found = self.loaded()
        assert found is not None
        return found

    def _found(self) -> str:
        """Return which model the file holds; empty where none is named."""
        if not self.file:
            return ""
        try:
            return digest_of(Path(self.file))
        except OSError as error:
            raise InputError(f"{self.file}: expected a model, found: {error}") from None


SHIPPED = ChosenModel()
"""The model that comes with polygym."""
