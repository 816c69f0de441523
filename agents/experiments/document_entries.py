"""Entries of an experiment's file with their places, for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from agents.experiments.wrappers import WRAPPERS
from polygym.errors import InputError

__all__ = ["DocumentEntry"]


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """Where in a file something stands, for messages; reads what stands there."""

    file: str
    path: str

    def __str__(self) -> str:
        """Return the file and the entry."""
        return f"{self.file}: {self.path}"

    def child(self, name: str) -> DocumentEntry:
        """Return the place of a part."""
        return DocumentEntry(self.file, f"{self.path}.{name}")

    def error(self, expected: str, found: object) -> InputError:
        """Return the error that something else was expected here."""
        return InputError(f"{self}: expected {expected}, found {found!r}")

    def mapping(self, found: object, known: Sequence[str] | None = None) -> dict[str, Any]:
        """Return entries by their names, which may be those that are known."""
        if not isinstance(found, Mapping):
            raise self.error("entries by their names", found)
        for key in found:
            if not isinstance(key, str):
                raise self.error("entries by their names, which are texts", key)
            if known is not None and key not in known:
                raise InputError(
                    f"{self.child(key)}: expected one of {', '.join(known)}, found {key}"
                )
        return dict(found)

    def integer(self, found: object, least: int) -> int:
        """Return a whole number that is large enough."""
        if type(found) is not int or found < least:
            raise self.error(f"a whole number from {least} on", found)
        return found

    def one_of(self, found: object, known: Sequence[str]) -> str:
        """Return one of several words."""
        if found not in known:
            raise self.error(f"one of {', '.join(known)}", found)
        return str(found)

    def selection(
        self, found: object, chosen: Callable[[str], object], *, empty: bool = False
    ) -> str:
        """Return the text of a selection, which ``chosen`` must be able to read."""
        text = ", ".join(found) if isinstance(found, list) and _is_text_list(found) else found
        if not isinstance(text, str) or not (text.strip() or empty):
            raise self.error("a selection of kernels", found)
        if text.strip():
            try:
                chosen(text)
            except InputError as error:
                raise InputError(f"{self}: {error}") from None
        return text

    def seeds(self, found: object) -> tuple[int, ...]:
        """Return seeds, all of them different."""
        if not isinstance(found, list) or not found or len(set(map(str, found))) != len(found):
            raise self.error("different seeds in a list", found)
        return tuple(self.integer(one, 0) for one in found)

    def wrappers(self, found: object) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Return wrappers with their arguments."""
        if not isinstance(found, list):
            raise self.error("a list of wrappers", found)
        return tuple(self._wrapper(one) for one in found)

    def _wrapper(self, found: object) -> tuple[str, Mapping[str, Any]]:
        name: object = found
        given: object = {}
        if isinstance(found, Mapping) and len(found) == 1:
            ((name, given),) = found.items()
        if not isinstance(name, str) or name not in WRAPPERS:
            raise self.error(f"one of {', '.join(WRAPPERS)}, with arguments or without", found)
        known = [
            parameter
            for parameter in signature(WRAPPERS[name].__init__).parameters
            if parameter != "env"
        ][1:]
        return name, self.child(name).mapping(given, known)


def _is_text_list(found: Sequence[object]) -> bool:
    return all(isinstance(one, str) for one in found)
