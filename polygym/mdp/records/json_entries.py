"""The entries of a JSON document, read one by one; a wrong one is refused by its place.

A document names its parts by keys. :class:`JsonEntries` is one object of it with the way to it, so
that a message says the file, the entry (``program.parameters.n``), what was expected and what was
found.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from polygym.errors import InputError

LARGEST_INTEGER = 2**63 - 1

_VERSION = re.compile(
    r"[0-9]{1,9}(\.[0-9]{1,9}){1,4}([.+]?(a|b|rc|dev|post)[0-9]{1,9})*(\+[\w.]{1,60})?"
)


@dataclass(frozen=True, slots=True)
class JsonEntries:
    """An object of a document; ``path`` leads to it, "" to the whole."""

    file: str
    path: str
    entries: Mapping[str, Any]

    def entry(self, key: str) -> Any:
        """Return an entry as it is."""
        if key not in self.entries:
            raise InputError(f"{self.file}: the entry {self.path_of(key)} is missing")
        return self.entries[key]

    def object_at(self, key: str) -> JsonEntries:
        """Return an object in the object."""
        result = self.entry(key)
        if not isinstance(result, dict):
            raise self.error_at(key, "an object")
        return JsonEntries(self.file, self.path_of(key), result)

    def objects_at(self, key: str) -> JsonEntries:
        """Return a list in the object, by position."""
        result = self.entry(key)
        if not isinstance(result, list):
            raise self.error_at(key, "a list")
        return JsonEntries(
            self.file, self.path_of(key), {str(i): one for i, one in enumerate(result)}
        )

    def text(self, key: str) -> str:
        """Return a text."""
        result = self.entry(key)
        if not isinstance(result, str):
            raise self.error_at(key, "a text")
        return result

    def version(self, key: str) -> str:
        """Return the version of a program, such as 0.3.0 or 0.3.0.dev0."""
        result = self.text(key)
        if not _VERSION.fullmatch(result):
            raise self.error_at(key, "a version such as 0.3.0")
        return result

    def one_of(self, key: str, known: Collection[str]) -> str:
        """Return a text that is one of several."""
        result = self.text(key)
        if result not in known:
            raise self.error_at(key, f"one of {', '.join(known)}")
        return result

    def integer(self, key: str, least: int = 0, most: int = LARGEST_INTEGER) -> int:
        """Return an integer within bounds."""
        result = self.entry(key)
        if type(result) is not int or not least <= result <= most:
            raise self.error_at(key, f"an integer from {least} to {most}")
        return result

    def number(self, key: str) -> float:
        """Return a time or a ratio: finite and not negative."""
        result = self.entry(key)
        if isinstance(result, bool) or not isinstance(result, int | float):
            raise self.error_at(key, "a number")
        # A JSON document may hold integers that no float can be compared with.
        if not 0 <= result <= LARGEST_INTEGER or not isfinite(result):
            raise self.error_at(key, "a finite number from 0 on")
        return float(result)

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse entries of which nobody would take notice."""
        for key in self.entries:
            if key not in known:
                raise InputError(
                    f"{self.file}: the entry {self.path_of(reprlib.repr(key)[1:-1])} is unknown; "
                    f"expected {', '.join(known)}"
                )

    def error_at(self, key: str, expected: str) -> InputError:
        """Return the error about an entry."""
        result = reprlib.repr(self.entries[key])
        return InputError(
            f"{self.file}: the entry {self.path_of(key)}: expected {expected}, found {result}"
        )

    def path_of(self, key: str) -> str:
        """Return the way to an entry."""
        return f"{self.path}.{key}" if self.path else key
