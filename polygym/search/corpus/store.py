"""A corpus in one file: every row is on the disk at once, and there only once.

The same candidate of the same case, with as many threads on the same kind of machine, is one row,
however often it is measured. Every method is one transaction: a process that ends loses the
transaction in flight and nothing else.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from polygym.closeable import Closeable
from polygym.errors import InputError
from polygym.files import create_folder
from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.search.corpus import checksums
from polygym.search.corpus.rows import (
    FORMAT,
    TABLES,
    VERSION,
    CaseVisit,
    CorpusCase,
    CorpusRow,
    VisitKey,
)
from polygym.sqlite_files import (
    UnusableFileError,
    create_database,
    read_snapshot,
    sqlite_errors,
    transaction,
)
from polygym.version import __version__

T = TypeVar("T")

_LOCK_TIMEOUT_SECONDS = 60.0
_EXPECTED = "a whole corpus"
_NAMED = " WHERE v.machine = ? AND v.threads = ? AND v.seed = ? AND v.position = ?"
_CASE_OF_VISIT = (
    " WHERE (r.case_number, r.machine, r.threads) = "
    "(SELECT case_number, machine, threads FROM visits WHERE number = ?)"
)


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row with where it comes from."""

    visit: CaseVisit
    row: CorpusRow


class Corpus(Closeable):
    """A corpus that is open."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep an open connection; :func:`open_corpus` makes one."""
        self.path = path
        self.connection = connection

    def add_machine(self, machine: MachineFingerprint, planned_for: Machine) -> None:
        """Add a kind of machine, unless it is there, and for what loops are planned there."""
        document = json.dumps(
            asdict(machine) | {checksums.PLANNED_FOR: asdict(planned_for)}, sort_keys=True
        )
        with self.transaction():
            self.connection.execute(
                "INSERT OR IGNORE INTO machines (key, document, checksum) VALUES (?, ?, ?)",
                (machine.key, document, checksums.checksum(machine.key, document)),
            )

    def machines(self) -> dict[str, MachineFingerprint]:
        """Return the kinds of machines by their keys."""
        return {key: fingerprint for key, (fingerprint, _) in self._machines().items()}

    def planned_for(self) -> dict[str, Machine]:
        """Return, by the keys of the kinds of machines, that for which loops are planned there.

        What a mapping leaves to the model follows from it: how wide vectors are, say.
        """
        return {key: machine for key, (_, machine) in self._machines().items()}

    def _machines(self) -> dict[str, tuple[MachineFingerprint, Machine]]:
        result = {}
        for values in self._asked(checksums.SELECT_MACHINES):
            what = f"machines: {values[0]!r:.60}"
            result[values[0]] = self._whole(checksums.decode_machine(values), what)
        return result

    def begin(self, visit: CaseVisit) -> int:
        """Begin a visit, or go on with the one that was begun, and return its number."""
        with self.transaction():
            place = self._place("programs", "name, text", (visit.case.name, visit.text))
            parameters = json.dumps(dict(visit.case.parameters))
            case = self._place("cases", "program, parameters", (place, parameters))
            query = f"SELECT number, case_number FROM visits v{_NAMED}"
            row = self.connection.execute(query, visit.key).fetchone()
            if row is not None:
                if row[1] != case:
                    raise InputError(
                        f"{self.path}: expected visit {visit.number} of seed {visit.seed} to be of "
                        f"{visit.case}, found another one: it was begun with other programs"
                    )
                return int(row[0])
            names = ("number", "seed", "threads", "machine", "moment", "background_load")
            cursor = self.connection.execute(
                "INSERT INTO visits (case_number, position, seed, threads, machine, moment, "
                "background_load) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (case, *(getattr(visit, name) for name in names)),
            )
            number = int(cursor.lastrowid or 0)
            self._seal_visit(number)
            return number

    def _seal_visit(self, number: int) -> None:
        """Give a visit the checksum of its values of now."""
        query = f"{checksums.SELECT_VISITS} WHERE v.number = ?"
        ((*values, _),) = self.connection.execute(query, (number,)).fetchall()
        self.connection.execute(
            "UPDATE visits SET checksum = ? WHERE number = ?", (checksums.checksum(*values), number)
        )

    def place_of(self, key: VisitKey) -> int | None:
        """Return the number of a visit in this corpus, None where it was not begun."""
        return next(iter(self._visits(_NAMED, key)), None)

    def visit_contents(self, key: VisitKey) -> tuple[CorpusCase, str] | None:
        """Return what a visit is of, and the text of a file; None where there is none."""
        visit = next(iter(self._visits(_NAMED, key).values()), None)
        return None if visit is None else (visit.case, visit.text)

    def add(self, visit: int, row: CorpusRow) -> bool:
        """Add a row to a visit; what is there of the same candidate stays. Say whether none was."""
        row = row.rounded()
        with self.transaction():
            texts = [self._place("texts", "text", (text,)) for text in checksums.row_texts(row)]
            (position,) = self.connection.execute(
                "SELECT coalesce(max(position) + 1, 0) FROM rows WHERE visit = ?", (visit,)
            ).fetchone()
            columns, joined = checksums.KEY_COLUMNS, checksums.JOINED_CASES
            query = f"SELECT {columns} FROM visits v {joined} WHERE v.number = ?"
            key = self.connection.execute(query, (visit,)).fetchone()
            cursor = self.connection.execute(
                "INSERT OR IGNORE INTO rows SELECT number, ?, case_number, machine, threads, "
                "?, ?, ?, ?, ?, ?, ?, ? FROM visits WHERE number = ?",
                (
                    position,
                    *texts,
                    *checksums.row_values(row),
                    checksums.row_checksum(position, key, row),
                    visit,
                ),
            )
        return cursor.rowcount > 0

    def finish(self, visit: int, background_load: float) -> None:
        """Note that all rows of a visit are there, and what else the machine did."""
        with self.transaction():
            query = "UPDATE visits SET is_finished = 1, background_load = ? WHERE number = ?"
            self.connection.execute(query, (background_load, visit))
            self._seal_visit(visit)

    def add_clock(self, machine: str, moment: float, seconds: float) -> None:
        """Note how long the program took that is measured now and then."""
        with self.transaction():
            values = (machine, float(moment), float(seconds))
            query = "INSERT INTO clocks (machine, moment, seconds, checksum) VALUES (?, ?, ?, ?)"
            self.connection.execute(query, (*values, checksums.checksum(*values)))

    def finished(self, machine: str, threads: int, seed: int) -> set[int]:
        """Return the visits of a seed that are finished, with so many threads on such machines."""
        where = " WHERE v.machine = ? AND v.threads = ? AND v.seed = ? AND v.is_finished = 1"
        visits = self._visits(where, (machine, threads, seed))
        return {visit.number for visit in visits.values()}

    def rows_of(self, visit: int) -> tuple[CorpusRow, ...]:
        """Return the rows of a visit, in the order in which they were measured."""
        query = f"{checksums.SELECT_ROWS} WHERE r.visit = ? ORDER BY r.position"
        return tuple(map(self._row, self._asked(query, (visit,))))

    def known_rows(self, visit: int) -> dict[tuple[str, str], CorpusRow]:
        """Return what is known of the case of a visit, by schedule and mapping, from any visit."""
        asked = self._asked(checksums.SELECT_ROWS + _CASE_OF_VISIT, (visit,))
        return {(row.schedule, row.mapping): row for row in map(self._row, asked)}

    def count(self) -> int:
        """Return how many rows there are."""
        ((count,),) = self._asked("SELECT count(*) FROM rows")
        return int(count)

    def clocks(self) -> list[tuple[str, float, float]]:
        """Return how long the program took that is measured now and then.

        Each time stands behind the key of the machine and the moment.
        """
        lines = self._asked(checksums.SELECT_CLOCKS)
        decode = checksums.decode_clock
        return [self._whole(decode(values), f"clocks: row {values[0]}") for values in lines]

    def all(self, machine: str | None = None) -> Iterator[StoredRow]:
        """Yield all rows, visit by visit, of one kind of machine or of each."""
        for visit, rows in self.visits(machine):
            for row in rows:
                yield StoredRow(visit, row)

    def visits(
        self, machine: str | None = None
    ) -> Iterator[tuple[CaseVisit, tuple[CorpusRow, ...]]]:
        """Yield all visits with their rows, those of one kind of machine or of each.

        Raises:
            InputError: anything in the corpus is damaged.
        """
        self.expect_whole()
        for number, visit in self._visits(" ORDER BY v.number").items():
            if machine is None or visit.machine == machine:
                yield visit, self.rows_of(number)

    def _visits(self, where: str, values: Sequence[object] = ()) -> dict[int, CaseVisit]:
        """Return visits by their numbers."""
        result = {}
        for number, *rest in self._asked(f"{checksums.SELECT_VISITS}{where}", values):
            visit = checksums.decode_visit((number, *rest))
            result[number] = self._whole(visit, f"visits: number {number}")
        return result

    def expect_whole(self) -> None:
        """Refuse a corpus of which anything is not what was written.

        Raises:
            InputError: it says what, and what can be done.
        """
        if defects := self.check():
            raise self._damaged(defects[0])

    def expect_another(self, path: Path) -> None:
        """Refuse to have something else written over the corpus.

        Raises:
            InputError: it is the corpus's file.
        """
        if path.resolve() == self.path.resolve():
            raise InputError(f"{path}: expected another file than the corpus, found the same")

    def check(self) -> list[str]:
        """Return what is wrong with the file, nothing if it is whole."""
        result: list[str] = []
        try:
            result += checksums.find_page_damage(self._asked)
            with sqlite_errors(self.path, _EXPECTED), read_snapshot(self.connection):
                result += checksums.find_line_damage(self._asked)
        except UnusableFileError as error:
            return [*result, f"SQLite: {error.__context__}"]
        return result

    def _asked(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return what the database answers.

        Raises:
            InputError: the file is damaged.
        """
        with sqlite_errors(self.path, _EXPECTED, checksums.ADVICE):
            return self.connection.execute(query, tuple(values)).fetchall()

    def _damaged(self, defect: str) -> InputError:
        """Return what to say of what is not as it was written."""
        return InputError(f"{self.path}: expected {_EXPECTED}, found {defect}; {checksums.ADVICE}")

    def _row(self, values: Sequence[object]) -> CorpusRow:
        what = f"rows: number {values[1]!r} of visit {values[0]!r}"
        return self._whole(checksums.decode_row(values), what)

    def _whole(self, value: T | None, what: str) -> T:
        if value is None:
            raise self._damaged(f"{what} is damaged")
        return value

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All of it, or nothing."""
        return transaction(self.connection, self.path, _EXPECTED, checksums.ADVICE)

    def _place(self, table: str, columns: str, values: Sequence[object]) -> int:
        """Return the number of a row of a table, which is added where it is missing."""
        names = columns.split(", ")
        marks = ", ".join("?" for _ in names)
        self.connection.execute(
            f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", tuple(values)
        )
        where = " AND ".join(f"{name} = ?" for name in names)
        query = f"SELECT number FROM {table} WHERE {where}"
        return int(self.connection.execute(query, tuple(values)).fetchone()[0])


def open_corpus(path: Path, *, begin: bool = False) -> Corpus:
    """Open the file of a corpus, or begin one.

    Raises:
        UnusableFileError: it is damaged, or none.
        InputError: there is none, or it is of another version.
    """
    if not path.exists() and not begin:
        raise InputError(f"{path}: expected a corpus, found no such file")
    if not path.exists():
        _create(path)
    with sqlite_errors(path, _EXPECTED, checksums.ADVICE):
        connection = sqlite3.connect(path, isolation_level=None, timeout=_LOCK_TIMEOUT_SECONDS)
        # A text that is no UTF-8 is damaged; its checksum differs.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            row = connection.execute("SELECT format, version FROM corpus").fetchone()
        except BaseException:
            connection.close()
            raise
    if row is None or row[0] != FORMAT:
        connection.close()
        raise UnusableFileError(
            f"{path}: expected {_EXPECTED}, found a file without a header; {checksums.ADVICE}"
        )
    if row != (FORMAT, VERSION):
        connection.close()
        raise InputError(
            f"{path}: expected a corpus of version {VERSION}, found version {row[1]!r:.20}; "
            "collect into a new file, or use the version of polygym that wrote it"
        )
    return Corpus(path, connection)


def file_problems(path: Path) -> list[str]:
    """Return a message for each damage of a file, none if it is a whole corpus.

    Raises:
        InputError: there is no file, or it is of another version.
    """
    try:
        with open_corpus(path) as corpus:
            return corpus.check()
    except UnusableFileError as error:
        cause = error.__context__
        return [f"SQLite: {cause}" if cause else str(error).removeprefix(f"{path}: ")]


def _create(path: Path) -> None:
    """Make an empty corpus: under another name until it is whole."""
    create_folder(path.parent, "file")

    def fill(connection: sqlite3.Connection) -> None:
        connection.executescript(f"BEGIN; {TABLES} COMMIT;")
        header = (FORMAT, VERSION, __version__)
        query = (
            "INSERT INTO corpus (only, format, version, polygym, checksum) VALUES (1, ?, ?, ?, ?)"
        )
        connection.execute(query, (*header, checksums.checksum(*header)))

    create_database(path, _EXPECTED, fill)
