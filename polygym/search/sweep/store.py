"""Writing into the store of a sweep, which has every outcome the moment it is known.

Every method is one transaction, on the disk when it returns, unless several are put together; so
whatever ends a process loses the schedule in flight and nothing else. The tables are in
:mod:`polygym.search.sweep.rows`, how a store comes about in
:mod:`polygym.search.sweep.store`.

Opening the file of a store, or making it: for one setting, whole or not at all.

A store is in WAL mode: a caller that reads does not wait for the processes that write, nor they for
each other longer than a commit takes.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from polygym.autoschedule.program_recipes import UNCHANGED
from polygym.closeable import Closeable
from polygym.errors import InputError
from polygym.search.conditions import differences
from polygym.search.sweep import rows
from polygym.search.sweep.settings import SweepSetting
from polygym.sqlite_files import create_database, sqlite_errors, transaction


class SweepStore(Closeable):
    """A store that is open for writing; ``connection`` is for the reader, too."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep an open connection; :func:`open_store` makes one."""
        self.path, self.connection = path, connection
        self._is_together = False

    def begin_run(self, run: rows.SweepRun) -> str:
        """Keep where the sweep goes on, and return the version of polygym that began it ("": this).

        Raises:
            InputError: it was begun on another machine, whose times do not compare with this one's.
        """
        with self._transaction():
            first = self._first("version, processor, cores FROM runs ORDER BY moment LIMIT 1")
            if first is not None and first[1:] != (run.processor, run.cores):
                raise InputError(
                    f"{self.path}: expected the machine on which the sweep was begun, "
                    f"{first[1]} with {first[2]} cores, found {run.processor} with {run.cores}; "
                    "--out another folder begins a new one"
                )
            self._add("runs", run)
        return "" if first is None or first[0] == run.version else str(first[0])

    def set_kind(self, key: str, document: str) -> None:
        """Keep the kind of node that a cluster measures on.

        Raises:
            InputError: it was another one before.
        """
        with self._transaction():
            before = self._first("key, document FROM kinds")
            if before is None:
                self.connection.execute("INSERT INTO kinds VALUES (1, ?, ?)", (key, document))
            elif before[0] != key:
                raise InputError(
                    f"{self.path}: expected nodes of the kind on which the sweep was begun, "
                    f"{before[0]} ({before[1]}), found {key} ({document}); --out another folder "
                    "begins a new one"
                )

    def add_kernels(self, names: Sequence[str]) -> None:
        """Add programs; those that are there already stay as they are."""
        with self._transaction():
            query = "INSERT OR IGNORE INTO kernels (name) VALUES (?)"
            self.connection.executemany(query, [(name,) for name in names])

    def set_digest(self, kernel: str, digest: str) -> None:
        """Keep the fingerprint of a program's text.

        Raises:
            InputError: the text was another one when its schedules were measured.
        """
        with self._transaction():
            if self._first("digest FROM kernels WHERE name = ?", kernel) not in (("",), (digest,)):
                raise InputError(
                    f"{kernel}: expected the text whose schedules were measured before, found "
                    "another one; sweep it into another folder"
                )
            self._update_kernel(kernel, "digest = ?, error = ''", digest)

    def set_variant(self, variant: rows.ProgramVariant) -> None:
        """Keep how a program is changed.

        Raises:
            InputError: it was changed otherwise when its schedules were measured.
        """
        with self._transaction():
            before = self._first("* FROM variants WHERE kernel = ?", variant.kernel)
            if before is None:
                self._add("variants", variant)
            elif before != rows.column_values(variant):
                raise InputError(
                    f"{variant.kernel}: expected it to be changed as it was when its schedules "
                    f"were measured, {rows.ProgramVariant(*before)}, found {variant}; sweep it "
                    "into another folder"
                )

    def set_error(self, kernel: str, error: str) -> None:
        """Say why a program was left."""
        with self._transaction():
            self._update_kernel(kernel, "error = ?", error)

    def add_seconds(self, kernel: str, seconds: float) -> None:
        """Add to the time for which a program has been searched."""
        with self._transaction():
            self._update_kernel(kernel, "seconds = seconds + ?", seconds)

    def add_measured(self, episode: rows.EpisodeRow, schedule: str, timing: rows.Timing) -> int:
        """Add an episode and the outcome of its schedule; return the outcome's number."""
        with self._transaction():
            values = None, episode.kernel, schedule, *rows.column_values(timing)
            number = self._insert("INSERT INTO outcomes", values).lastrowid
            assert number is not None
            self._add("episodes", replace(episode, outcome=number))
        return number

    def add_episode(self, episode: rows.EpisodeRow) -> None:
        """Add an episode whose outcome is known already, or that has no schedule."""
        with self._transaction():
            self._add("episodes", episode)

    def add_baseline(self, baseline: rows.BaselineTiming) -> None:
        """Add what the original order took at a moment."""
        with self._transaction():
            self._add("baselines", baseline)

    def add_background_load(self, load: rows.BackgroundLoadRow) -> None:
        """Add what else the machine did while a program was measured."""
        with self._transaction():
            self._add("disturbances", load)

    def set_reference(self, reference: rows.ReferenceTiming) -> None:
        """Keep what a reference takes, in place of what it took before."""
        with self._transaction():
            self._insert("REPLACE INTO reference_times", rows.column_values(reference))

    def set_confirmations(
        self, confirmations: Sequence[rows.Confirmation], references: Sequence[rows.ReferenceTiming]
    ) -> None:
        """Keep what was measured side by side, in place of all that was there before."""
        with self._transaction():
            query = "DELETE FROM confirmations WHERE kernel = ? AND dataset = ?"
            self.connection.executemany(query, {(row.kernel, row.dataset) for row in confirmations})
            for confirmation in confirmations:
                self._add("confirmations", confirmation)
            for reference in references:
                self._insert("REPLACE INTO reference_times", rows.column_values(reference))

    def close(self) -> None:
        """Close the file; harmless the second time."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is one transaction; what is written by many comes in bundles.

        Where it fails, nothing of it is in the file.
        """
        with self._transaction():
            self._is_together = True
            try:
                yield
            finally:
                self._is_together = False

    def _transaction(self) -> AbstractContextManager[None]:
        if self._is_together:
            return nullcontext()
        return transaction(self.connection, self.path, rows.EXPECTED)

    def _first(self, query: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self.connection.execute(f"SELECT {query}", values).fetchone()
        return row

    def _update_kernel(self, kernel: str, assignment: str, value: object) -> None:
        self.connection.execute(f"UPDATE kernels SET {assignment} WHERE name = ?", (value, kernel))

    def _add(self, table: str, row: Any) -> None:
        self._insert(f"INSERT INTO {table}", rows.column_values(row))

    def _insert(self, command: str, values: Sequence[object]) -> sqlite3.Cursor:
        marks = ", ".join("?" * len(values))
        return self.connection.execute(f"{command} VALUES ({marks})", values)


def now() -> float:
    """Return the moment, as the table of baselines has it."""
    return time.time()


STORE_FILE = "sweep.sqlite"

# How long a process waits for another one's commit.
_LOCK_TIMEOUT_SECONDS = 60.0


def create_or_open(folder: Path, setting: SweepSetting) -> SweepStore:
    """Begin a sweep in a folder, or open the one that is there, which must have the same setting.

    Raises:
        InputError: there is one with another setting, or a file that is no store.
    """
    path = folder / STORE_FILE
    if path.exists():
        store = open_store(path)
        before, now = stored_setting(path, store.connection), setting.to_json()
        usual = {"function": None, **UNCHANGED.to_entries()}
        if changes := differences(usual | before, usual | now):
            store.close()
            raise InputError(
                f"{path}: expected the sweep that is to be continued, found another one: "
                f"{'; '.join(changes)}; --out another folder begins a new one"
            )
        return store

    def fill(connection: sqlite3.Connection) -> None:
        connection.executescript(f"PRAGMA journal_mode = DELETE; BEGIN; {rows.TABLES} COMMIT;")
        connection.execute("INSERT INTO setting VALUES (1, ?)", (json.dumps(setting.to_json()),))

    create_database(path, rows.EXPECTED, fill)
    return open_store(path)


def open_store(path: Path) -> SweepStore:
    """Open a store for writing.

    Raises:
        InputError: there is none, or it is damaged.
    """
    connection = connect(path, writing=True)
    with sqlite_errors(path, rows.EXPECTED):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        for table in rows.ADDED_TABLES:
            connection.execute(table)
    return SweepStore(path, connection)


def stored_kind(folder: Path) -> str:
    """Return the key of the kind of node that a folder's sweep measures on; "" for none yet."""
    path = folder / STORE_FILE
    if not path.exists():
        return ""
    with open_store(path) as store, sqlite_errors(path, rows.EXPECTED):
        row = store.connection.execute("SELECT key FROM kinds").fetchone()
    return "" if row is None else str(row[0])


def connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    """Open the file of a store, and see that it is one.

    Raises:
        InputError: it is missing, damaged, or something else.
    """
    if not path.is_file():
        raise InputError(f"{path}: expected the store of a sweep, found no such file")
    with sqlite_errors(path, rows.EXPECTED):
        mode = "mode=rw" if writing else "mode=ro"
        log = path.with_name(f"{path.name}-wal")
        if not (writing or log.exists() or os.access(path.parent, os.W_OK)):
            mode = "immutable=1"  # a reader of a store in WAL mode writes files beside it, usually
        uri, wait = f"{path.absolute().as_uri()}?{mode}", _LOCK_TIMEOUT_SECONDS
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=wait)
        try:
            connection.execute("SELECT count(*) FROM setting").fetchone()
            stored_setting(path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def stored_setting(path: Path, connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the setting of a store, as JSON."""
    with sqlite_errors(path, rows.EXPECTED):
        row = connection.execute("SELECT document FROM setting").fetchone()
    try:
        document = json.loads(row[0]) if row else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected the setting of a sweep in it, found none")
    return document
