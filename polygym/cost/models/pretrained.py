"""The models that come with the package, each of which has learned on machines of some kinds.

They are the files of the folder ``models``. On a machine like one of a model's that one is taken;
on another, one with a machine that has vectors as wide, and if there is none, the first by name.
The machine is this one, or another where candidates are measured elsewhere
(:class:`TargetMachine`).

Models in files: which kind a file has is told by how it begins.

Trees are packed by gzip; a tree-gru is NumPy's archive, which is a zip file.

Choice of the model to ask: the one that comes with polygym, or the one of a file.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from polygym.cost.models.boosted_trees import BoostedTrees
from polygym.cost.models.cost_model import CostModel, ModelCard
from polygym.cost.models.tree_gru import TreeGRU
from polygym.cost.models.tree_inference import TreeInference
from polygym.errors import InputError
from polygym.mapping.machine import Machine, this_machine
from polygym.pickling import pickle_by_name
from polygym.runtime.evaluation.fingerprint import MachineFingerprint, machine_fingerprint

_GZIP, _ZIP = b"\x1f\x8b", b"PK"


def model_file_digest(path: Path) -> str:
    """Return a word that is another one for another model.

    Raises:
        OSError: the file cannot be read.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def load_model(path: Path) -> BoostedTrees | TreeGRU:
    """Read a model of any kind.

    Raises:
        InputError: the file is no model, one of another version of features, or what its kind
            needs is not installed.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(2)
    except OSError as error:
        raise InputError(f"{path}: expected a model, found: {error}") from None
    if begin == _GZIP:
        return BoostedTrees.load(path)
    if begin == _ZIP:
        return TreeGRU.load(path)
    raise InputError(f"{path}: expected a model of trees or a tree-gru, found neither")


DATA_FOLDER = Path(__file__).parents[1] / "data"

REWARD_MODEL_FILE = DATA_FOLDER / "rewards" / "rewards.model"
"""Trees of speedups over the original order, which reward episodes; made for all machines."""

_MACHINES_KEY = "machines"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TargetMachine:
    """A kind of machine: its fingerprint, and for what loops are planned there."""

    fingerprint: MachineFingerprint
    machine: Machine


@cache
def local_machine() -> TargetMachine:
    """Return this machine."""
    return TargetMachine(machine_fingerprint(), this_machine())


@cache
def model_path(target: TargetMachine | None = None) -> Path | None:
    """Return the file of the model for a machine, this one if none is given.

    It is None in a package without any.
    """
    files = sorted(DATA_FOLDER.glob("*.model"))
    cards = [_read_card(file) for file in files]
    for is_fit in (matches_machine, _matches_vector_width):
        for file, card in zip(files, cards, strict=True):
            if is_fit(card, target):
                return file
    return files[0] if files else None


@cache
def pretrained_model(target: TargetMachine | None = None) -> BoostedTrees | None:
    """Return the model for a machine; None in a package without any."""
    path = model_path(target)
    return None if path is None else BoostedTrees.load(path)


@cache
def pretrained_inference() -> TreeInference | None:
    """Return the same model, to be asked without LightGBM; None in a package without any."""
    path = model_path()
    return None if path is None else TreeInference.load(path)


@cache
def reward_model() -> BoostedTrees:
    """Return the trees of speedups that come with polygym.

    Raises:
        InputError: the package has none, or what reads them is missing.
    """
    if not REWARD_MODEL_FILE.exists():
        raise InputError(f"{REWARD_MODEL_FILE}: expected the model that rewards, found no file")
    return BoostedTrees.load(REWARD_MODEL_FILE)


def expect_model_path(target: TargetMachine | None = None) -> Path:
    """Return its file.

    Raises:
        InputError: the package has none.
    """
    path = model_path(target)
    if path is None:
        raise InputError("expected a model that comes with polygym, found none in this package")
    return path


@cache
def pretrained_digest(target: TargetMachine | None = None) -> str:
    """Return a word that is another one for another model; empty in a package without one."""
    path = model_path(target)
    return "" if path is None else model_file_digest(path)


def training_machines(machines: Iterable[tuple[MachineFingerprint, Machine]]) -> dict[str, Any]:
    """Return what a card's notes have about the kinds of machines whose times a model has learned.

    Of each there is its fingerprint, and for what loops are planned there.
    """
    both = [
        {"fingerprint": asdict(fingerprint), "planned_for": asdict(machine)}
        for fingerprint, machine in machines
    ]
    return {_MACHINES_KEY: both}


def matches_machine(card: ModelCard, target: TargetMachine | None = None) -> bool:
    """Whether a model has learned from times of a machine like this one, or like another."""
    asked = (target or local_machine()).fingerprint
    return any(
        asked.is_like(
            replace(asked, processor=str(note.get("processor")), features=str(note.get("features")))
        )
        for note in _machine_notes(card, "fingerprint")
    )


def _matches_vector_width(card: ModelCard, target: TargetMachine | None) -> bool:
    bits = (target or local_machine()).machine.vector_bits
    return any(note.get("vector_bits") == bits for note in _machine_notes(card, "planned_for"))


def _machine_notes(card: ModelCard, key: str) -> list[dict[str, Any]]:
    """Return what a card says of its machines; nothing where it does not say it."""
    machines = card.notes.get(_MACHINES_KEY)
    both = machines if isinstance(machines, list) else []
    result = [machine.get(key) for machine in both if isinstance(machine, dict)]
    return [note for note in result if isinstance(note, dict)]


def _read_card(file: Path) -> ModelCard:
    """Return what a file of this package says of its model.

    Raises:
        InputError: it is damaged.
    """
    try:
        document: Any = json.loads(gzip.decompress(file.read_bytes()))
        return ModelCard.from_json(document["card"])
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise InputError(f"{file}: expected a model, found: {error}") from None


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
        return self.file_digest or pretrained_digest(self.target)

    def load(self) -> CostModel | None:
        """Return the model; None where polygym comes without one.

        Raises:
            InputError: the file holds none, or another one by now, or what reads it is missing.
        """
        result = load_model(Path(self.file)) if self.file else pretrained_model(self.target)
        if self._compute_digest() != self.file_digest:
            raise InputError(f"{self.file}: expected the model of the beginning, found another")
        return result

    def expect_model(self) -> CostModel:
        """Return the model.

        Raises:
            InputError: there is none, or what reads it is missing.
        """
        if not self.file:
            expect_model_path(self.target)
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
