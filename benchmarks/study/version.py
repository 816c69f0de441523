"""Which search it was: a word that is another one when what decides candidates is another.

A study takes days, in which polygym may change, and the model that comes with it. What was searched
by different versions may stand in one table, but not without a word.
"""

from __future__ import annotations

from functools import cache

from polygym.cost.shipped import digest
from polygym.sources import fingerprint_of


@cache
def version() -> str:
    """Return the version of what chooses candidates, and measures them, and of the model."""
    own = fingerprint_of(("search/tune", "search/explore", "cost", "measure"))
    return f"{own}-{digest()}"
