"""Version of a search: it changes when the code that chooses candidates changes.

A study takes days, in which polygym may change, and the model that comes with it. What was searched
by different versions may stand in one table, but not silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from polygym.cost.models.pretrained import pretrained_digest
from polygym.source_fingerprint import source_fingerprint


@cache
def search_version() -> str:
    """Return the version of what chooses candidates, and measures them, and of the model."""
    own = source_fingerprint(
        ("search/strategies", "search/runner/local.py", "search/loop.py", "cost", "runtime")
    )
    return f"{own}-{pretrained_digest()}"


@cache
def code_version() -> str:
    """Return the version of what makes code as well: what a row of times is of."""
    own = source_fingerprint(
        ("autoschedule", "codegen", "foreign", "frontend", "ir", "mapping", "mdp", "poly", "tc")
    )
    return f"{own}-{search_version()}"


def versions_note(versions: Iterable[str]) -> str:
    """Return a line that says that rows are of several versions; nothing if they are of one.

    >>> versions_note(["a", "b", ""]).strip()
    'Rows of 3 versions of polygym, one of them not known.'
    >>> versions_note(["a", "a"])
    ''
    """
    different = set(versions)
    if len(different) < 2:
        return ""
    unknown = ", one of them not known" if "" in different else ""
    return f"\n\nRows of {len(different)} versions of polygym{unknown}."
