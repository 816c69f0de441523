"""Folders of headers that no flag names, found in the project of the file.

``#include "fft/plan.h"`` of a file without a compile command means a header that some flag of the
build would find. Where exactly one folder of the project makes it so, or one is nearer to the file
than all others, that one is meant::

    project/src/a.c            includes "fft/plan.h"
    project/include/fft/plan.h    →  -I project/include
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

_MOST_FILES = 200_000
_SUFFIXES = (".h", ".c", ".inc", ".def", ".data")


def folder_of_header(name: str, root: str, file: str) -> str | None:
    """Return the folder below a root in which a header of that name is, None without a choice."""
    parts = Path(name).parts
    if not parts or ".." in parts or os.path.isabs(name):
        return None
    folders = [
        place
        for path in _headers(root).get(parts[-1], ())
        if (place := _without_end(path, parts)) is not None
    ]
    if not folders:
        return None
    near = {place: _distance(place, file) for place in folders}
    least = min(near.values())
    nearest = [place for place in folders if near[place] == least]
    return nearest[0] if len(nearest) == 1 else None


def _without_end(path: str, parts: tuple[str, ...]) -> str | None:
    """Return a path without its last parts, None where it does not end in them."""
    own = Path(path).parts
    return str(Path(*own[: -len(parts)])) if own[-len(parts) :] == parts else None


def _distance(folder: str, file: str) -> int:
    """Return how many steps lead from the folder of a file to another folder."""
    here, there = Path(os.path.abspath(file)).parent.parts, Path(folder).parts
    pairs = zip(here, there, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return len(here) + len(there) - 2 * shared


@lru_cache(maxsize=4)
def _headers(root: str) -> dict[str, tuple[str, ...]]:
    """Return the headers below a folder by their names."""
    result: dict[str, tuple[str, ...]] = {}
    for path in _files(root):
        name = os.path.basename(path)
        result[name] = (*result.get(name, ()), path)
    return result


def _files(root: str) -> Iterator[str]:
    count = 0
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                return
            if name.endswith(_SUFFIXES):
                yield os.path.join(place, name)
