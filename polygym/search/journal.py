"""The journal of a search: one line of JSON for every episode, on the disk once it is known.

The first line is the setting; line k + 2 is episode k, as a record that can be replayed, with three
more members:

* ``index`` is k;
* ``repeats`` is the episode that found the same schedule first, or one of the same loops, or null;
* ``reason`` says why there is no schedule, if there is none.

Whatever ends the process (a signal, a power failure, a full disk) can at most tear the last line,
which had not been reported to anybody. A line is whole if it ends with a line break and is a JSON
object. Reading stops at the last whole line, :meth:`SearchJournal.open` cuts off what is behind it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from polygym.closeable import Closeable
from polygym.errors import InputError
from polygym.files import try_lock, write_atomically
from polygym.search.settings import FORMAT, VERSION

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JournalContents:
    """A journal that was read: the setting, the episodes, and the bytes up to the last whole one.

    ``torn`` counts the bytes behind that.
    """

    setting: Json
    episodes: tuple[Json, ...]
    size: int
    torn: int


class SearchJournal(Closeable):
    """A journal that is open for appending; only one process can have it open."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = size

    @staticmethod
    def create(path: Path, setting: Mapping[str, Any]) -> SearchJournal:
        """Begin a journal, in the place of whatever the path names."""
        write_atomically(path, _line(setting))
        return SearchJournal.open(path)[0]

    @staticmethod
    def open(path: Path) -> tuple[SearchJournal, JournalContents]:
        """Continue a journal, and return what it holds; a torn last line is cut off."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if not try_lock(descriptor):
                raise InputError(
                    f"{path}: expected nobody else to write it, found another search at work"
                )
            contents = read_journal(path)
            if contents.torn:
                os.ftruncate(descriptor, contents.size)
                os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return SearchJournal(path, descriptor, contents.size), contents

    def append(self, episode: Mapping[str, Any]) -> None:
        """Add an episode; it is on the disk when this returns, or, after an OSError, not at all."""
        rest = memoryview(_line(episode))
        position = self._size
        try:
            while rest:
                written = os.pwrite(self._descriptor, rest, position)
                position, rest = position + written, rest[written:]
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self._size = position

    def close(self) -> None:
        """Close the file; harmless the second time."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_journal(path: Path) -> JournalContents:
    """Return what a journal holds up to its last whole line.

    A line that is not JSON is the torn one if it is the last; before others it is damage that no
    interruption leaves, and refused.
    """
    data = path.read_bytes()
    lines = data.split(b"\n")
    lines.pop()  # behind the last line break: nothing, or a torn line
    jsons: list[Json] = []
    size = 0
    for number, line in enumerate(lines, start=1):
        value = _parsed(line)
        if value is None:
            if number == len(lines):
                break
            raise InputError(f"{path}:{number}: expected a JSON object, found something else")
        jsons.append(value)
        size += len(line) + 1
    if not jsons or jsons[0].get("format") != FORMAT:
        raise InputError(
            f'{path}: expected the journal of a search, beginning with {{"format": "{FORMAT}", '
            "...}, found something else"
        )
    setting, *episodes = jsons
    if setting.get("version") != VERSION:
        raise InputError(
            f"{path}: expected version {VERSION} of the format, found {setting.get('version')!r}"
        )
    for number, episode in enumerate(episodes):
        if episode.get("index") != number:
            raise InputError(
                f"{path}:{number + 2}: expected episode {number}, found {episode.get('index')!r}"
            )
    return JournalContents(setting, tuple(episodes), size, len(data) - size)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Json | None:
    """Return a line's object, or None if it is not one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
