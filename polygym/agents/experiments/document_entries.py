"""Entries of an experiment's file with their places, for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from polygym.agents.experiments.wrappers import WRAPPERS
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

    def error(self, expected: str, value: object) -> InputError:
        """Return the error that something else was expected here."""
        return InputError(f"{self}: expected {expected}, found {value!r}")

    def mapping(self, value: object, known: Sequence[str] | None = None) -> dict[str, Any]:
        """Return entries by their names, which may be those that are known."""
        if not isinstance(value, Mapping):
            raise self.error("entries by their names", value)
        for key in value:
            if not isinstance(key, str):
                raise self.error("entries by their names, which are texts", key)
            if known is not None and key not in known:
                raise InputError(
                    f"{self.child(key)}: expected one of {', '.join(known)}, found {key}"
                )
        return dict(value)

    def integer(self, value: object, least: int) -> int:
        """Return a whole number that is large enough."""
        if type(value) is not int or value < least:
            raise self.error(f"a whole number from {least} on", value)
        return value

    def text(self, value: object) -> str:
        """Return a text."""
        if not isinstance(value, str):
            raise self.error("a text", value)
        return value

    def one_of(self, value: object, known: Sequence[str]) -> str:
        """Return one of several words."""
        if value not in known:
            raise self.error(f"one of {', '.join(known)}", value)
        return str(value)

    def selection(
        self, value: object, chosen: Callable[[str], object], *, empty: bool = False
    ) -> str:
        """Return the text of a selection, which ``chosen`` must be able to read."""
        text = ", ".join(value) if isinstance(value, list) and _is_text_list(value) else value
        if not isinstance(text, str) or not (text.strip() or empty):
            raise self.error("a selection of kernels", value)
        if text.strip():
            try:
                chosen(text)
            except InputError as error:
                raise InputError(f"{self}: {error}") from None
        return text

    def seeds(self, value: object) -> tuple[int, ...]:
        """Return seeds, all of them different."""
        if not isinstance(value, list) or not value or len(set(map(str, value))) != len(value):
            raise self.error("different seeds in a list", value)
        return tuple(self.integer(seed, 0) for seed in value)

    def wrappers(self, value: object) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """Return wrappers with their arguments."""
        if not isinstance(value, list):
            raise self.error("a list of wrappers", value)
        return tuple(self._wrapper(wrapper) for wrapper in value)

    def _wrapper(self, value: object) -> tuple[str, Mapping[str, Any]]:
        name: object = value
        given: object = {}
        if isinstance(value, Mapping) and len(value) == 1:
            ((name, given),) = value.items()
        if not isinstance(name, str) or name not in WRAPPERS:
            raise self.error(f"one of {', '.join(WRAPPERS)}, with arguments or without", value)
        known = [
            parameter
            for parameter in signature(WRAPPERS[name].__init__).parameters
            if parameter != "env"
        ][1:]
        return name, self.child(name).mapping(given, known)


def _is_text_list(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
