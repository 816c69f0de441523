"""A corpus in one file: every row is on the disk the moment it is known, once.

The same candidate of the same case, with as many threads on the same kind of machine, is one row,
whoever measures it how often. Every method is one transaction, so that whatever ends a process
loses what is in flight and nothing else.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from polygym.compiler.codegen.common.machine import Machine
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import Fingerprint
from polygym.search.corpus.kept_rows import (
    ROWS_WITH_VISITS,
    SELECT_ROWS,
    check_sum,
    read_row,
    texts_of,
)
from polygym.search.corpus.rows import Case, Row, Visit, VisitKey
from polygym.search.corpus.schema import FORMAT, TABLES, VERSION
from polygym.sqlite_files import create, explained, transaction
from polygym.version import __version__

_PATIENCE_SECONDS = 60.0
_WHAT = "a whole corpus"
_PLANNED_FOR = "planned_for"


@dataclass(frozen=True, slots=True)
class Found:
    """A row with where it comes from."""

    visit: Visit
    row: Row


class Corpus:
    """A corpus that is open."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep an open connection; :func:`open_corpus` makes one."""
        self.path = path
        self.connection = connection

    def add_machine(self, machine: Fingerprint, planned_for: Machine) -> None:
        """Add a kind of machine, unless it is there, and for what loops are planned there."""
        document = asdict(machine) | {_PLANNED_FOR: asdict(planned_for)}
        with self.transaction():
            self.connection.execute(
                "INSERT OR IGNORE INTO machines VALUES (?, ?)",
                (machine.key, json.dumps(document, sort_keys=True)),
            )

    def machines(self) -> dict[str, Fingerprint]:
        """Return the kinds of machines by their keys."""
        return {key: fingerprint for key, (fingerprint, _) in self._machines().items()}

    def planned_for(self) -> dict[str, Machine]:
        """Return, by the keys of the kinds of machines, that for which loops are planned there.

        What a mapping leaves to the model follows from it: how wide vectors are, say.
        """
        return {key: machine for key, (_, machine) in self._machines().items()}

    def _machines(self) -> dict[str, tuple[Fingerprint, Machine]]:
        found = {}
        for key, document in self._asked("SELECT key, document FROM machines"):
            try:
                data = json.loads(document)
                machine = Machine(**data.pop(_PLANNED_FOR))
                found[key] = (Fingerprint(**{**data, "caches": tuple(data["caches"])}), machine)
            except (AttributeError, KeyError, TypeError, ValueError):
                raise self._damage("machines", f"{key!r} with {document!r}") from None
        return found

    def begin(self, visit: Visit) -> int:
        """Begin a visit, or go on with the one that was begun, and return its number."""
        with self.transaction():
            place = self._place("programs", "name, text", (visit.case.program, visit.text))
            parameters = json.dumps(dict(visit.case.parameters))
            case = self._place("cases", "program, parameters", (place, parameters))
            row = self.connection.execute(
                "SELECT number, kase FROM visits WHERE machine = ? AND threads = ? "
                "AND seed = ? AND place = ?",
                visit.key,
            ).fetchone()
            if row is not None:
                if row[1] != case:
                    raise InputError(
                        f"{self.path}: expected visit {visit.number} of seed {visit.seed} to be of "
                        f"{visit.case}, found another one: it was begun with other programs"
                    )
                return int(row[0])
            cursor = self.connection.execute(
                "INSERT INTO visits (kase, place, seed, threads, machine, moment, others) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    case,
                    visit.number,
                    visit.seed,
                    visit.threads,
                    visit.machine,
                    visit.moment,
                    visit.others,
                ),
            )
            return int(cursor.lastrowid or 0)

    def begun_with(self, key: VisitKey) -> tuple[Case, str] | None:
        """Return what a visit is of, and the text of a file; None where there is none."""
        query = (
            "SELECT p.name, c.parameters, p.text FROM visits v JOIN cases c ON c.number = v.kase "
            "JOIN programs p ON p.number = c.program "
            "WHERE v.machine = ? AND v.threads = ? AND v.seed = ? AND v.place = ?"
        )
        for name, parameters, text in self._asked(query, key):
            return self._case(name, parameters), str(text)
        return None

    def add(self, visit: int, row: Row) -> None:
        """Add a row to a visit; what is there of the same candidate stays."""
        row = row.rounded()
        with self.transaction():
            texts = [self._place("texts", "text", (one,)) for one in texts_of(row)]
            self.connection.execute(
                "INSERT OR IGNORE INTO rows SELECT number, "
                "(SELECT coalesce(max(place) + 1, 0) FROM rows WHERE visit = number), "
                "kase, machine, threads, ?, ?, ?, ?, ?, ?, ?, ? FROM visits WHERE number = ?",
                (
                    *texts,
                    row.status.value,
                    row.seconds,
                    row.baseline_seconds,
                    row.detail,
                    check_sum(row),
                    visit,
                ),
            )

    def finish(self, visit: int, others: float) -> None:
        """Note that all rows of a visit are there, and what else the machine did."""
        with self.transaction():
            self.connection.execute(
                "UPDATE visits SET done = 1, others = ? WHERE number = ?", (others, visit)
            )

    def tick(self, machine: str, moment: float, seconds: float) -> None:
        """Note how long the program took that is measured now and then."""
        with self.transaction():
            values = (machine, moment, seconds)
            self.connection.execute("INSERT INTO clocks VALUES (?, ?, ?)", values)

    def finished(self, machine: str, threads: int, seed: int) -> set[int]:
        """Return the visits of a seed that are finished, with so many threads on such machines."""
        query = (
            "SELECT place FROM visits WHERE machine = ? AND threads = ? AND seed = ? AND done = 1"
        )
        return {int(place) for (place,) in self._asked(query, (machine, threads, seed))}

    def rows_of(self, visit: int) -> tuple[Row, ...]:
        """Return the rows of a visit, in the order in which they were measured."""
        query = f"{SELECT_ROWS} WHERE r.visit = ? ORDER BY r.place"
        return tuple(self._row(values) for _, *values in self._asked(query, (visit,)))

    def known(self, visit: int) -> dict[tuple[str, str], Row]:
        """Return what is known of the case of a visit, by schedule and mapping, from any visit."""
        query = (
            f"{SELECT_ROWS} JOIN visits v ON v.number = ? "
            "WHERE r.kase = v.kase AND r.machine = v.machine AND r.threads = v.threads"
        )
        found = (self._row(values) for _, *values in self._asked(query, (visit,)))
        return {(one.schedule, one.mapping): one for one in found}

    def count(self) -> int:
        """Return how many rows there are."""
        ((count,),) = self._asked("SELECT count(*) FROM rows")
        return int(count)

    def clocks(self) -> list[tuple[str, float, float]]:
        """Return how long the program took that is measured now and then.

        Each time stands behind the key of the machine and the moment.
        """
        return [(key, moment, seconds) for key, moment, seconds in self._asked(_CLOCKS)]

    def all(self, machine: str | None = None) -> Iterator[Found]:
        """Yield all rows, visit by visit, of one kind of machine or of each."""
        for visit, rows in self.visits(machine):
            for row in rows:
                yield Found(visit, row)

    def visits(self, machine: str | None = None) -> Iterator[tuple[Visit, tuple[Row, ...]]]:
        """Yield all visits with their rows, those of one kind of machine or of each."""
        query = (
            "SELECT v.number, p.name, p.text, c.parameters, v.place, v.seed, v.threads, v.machine, "
            "v.moment, v.others FROM visits v JOIN cases c ON c.number = v.kase "
            "JOIN programs p ON p.number = c.program ORDER BY v.number"
        )
        for number, name, text, parameters, *rest in self._asked(query):
            place, seed, threads, key, moment, others = rest
            if machine is not None and key != machine:
                continue
            case = self._case(name, parameters)
            visit = Visit(case, place, seed, threads, key, moment, others, text)
            yield visit, self.rows_of(number)

    def expect_another(self, path: Path) -> None:
        """Refuse to have something else written over the corpus.

        Raises:
            InputError: it is the corpus's file.
        """
        if path.resolve() == self.path.resolve():
            raise InputError(f"{path}: expected another file than the corpus, found the same")

    def check(self) -> list[str]:
        """Return what is wrong with the file, nothing if it is whole."""
        found: list[str] = []
        try:
            said = [text for (text,) in self.connection.execute("PRAGMA integrity_check(5)")]
            found += [f"SQLite: {one}" for one in said if one != "ok"]
            damaged = self._damaged()
            # What rows refer to is looked at with them.
            broken = [one for one in self._asked("PRAGMA foreign_key_check") if one[0] != "rows"]
            found += [f"{table}: row {row} refers to nothing" for table, row, *_ in broken[:5]]
            found += self._unreadable()
        except (sqlite3.Error, InputError) as error:
            return [*found, f"SQLite: {error}"]
        found += [f"rows: number {place} of visit {visit} is damaged" for visit, place in damaged]
        return found

    def mend(self) -> int:
        """Take out the rows that are damaged, and return how many they were.

        The visits that they were of are not finished any more, so a collection measures them again.

        Raises:
            InputError: the file itself is damaged.
        """
        damaged = self._damaged()
        visits = {visit for visit, _ in damaged}
        with self.transaction():
            self.connection.executemany("DELETE FROM rows WHERE visit = ? AND place = ?", damaged)
            self.connection.executemany(
                "UPDATE visits SET done = 0 WHERE number = ?", [(one,) for one in visits]
            )
        return len(damaged)

    def _unreadable(self) -> list[str]:
        """Return what is wrong with what is kept as JSON."""
        found = []
        try:
            self.machines()
        except InputError:
            found.append("machines: one that is no kind of machine")
        for number, text in self._asked("SELECT number, parameters FROM cases"):
            try:
                self._case("", text)
            except InputError:
                found.append(f"cases: number {number} has no sizes")
        return found[:5]

    def _damaged(self) -> list[tuple[int, int]]:
        """Return the visit and the place of rows that are not what was written.

        Their texts may be gone, or their visit, or they may say of another case than it does.
        """
        return [
            (visit, place)
            for visit, place, is_of_visit, *values in self._asked(ROWS_WITH_VISITS)
            if not is_of_visit or read_row(values) is None
        ]

    def _asked(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return what the database answers.

        Raises:
            InputError: the file is damaged.
        """
        with explained(self.path, _WHAT):
            return self.connection.execute(query, tuple(values)).fetchall()

    def _damage(self, table: str, found: str) -> InputError:
        """Return what to say of what is not as it was written."""
        return InputError(
            f"{self.path}: {table}: expected what was written, found {found[:200]}; "
            "`polygym corpus check --mend` takes out the rows that are damaged"
        )

    def _case(self, program: str, parameters: object) -> Case:
        try:
            sizes = json.loads(str(parameters))
        except ValueError:
            sizes = None
        if not isinstance(sizes, dict) or any(type(one) is not int for one in sizes.values()):
            raise self._damage("cases", f"{program} with the sizes {parameters!r}")
        return Case(program, tuple(sizes.items()))

    def _row(self, values: Sequence[object]) -> Row:
        found = read_row(values)
        if found is None:
            raise self._damage("rows", str(values))
        return found

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def __enter__(self) -> Self:
        """Return the corpus; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it, or nothing."""
        with transaction(self.connection, self.path, _WHAT):
            yield

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


_CLOCKS = "SELECT machine, moment, seconds FROM clocks"


def open_corpus(path: Path, *, begin: bool = False) -> Corpus:
    """Open the file of a corpus, or begin one.

    Raises:
        InputError: there is none, or it is damaged, or of another version.
    """
    if not path.exists() and not begin:
        raise InputError(f"{path}: expected a corpus, found no such file")
    if not path.exists():
        _create(path)
    with explained(path, _WHAT):
        connection = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE_SECONDS)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            row = connection.execute("SELECT format, version FROM corpus").fetchone()
        except BaseException:
            connection.close()
            raise
    if row != (FORMAT, VERSION):
        connection.close()
        raise InputError(
            f"{path}: expected a corpus of version {VERSION}, found {row}; another version of "
            "polygym has written it"
        )
    return Corpus(path, connection)


def _create(path: Path) -> None:
    """Make an empty corpus: under another name until it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)

    def fill(connection: sqlite3.Connection) -> None:
        connection.executescript(f"BEGIN; {TABLES} COMMIT;")
        connection.execute("INSERT INTO corpus VALUES (1, ?, ?, ?)", (FORMAT, VERSION, __version__))

    create(path, _WHAT, fill)
