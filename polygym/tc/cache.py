"""Kernels kept on the disk: a second process starts from machine code.

An entry belongs to everything that decides what its code does and where it runs: the comprehension
without its names, sizes and known scalars, processor and features, the schedule and the mapping
that were asked for, and the versions of polygym, sources and all, and LLVM. For one such key there
may be several versions, by different schedules and, where the mapping was left to polygym, by
different mappings; the fastest that was measured is taken. What an earlier polygym has measured is
not run any more, but says which schedule and which mapping to compile anew.

The store is one SQLite file in WAL mode, in ``$POLYGYM_CACHE``, or ``polygym`` in the user's cache
folder; ``POLYGYM_CACHE=off`` keeps nothing. Processes may share it. Machine code is not run on
trust: an entry that was damaged, or a file that somebody else could write, is ignored with a
warning.

The compiler's fingerprint covers its sources (:data:`COMPILER_FOLDERS`): between two releases the
version alone does not tell whether code is the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from time import time
from typing import Any

from polygym.errors import InputError
from polygym.files import cache_folder
from polygym.mapping.machine import compile_target
from polygym.source_fingerprint import source_fingerprint
from polygym.version import __version__

# Each for itself: should one of them move, it is missed. `tests/tc/test_compiler_version.py` looks
# whether there are others.
COMPILER_FOLDERS = (
    "codegen",
    "frontend/tc",
    "ir",
    "mapping",
    "poly",
    "runtime/loader.py",
    "tc",
)
"""The folders of the package whose modules decide what a comprehension's code is."""


@cache
def compiler_fingerprint() -> str:
    """Return the version and the fingerprint."""
    return f"{__version__}+{source_fingerprint(COMPILER_FOLDERS)}"


CACHE_FORMAT = 2
_FILE = f"comprehensions-{CACHE_FORMAT}.sqlite"
_LOCK_TIMEOUT_SECONDS = 10.0
_TABLE = """CREATE TABLE IF NOT EXISTS kernels (key TEXT NOT NULL, schedule TEXT NOT NULL,
    label TEXT NOT NULL, mapping TEXT NOT NULL, seconds REAL, made REAL NOT NULL,
    recipe TEXT NOT NULL, code BLOB NOT NULL, origin TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (key, schedule, mapping))"""
_COLUMNS = "key, schedule, label, mapping, seconds, made, recipe, code, origin, digest"


class CacheWarning(UserWarning):
    """Something in the cache, or the cache as a whole, is not used."""


@dataclass(frozen=True, slots=True)
class KernelOrigin:
    """Of what a version is: the comprehension without names, its sizes, and the strategy.

    The strategy is that of a tuner's choice, "" where no tuner chose; ``request`` is what
    :func:`request_digest` has for it.
    """

    comprehension: str
    sizes: tuple[int, ...]
    strategy: str
    request: str = ""

    @property
    def text(self) -> str:
        """The same as JSON."""
        return json.dumps([self.comprehension, list(self.sizes), self.strategy, self.request])

    @staticmethod
    def parse(text: str) -> KernelOrigin:
        """Read :attr:`text`.

        Raises:
            ValueError: it is something else.
        """
        try:
            comprehension, sizes, *texts = json.loads(text)
            origin = KernelOrigin(comprehension, tuple(sizes), *texts)
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from None
        if not all(isinstance(item, str) for item in (comprehension, *texts)):
            raise ValueError("expected texts")
        if not all(type(size) is int for size in origin.sizes):
            raise ValueError("expected sizes")
        return origin


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A compiled version of a comprehension.

    ``schedule`` and ``mapping`` are how it was made, ``seconds`` how long it ran when it was
    measured (None: it was not), ``recipe`` what a call needs besides the code, as JSON, ``origin``
    the text of an :class:`KernelOrigin`.
    """

    key: str
    schedule: str
    label: str
    mapping: str
    seconds: float | None
    recipe: str
    code: bytes
    created: float = 0.0
    origin: str = ""

    @property
    def digest(self) -> str:
        """A fingerprint of all that a call relies on."""
        whole = hashlib.sha256(self.code)
        for text in (self.key, self.schedule, self.mapping, self.recipe, self.origin):
            whole.update(b"\0" + text.encode())
        return whole.hexdigest()


def request_digest(text: str, sizes: Mapping[str, int], schedule: str, mapping: str) -> str:
    """Return a fingerprint of a comprehension without names, for sizes by position.

    ``schedule`` (a strategy, as a rule) and ``mapping`` are those that were asked for; the
    processor counts, who compiles does not.
    """
    machine = compile_target()
    document = [text, list(sizes.values()), schedule, mapping, machine.processor, machine.features]
    return hashlib.sha256(json.dumps(document).encode()).hexdigest()


def cache_key(request: str) -> str:
    """Return the key of what this polygym compiles for a request."""
    document = [CACHE_FORMAT, request, compiler_fingerprint(), compile_target().llvm]
    return hashlib.sha256(json.dumps(document).encode()).hexdigest()


class KernelCache:
    """The store in a folder; what goes wrong with it is a warning and never an error."""

    def __init__(self, path: Path) -> None:
        """Keep the path; the file is made when something is put there."""
        self.path = path

    def fastest(self, key: str) -> CacheEntry | None:
        """Return the fastest version, else the newest; one that is damaged is passed over."""
        query = (
            f"SELECT {_COLUMNS} FROM kernels WHERE key = ? "
            "ORDER BY seconds IS NULL, seconds, made DESC"
        )
        for row in self._rows(query, (key,)):
            if (entry := self._checked(row)) is not None:
                return entry
        return None

    def earlier_measurements(self, request: str) -> list[CacheEntry]:
        """Return the measured versions of a request by any compiler, the fastest first."""
        query = (
            f"SELECT {_COLUMNS} FROM kernels WHERE seconds IS NOT NULL AND instr(origin, ?) "
            "ORDER BY seconds"
        )
        rows = self._rows(query, (request,))
        return [entry for row in rows if (entry := self._checked(row)) is not None]

    def put(self, entry: CacheEntry) -> bool:
        """Keep a version, in place of one with the same schedule and mapping; say if it is kept."""
        moment = entry.created or time()
        values = (
            entry.key, entry.schedule, entry.label, entry.mapping, entry.seconds, moment,
            entry.recipe, entry.code, entry.origin, entry.digest,
        )  # fmt: skip
        kept = False
        with (
            self._warnings_instead_of_errors("not kept"),
            closing(self._connect(make=True)) as connection,
        ):
            connection.execute(
                f"REPLACE INTO kernels ({_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values
            )
            kept = True
        return kept

    def entries(self) -> list[CacheEntry]:
        """Return all that is there and whole."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM kernels ORDER BY label, made", ())
        return [entry for row in rows if (entry := self._checked(row)) is not None]

    def tuned_entries(self) -> list[tuple[str, str, float]]:
        """Return origin, mapping and time of every version that was measured, whole or not."""
        query = "SELECT origin, mapping, seconds FROM kernels WHERE seconds IS NOT NULL"
        return [(row[0], row[1], row[2]) for row in self._rows(query, ())]

    def clear(self) -> int:
        """Forget everything; return how many entries there were."""
        if not self.path.exists():
            return 0
        try:
            with closing(self._connect()) as connection:
                return connection.execute("DELETE FROM kernels").rowcount
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise InputError(f"{self.path}: {error}") from None
        # It is no such database: nothing in it can be used.
        for name in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + name).unlink(missing_ok=True)
        return 0

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        result: list[tuple[Any, ...]] = []
        if self.path.exists():
            is_fixed = not os.access(self.path.parent, os.W_OK)
            connect = self._connect_fixed if is_fixed else self._connect
            with self._warnings_instead_of_errors("not used"), closing(connect()) as connection:
                result = connection.execute(query, values).fetchall()
        return result

    def _checked(self, row: tuple[Any, ...]) -> CacheEntry | None:
        """Return the entry of a row, or None and a warning."""
        key, schedule, label, mapping, seconds, made, recipe, code, origin, digest = row
        try:
            entry = CacheEntry(
                key, schedule, label, mapping, seconds, recipe, bytes(code), float(made), origin
            )
            if entry.digest == digest and _is_time(seconds):
                return entry
        except (TypeError, ValueError, AttributeError):
            pass
        warnings.warn(f"{self.path}: an entry of {label!r} is damaged: ignored", CacheWarning, 4)
        return None

    def _connect_fixed(self) -> sqlite3.Connection:
        """Open the file in a folder in which nothing can be written, hence no log of SQLite's."""
        _check_owner(self.path)
        uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(uri, uri=True)

    def _connect(self, *, make: bool = False) -> sqlite3.Connection:
        if make:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not os.access(self.path.parent, os.W_OK):
                raise OSError("nothing can be written in its folder")
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _check_owner(self.path)
        connection = sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(_TABLE)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _warnings_instead_of_errors(self, consequence: str) -> Iterator[None]:
        """Inside, what goes wrong with the file is a warning."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            is_none = type(error) is sqlite3.DatabaseError
            hint = "; `polygym cache clear` begins another one" if is_none else ""
            warnings.warn(f"{self.path}: {consequence}: {error}{hint}", CacheWarning, 4)


def _is_time(seconds: Any) -> bool:
    """Whether this is a time that was measured, or says that none was."""
    return seconds is None or (isinstance(seconds, int | float) and 0 < seconds < inf)


def _check_owner(path: Path) -> None:
    """Refuse a file from which somebody else could have this process run code."""
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise OSError(f"expected a file of this user, found one of user {status.st_uid}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise OSError("expected a file that only its owner can write, found that others can")


def user_cache() -> KernelCache | None:
    """Return the user's cache, None where it is switched off."""
    path = cache_folder()
    return None if path is None else KernelCache(path / _FILE)


def text_of_entries(entries: list[CacheEntry]) -> str:
    """Return entries as lines of JSON; :func:`entries_from_text` reads them."""
    lines = [json.dumps({"format": "polygym cache", "version": CACHE_FORMAT})]
    for entry in entries:
        lines.append(
            json.dumps({**asdict(entry), "code": entry.code.hex(), "digest": entry.digest})
        )
    return "\n".join([*lines, ""])


def entries_from_text(text: str, name: str) -> list[CacheEntry]:
    """Return the entries of an exported file; those that were damaged are refused.

    Raises:
        InputError: the text is none that :func:`text_of_entries` wrote.
    """
    head, *lines = text.splitlines() or [""]
    result = []
    try:
        if json.loads(head) != {"format": "polygym cache", "version": CACHE_FORMAT}:
            raise ValueError("another first line")
        for line in lines:
            data = json.loads(line)
            digest = data.pop("digest")
            entry = CacheEntry(**{**data, "code": bytes.fromhex(data["code"])})
            if entry.digest != digest:
                raise ValueError(f"the entry of {entry.label} does not have its fingerprint")
            if not _is_time(entry.seconds):
                raise ValueError(f"the time of {entry.label}: expected seconds, or null")
            result.append(replace(entry, created=float(entry.created)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{name}: expected what `polygym cache export` writes, found something else: {error}"
        ) from None
    return result
