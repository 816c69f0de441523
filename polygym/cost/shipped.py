"""The model that comes with the package, which has learned from the corpus of one machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from polygym.cost.trees import TreeModel

PATH = Path(__file__).parent / "trees.model"


@cache
def shipped() -> TreeModel | None:
    """Return the model; None in a package without one."""
    return TreeModel.load(PATH) if PATH.exists() else None
