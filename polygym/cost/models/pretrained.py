"""The models that come with the package, each of which has learned on machines of some kinds.

They are the files of the folder ``models``. On a machine like one of a model's that one is taken;
on another, one with a machine that has vectors as wide, and if there is none, the first by name.
The machine is this one, or another where candidates are measured elsewhere
(:class:`TargetMachine`).
"""

import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from polygym.cost.models.boosted_trees import BoostedTrees
from polygym.cost.models.cost_model import ModelCard
from polygym.cost.models.model_files import model_file_digest
from polygym.cost.models.tree_inference import TreeInference
from polygym.errors import InputError
from polygym.mapping.machine import Machine, this_machine
from polygym.pickling import pickle_by_name
from polygym.runtime.evaluation.fingerprint import MachineFingerprint, machine_fingerprint

DATA_FOLDER = Path(__file__).parents[1] / "data"

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
    result = [one.get(key) for one in both if isinstance(one, dict)]
    return [one for one in result if isinstance(one, dict)]


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
