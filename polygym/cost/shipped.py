"""The models that come with the package, each of which has learned on machines of some kinds.

They are the files of the folder ``models``. On a machine like one of a model's that one is taken;
on another, one with a machine that has vectors as wide, and if there is none, the first by name.
The machine is this one, or another where candidates are measured elsewhere (:class:`Where`).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from polygym.compiler.codegen.common.machine import Machine, this_machine
from polygym.cost.model import Card
from polygym.cost.saved import digest_of
from polygym.cost.trees import TreeModel
from polygym.cost.walked_trees import WalkedTrees
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import Fingerprint, fingerprint
from polygym.pickles import pickled_by_name

FOLDER = Path(__file__).parent / "models"

_MACHINES = "machines"


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Where:
    """A kind of machine: its fingerprint, and for what loops are planned there."""

    fingerprint: Fingerprint
    machine: Machine


@cache
def here() -> Where:
    """Return this machine."""
    return Where(fingerprint(), this_machine())


@cache
def path(where: Where | None = None) -> Path | None:
    """Return the file of the model for a machine, this one if none is given.

    It is None in a package without any.
    """
    files = sorted(FOLDER.glob("*.model"))
    cards = [_card(file) for file in files]
    for is_fit in (is_of_this_machine, _has_these_vectors):
        for file, card in zip(files, cards, strict=True):
            if is_fit(card, where):
                return file
    return files[0] if files else None


@cache
def shipped(where: Where | None = None) -> TreeModel | None:
    """Return the model for a machine; None in a package without any."""
    found = path(where)
    return None if found is None else TreeModel.load(found)


@cache
def walked() -> WalkedTrees | None:
    """Return the same model, to be asked without LightGBM; None in a package without any."""
    found = path()
    return None if found is None else WalkedTrees.load(found)


def expect_path(where: Where | None = None) -> Path:
    """Return its file.

    Raises:
        InputError: the package has none.
    """
    found = path(where)
    if found is None:
        raise InputError("expected a model that comes with polygym, found none in this package")
    return found


@cache
def digest(where: Where | None = None) -> str:
    """Return a word that is another one for another model; empty in a package without one."""
    found = path(where)
    return "" if found is None else digest_of(found)


def learned_on(machines: Iterable[tuple[Fingerprint, Machine]]) -> dict[str, Any]:
    """Return what a card's notes have about the kinds of machines whose times a model has learned.

    Of each there is its fingerprint, and for what loops are planned there.
    """
    both = [
        {"fingerprint": asdict(fingerprint), "planned_for": asdict(machine)}
        for fingerprint, machine in machines
    ]
    return {_MACHINES: both}


def is_of_this_machine(card: Card, where: Where | None = None) -> bool:
    """Whether a model has learned from times of a machine like this one, or like another."""
    asked = (where or here()).fingerprint
    return any(
        asked.is_like(
            replace(asked, processor=str(one.get("processor")), features=str(one.get("features")))
        )
        for one in _noted(card, "fingerprint")
    )


def _has_these_vectors(card: Card, where: Where | None) -> bool:
    bits = (where or here()).machine.vector_bits
    return any(one.get("vector_bits") == bits for one in _noted(card, "planned_for"))


def _noted(card: Card, what: str) -> list[dict[str, Any]]:
    """Return what a card says of its machines; nothing where it does not say it."""
    machines = card.notes.get(_MACHINES)
    both = machines if isinstance(machines, list) else []
    found = [one.get(what) for one in both if isinstance(one, dict)]
    return [one for one in found if isinstance(one, dict)]


def _card(file: Path) -> Card:
    """Return what a file of this package says of its model.

    Raises:
        InputError: it is damaged.
    """
    try:
        document: Any = json.loads(gzip.decompress(file.read_bytes()))
        return Card.from_json(document["card"])
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise InputError(f"{file}: expected a model, found: {error}") from None
