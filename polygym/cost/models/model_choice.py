"""Choice of the model to ask: the one that comes with polygym, or the one of a file."""

from dataclasses import dataclass, field
from pathlib import Path

from polygym.cost.models import pretrained
from polygym.cost.models.cost_model import CostModel
from polygym.cost.models.model_files import load_model, model_file_digest
from polygym.cost.models.pretrained import TargetMachine
from polygym.errors import InputError


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model's file; the model that comes with polygym where none is named.

    What the file holds is looked at here, since it may hold another model later. ``target`` is the
    machine that the model that comes with polygym is for, None for this one.

    Raises:
        InputError: there is no such file.
    """

    file: str = ""
    file_digest: str = field(init=False)
    target: TargetMachine | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Look at what the file holds."""
        object.__setattr__(self, "file_digest", self._compute_digest())

    @property
    def digest(self) -> str:
        """A word that is another one for another model; empty in a package without one."""
        return self.file_digest or pretrained.pretrained_digest(self.target)

    def load(self) -> CostModel | None:
        """Return the model; None where polygym comes without one.

        Raises:
            InputError: the file holds none, or another one by now, or what reads it is missing.
        """
        result = (
            load_model(Path(self.file)) if self.file else pretrained.pretrained_model(self.target)
        )
        if self._compute_digest() != self.file_digest:
            raise InputError(f"{self.file}: expected the model of the beginning, found another")
        return result

    def expect_model(self) -> CostModel:
        """Return the model.

        Raises:
            InputError: there is none, or what reads it is missing.
        """
        if not self.file:
            pretrained.expect_model_path(self.target)
        cost_model = self.load()
        assert cost_model is not None
        return cost_model

    def _compute_digest(self) -> str:
        """Return which model the file holds; empty where none is named."""
        if not self.file:
            return ""
        try:
            return model_file_digest(Path(self.file))
        except OSError as error:
            raise InputError(f"{self.file}: expected a model, found: {error}") from None


PRETRAINED = ModelChoice()
"""The model that comes with polygym."""
