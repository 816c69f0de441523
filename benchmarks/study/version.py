"""Which search it was: a word that is another one when what decides candidates is another.

A study takes days, in which polygym may change, and the model that comes with it. What was searched
by different versions may stand in one table, but not without a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from polygym.cost.shipped import digest
from polygym.sources import fingerprint_of


@cache
def version() -> str:
    """Return the version of what chooses candidates, and measures them, and of the model."""
    own = fingerprint_of(("search/tune", "search/explore", "cost", "measure"))
    return f"{own}-{digest()}"


@cache
def version_of_code() -> str:
    """Return the version of what makes code as well: what a row of times is of."""
    own = fingerprint_of(("compiler", "episodes", "native", "tc"))
    return f"{own}-{version()}"


def said(versions: Iterable[str]) -> str:
    """Return a line that says that rows are of several versions; nothing if they are of one.

    >>> said(["a", "b", ""]).strip()
    'Rows of 3 versions of polygym, one of them not known.'
    >>> said(["a", "a"])
    ''
    """
    different = set(versions)
    if len(different) < 2:
        return ""
    unknown = ", one of them not known" if "" in different else ""
    return f"\n\nRows of {len(different)} versions of polygym{unknown}."
