"""The model that comes with the package, which has learned from the corpus of one machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from polygym.cost.model import Card
from polygym.cost.saved import digest_of
from polygym.cost.trees import TreeModel
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import fingerprint

PATH = Path(__file__).parent / "trees.model"


@cache
def shipped() -> TreeModel | None:
    """Return the model; None in a package without one."""
    return TreeModel.load(PATH) if PATH.exists() else None


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
    return digest_of(PATH) if PATH.exists() else ""


def is_of_this_machine(card: Card) -> bool:
    """Whether a model has learned from times of a machine like this one."""
    found = card.notes.get("fingerprint")
    if not isinstance(found, dict):
        return card.machine == fingerprint().key
    here = fingerprint()
    told = replace(here, processor=str(found.get("processor")), features=str(found.get("features")))
    return told.is_like(here)
