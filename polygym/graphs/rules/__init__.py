"""Rules of tensor graphs: tables in the package, and those that users add.

``tables`` are the texts: ``handwritten.rules`` and ``generated.rules``.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

from polygym.graphs.domain import TENSORS
from polygym.rewrite.rule import Rule, check_words, parse_rules

__all__ = ["load", "standard"]


def load(names: Iterable[str]) -> list[Rule]:
    """Return the rules of tables in the package."""
    found: list[Rule] = []
    for name in names:
        file = resources.files(__name__) / "tables" / f"{name}.rules"
        found += parse_rules(file.read_text(encoding="utf-8"), f"{name}.rules")
    check_words(found, TENSORS)
    return found


def standard() -> list[Rule]:
    """Return the rules that optimisation uses unless others are named."""
    return load(["handwritten"])
