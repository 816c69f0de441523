"""Names of foreign files, made safe: for texts of graphs, for ``name@shape``, and all different.

A name keeps its letters, digits and ``_ . : / -``; every other character becomes ``_``.
"""

import re

_UNSAFE = re.compile(r"[^A-Za-z0-9_.:/-]")


class SafeNames:
    """Hands out names, none of them twice.

    >>> names = SafeNames()
    >>> names.unique("a b@3"), names.unique("a_b@3"), names.unique("")
    ('a_b_3', 'a_b_3_2', 'unnamed')
    """

    def __init__(self) -> None:
        """Begin with none taken."""
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, preferred: str) -> str:
        """Return a safe name, as near to what is wished for as is free."""
        safe = _UNSAFE.sub("_", preferred) or "unnamed"
        name, number = safe, self._next.get(safe, 2)
        while name in self._taken:
            name, number = f"{safe}_{number}", number + 1
        self._next[safe] = number
        self._taken.add(name)
        return name
