"""Navigation: entries that end in ``/`` get their pages, generated ones and results by date."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

REFERENCE_INDEX = "reference/index.md"
RESULT_INDEX = "results/index.md"
GENERATED_INDEXES = (REFERENCE_INDEX, "changelog.md", "contributing.md")
"""Addresses of pages that stand in no folder, beside those of the reference."""

Entry: TypeAlias = Any
"""An entry of the navigation: an address, or a mapping from a title to an address or a list."""

_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})-.*\.md")


def filled(nav: Sequence[Entry], folders: Mapping[str, Sequence[Entry]]) -> list[Entry]:
    """Return a navigation in which folders stand for their pages.

    >>> filled([{"Home": "index.md"}, {"Results": "results/"}], {"results/": ["results/a.md"]})
    [{'Home': 'index.md'}, {'Results': ['results/a.md']}]
    """
    result: list[Entry] = []
    for entry in nav:
        if isinstance(entry, dict):
            title, value = next(iter(entry.items()))
            if isinstance(value, list):
                result.append({title: filled(value, folders)})
            else:
                result.append({title: list(folders[value]) if value in folders else value})
        else:
            result.append(entry)
    return result


def result_pages(docs: Path) -> list[str]:
    """Return the addresses of pages of results, the newest first."""
    paths = [path for path in (docs / "results").glob("*.md") if _DATED.fullmatch(path.name)]
    return [f"results/{path.name}" for path in sorted(paths, reverse=True)]
