"""Selections: several patterns, each of which names something or, behind a ``!``, excludes it.

What is excluded is so wherever it stands: the order of the patterns decides the order of what is
chosen and nothing else. Patterns that all exclude leave the rest of ``all``. What patterns stand
for is the caller's matter: names of kernels, paths of files, comprehensions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

NOT, ALL = "!", "all"


def select_names(
    patterns: Iterable[str],
    expand: Callable[[str], Iterable[str]],
    identity: Callable[[str], Hashable] = lambda name: name,
) -> tuple[str, ...]:
    """Return the names for which the patterns stand, each once, without those that are excluded.

    ``expand`` returns the names of a pattern without its ``!``, and refuses one that names nothing,
    so that a misspelt exclusion is not passed over. Names of one ``identity`` name the same thing.

    >>> numbers = {"all": ["one", "two", "three"], "odd": ["one", "three"]}
    >>> select_names(["!odd", "all"], lambda pattern: numbers[pattern])
    ('two',)
    >>> select_names(["!odd"], lambda pattern: numbers[pattern])
    ('two',)
    """
    given = [pattern.strip() for pattern in patterns]
    named = [entry for entry in given if not entry.startswith(NOT)]
    excluded = {
        identity(name)
        for entry in given
        if entry.startswith(NOT)
        for name in expand(entry.removeprefix(NOT).strip())
    }
    if given and not named:
        named = [ALL]
    result: dict[Hashable, str] = {}
    for entry in named:
        for name in expand(entry):
            result.setdefault(identity(name), name)
    return tuple(name for key, name in result.items() if key not in excluded)
