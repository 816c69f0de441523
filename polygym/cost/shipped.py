"""The models that come with the package, each of which has learned on machines of one kind.

They are the files of the folder ``models``. On a machine like one of theirs that one is taken; on
another, the one whose machine has vectors as wide, and if there is none, the first by name.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from polygym.compiler.codegen.machine import this_machine
from polygym.cost.model import Card
from polygym.cost.saved import digest_of
from polygym.cost.trees import TreeModel
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import fingerprint

FOLDER = Path(__file__).parent / "models"

PLANNED_FOR = "planned_for"
"""What a card's notes have about the machine for which loops were planned."""


@cache
def path() -> Path | None:
    """Return the file of the model for this machine; None in a package without any."""
    files = sorted(FOLDER.glob("*.model"))
    cards = [_card(file) for file in files]
    for is_fit in (is_of_this_machine, _has_these_vectors):
        for file, card in zip(files, cards, strict=True):
            if is_fit(card):
                return file
    return files[0] if files else None


@cache
def shipped() -> TreeModel | None:
    """Return the model for this machine; None in a package without any."""
    found = path()
    return None if found is None else TreeModel.load(found)


def expect_shipped() -> TreeModel:
    """Return the model.

    Raises:
        InputError: the package has none, or what reads it is missing.
    """
    found = shipped()
    if found is None:
        raise InputError("expected a model that comes with polygym, found none in this package")
    return found


@cache
def digest() -> str:
    """Return a word that is another one for another model; empty in a package without one."""
    found = path()
    return "" if found is None else digest_of(found)


def is_of_this_machine(card: Card) -> bool:
    """Whether a model has learned from times of a machine like this one."""
    found = card.notes.get("fingerprint")
    if not isinstance(found, dict):
        return card.machine == fingerprint().key
    here = fingerprint()
    told = replace(here, processor=str(found.get("processor")), features=str(found.get("features")))
    return told.is_like(here)


def _has_these_vectors(card: Card) -> bool:
    found = card.notes.get(PLANNED_FOR)
    return isinstance(found, Mapping) and found.get("vector_bits") == this_machine().vector_bits


def _card(file: Path) -> Card:
    """Return what a file of this package says of its model."""
    document: Any = json.loads(gzip.decompress(file.read_bytes()))
    return Card.from_json(document["card"])
