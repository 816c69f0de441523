"""Meanings of members of JSON documents that no docstring states, from a table.

``member_meanings.toml`` has them by the end of a member's path: the longest key counts, of two
of one length that of the document itself.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")


def table_meaning(document: str, path: str) -> str:
    """Return the meaning of a member, "" if the table has none.

    >>> table_meaning("graph tune", "[].kernels[].form"), table_meaning("none", "cores")
    ('fastest form', 'number of cores')
    """
    key = used_key(document, path)
    return "" if key is None else _table(key[0])[key[1]]


def used_key(document: str, path: str) -> tuple[str, str] | None:
    """Return the document, "" for all of them, and the key that states a member's meaning."""
    for key in _ends(path):
        for name in (document, ""):
            if key in _table(name):
                return name, key
    return None


def all_keys() -> set[tuple[str, str]]:
    """Return every key of the table with its document, "" for all of them."""
    read = _read()
    keys = {("", key) for key in read["any"]}
    return keys | {(name, key) for name, table in read["documents"].items() for key in table}


def _table(document: str) -> Mapping[str, str]:
    read = _read()
    return read["documents"].get(document, {}) if document else read["any"]


def _ends(path: str) -> Iterator[str]:
    """Yield the ends of a path, the longest first.

    >>> list(_ends("a[].b.NAME.c"))
    ['a.b.c', 'b.c', 'c']
    """
    names = [name for name in path.replace("[]", "").split(".") if name and name != "NAME"]
    for start in range(len(names)):
        yield ".".join(names[start:])


@cache
def _read() -> Mapping[str, Any]:
    with TABLE.open("rb") as file:
        return tomllib.load(file)
