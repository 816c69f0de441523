"""What can be read of a corpus whose file is damaged, copied to a new file in its place.

SQLite keeps tables and their indices as trees of pages. Where a page is damaged, SQLite ends an
answer in the middle. So a table is read forwards as far as that goes, then backwards, then what is
left between line by line; what its index lists and nobody can read any more is lost. What was read
is what was written only where its check sum says so: :mod:`polygym.search.corpus.find_damage` takes
out the rest of the copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polygym.errors import InputError
from polygym.search.corpus.damage import (
    RemovedRows,
    find_damage,
    page_damage,
    remove_damage,
    seal_corpus,
    seal_visits,
)
from polygym.search.corpus.schema import TABLES
from polygym.search.corpus.store import open_corpus
from polygym.search.corpus.version_2 import FORMER_VERSION
from polygym.sqlite_files import UnusableFileError, create_database, sqlite_errors

_EXPECTED = "a whole corpus"
_NUMBERED = ("corpus", "machines", "programs", "cases", "visits", "texts", "clocks")
_COUNTED = ("visits", "clocks", "machines")
_BEYOND = 10_000  # so many lines may be behind the last that could be read, in pages that can be
_SMALLEST_LINE = 8  # bytes: no table has more lines than that many are in the file
_MOST_BYTES = 1 << 40
_PATIENCE_SECONDS = 60.0

Line = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What became of a corpus: what it has lost, and whether that was ``counted``.

    ``rows`` are those of the new file, None where none was made.
    """

    taken_out: RemovedRows
    is_counted: bool = True
    rows: int | None = None

    def __str__(self) -> str:
        """Return it for people."""
        if self.rows is None:
            return f"taken out: {self.taken_out}"
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"what can be read is copied to a new file: {rows}\n" + (
            f"lost: {self.taken_out}"
            if self.is_counted
            else f"lost: at least {self.taken_out}; how much it was cannot be read any more"
        )


class _NothingLeftError(Exception):
    """There were rows, and none of them can be read as it was written."""


@dataclass(slots=True)
class _Read:
    """The lines of a table that can be read, by their keys, and those that its index lists.

    ``is_all`` says that the table ended where it ends, ``is_listed`` so of the index.
    """

    lines: dict[Any, Line] = field(default_factory=dict)
    is_all: bool = True
    listed: set[Any] = field(default_factory=set)
    is_listed: bool = False

    @property
    def count(self) -> int:
        """How many there were, as far as anything tells."""
        return len(self.lines.keys() | self.listed)

    @property
    def is_counted(self) -> bool:
        """Whether that is all; an index that lacks what can be read may lack more."""
        return self._is_index_whole or (self.is_all and not self.is_listed)

    @property
    def _is_index_whole(self) -> bool:
        return self.is_listed and self.lines.keys() <= self.listed


def complaints(path: Path) -> list[str]:
    """Return what is wrong with a file, nothing if it is a whole corpus.

    Raises:
        InputError: there is no file, or it is of another version.
    """
    try:
        with open_corpus(path) as corpus:
            return corpus.check()
    except UnusableFileError as error:
        said = error.__context__
        return [f"SQLite: {said}" if said else str(error).removeprefix(f"{path}: ")]


def repair(path: Path) -> RepairResult | None:
    """Take out of a corpus what is damaged; None where nothing of the file can be read.

    Raises:
        InputError: there is no file, or it is of another version.
        OSError: there is no room for the copy, or somebody is writing to the corpus.
    """
    try:
        with open_corpus(path) as corpus:
            with sqlite_errors(path, _EXPECTED):
                said = page_damage(lambda query: corpus.connection.execute(query).fetchall())
            if not said:
                return RepairResult(corpus.repair())
    except UnusableFileError:
        pass
    return _copy_readable(path)


def _copy_readable(path: Path) -> RepairResult | None:
    with _held(path), _reading(path) as source:
        most = path.stat().st_size // _SMALLEST_LINE
        reads = {table: _numbered(source, table, most) for table in _NUMBERED}
        reads["rows"] = _rows(source, reads["visits"].lines)
        _expect_this_version(path, reads["corpus"])
        rows = reads["rows"]
        if not rows.lines and not rows.is_all:
            return None
        after: list[int] = []

        def fill(new: sqlite3.Connection) -> None:
            new.executescript(f"BEGIN; {TABLES}")
            _fill(new, reads)
            new.execute("COMMIT")
            if reads["rows"].count and not new.execute("SELECT 1 FROM rows").fetchone():
                raise _NothingLeftError
            for table in ("rows", *_COUNTED):
                after.append(new.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            # SQLite would roll back the new file by what an interrupted change of the old has left.
            path.with_name(f"{path.name}-journal").unlink(missing_ok=True)

        with suppress(_NothingLeftError):
            create_database(path, _EXPECTED, fill)
            return _repair_result(reads, after)
    return None


def _repair_result(found: dict[str, _Read], after: list[int]) -> RepairResult:
    counted = [found[table] for table in ("rows", *_COUNTED)]
    return RepairResult(
        RemovedRows(*(one.count - now for one, now in zip(counted, after, strict=True))),
        all(read.is_counted for read in counted),
        after[0],
    )


def _fill(new: sqlite3.Connection, found: dict[str, _Read]) -> None:
    """Put lines into an empty corpus, and take out those that are not what was written."""
    for table, read in found.items():
        columns = _columns(table)
        names, marks = ", ".join(columns), ", ".join("?" for _ in columns)
        for line in read.lines.values():
            try:
                new.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", line)
            except (UnicodeEncodeError, sqlite3.IntegrityError):
                continue  # it is none that was written
    if not new.execute("SELECT count(*) FROM corpus").fetchone()[0]:
        seal_corpus(new, "unknown")
    remove_damage(new, find_damage(lambda query: new.execute(query).fetchall()))
    for visit in _unfinished(found["rows"], found["visits"]):
        new.execute("UPDATE visits SET done = 0 WHERE number = ?", (visit,))
        seal_visits(new, visit)


def _unfinished(rows: _Read, visits: _Read) -> set[int]:
    """Return the visits of which rows may be lost: those the index tells of, or all."""
    if rows.is_counted:
        return {visit for visit, _ in rows.listed - rows.lines.keys()}
    return set(visits.lines)


def _numbered(source: sqlite3.Connection, table: str, most: int) -> _Read:
    """Return the lines of a table that has numbers for keys."""
    names = ", ".join(_columns(table))
    query = f"SELECT rowid, {names} FROM {table} NOT INDEXED"
    read = _Read()
    lines: dict[Any, Line] = {}
    read.is_all = _until_damage(source, f"{query} ORDER BY rowid", (), lines)
    listed: dict[Any, Line] = {}
    index = f"SELECT rowid FROM {table} INDEXED BY sqlite_autoindex_{table}_1"
    read.is_listed = _until_damage(source, index, (), listed)
    read.listed = {key for (key,) in listed}
    if not read.is_all:
        _until_damage(source, f"{query} ORDER BY rowid DESC", (), lines)
        end = min(max((key for (key,) in lines), default=0) + _BEYOND, most)
        for number in sorted(read.listed) if read.is_listed else range(1, end):
            if (number,) not in lines:
                _until_damage(source, f"{query} WHERE rowid = ?", (number,), lines)
    read.lines = {key: line for (key,), line in lines.items()}
    return read


def _rows(source: sqlite3.Connection, visits: dict[Any, Line]) -> _Read:
    """Return the rows of visits, by visit and place, which stand first in each."""
    columns = _columns("rows")
    query = f"SELECT visit, place, {', '.join(columns)} FROM rows NOT INDEXED"
    read = _Read()
    lines = read.lines
    read.is_all = _until_damage(source, f"{query} ORDER BY visit, place", (), lines, 2)
    if not read.is_all:
        _until_damage(source, f"{query} ORDER BY visit DESC, place DESC", (), lines, 2)
        for visit in visits:
            for way in ("", " DESC"):
                one = f"{query} WHERE visit = ? ORDER BY place{way}"
                _until_damage(source, one, (visit,), lines, 2)
    listed: dict[Any, Line] = {}
    index = "SELECT visit, place FROM rows INDEXED BY sqlite_autoindex_rows_2"
    read.is_listed = _until_damage(source, index, (), listed, 2)
    read.listed = set(listed)
    return read


def _until_damage(
    source: sqlite3.Connection,
    query: str,
    values: Sequence[object],
    lines: dict[Any, Line],
    key: int = 1,
) -> bool:
    """Add the lines of an answer, each by its first values; return whether it came to its end."""
    try:
        for line in source.execute(query, tuple(values)):
            lines[line[:key]] = line[key:]
    except (sqlite3.Error, UnicodeDecodeError):
        return False
    return True


def _columns(table: str) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(TABLES)
        return [name for _, name, *_ in empty.execute(f"PRAGMA table_info({table})")]


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Inside, nobody else writes to a file."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE_SECONDS)) as file:
        # Where SQLite cannot use it at all, nobody writes to it.
        with suppress(UnusableFileError), sqlite_errors(path, _EXPECTED):
            file.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Inside, a file can be read; one that was cut off has zeros where its end was.

    SQLite reads nothing at all of a file that is shorter than its beginning says.
    """
    with TemporaryDirectory() as folder, path.open("rb") as file:
        begin = file.read(32)
        size = int.from_bytes(begin[16:18], "big") * int.from_bytes(begin[28:32], "big")
        there = path.stat().st_size
        if 0 < there < size <= _MOST_BYTES:
            path = Path(shutil.copy(path, folder))
            os.truncate(path, size)
        with closing(sqlite3.connect(path, isolation_level=None)) as source:
            source.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            yield source


def _expect_this_version(path: Path, corpus: _Read) -> None:
    if any(version == FORMER_VERSION for _, _, version, *_ in corpus.lines.values()):
        raise InputError(f"{path}: expected a corpus of this version, found a damaged one before")
