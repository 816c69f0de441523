"""The store of a sweep: an SQLite file that has every outcome the moment it is known.

It is in WAL mode: whoever reads does not wait for the processes that write, nor they for each other
longer than a commit takes. Every writing method is one transaction, on the disk when it returns; so
whatever ends a process loses the schedule in flight and nothing else.

=================  ============================================================================
table              one row for
=================  ============================================================================
``setting``        the setting of the sweep, as JSON
``runs``           a time that the sweep was begun or gone on with, and where
``kernels``        a program, with what was spent on it and why it was left
``outcomes``       a distinct schedule of a program, measured once
``episodes``       an episode of a policy; several may have one outcome
``baselines``      the original order's samples at a moment
``confirmations``  one of the best schedules, measured again at the larger size
``reference_times``  isl's schedule or another compiler's code, at a size
=================  ============================================================================
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from polygym.errors import InputError
from polygym.search.explore.conditions import differences
from polygym.search.sweep.rows import Baseline, Confirmation, Episode, Reference, Run, Timing
from polygym.search.sweep.setting import SweepSetting

STORE, LOCK = "sweep.sqlite", "sweep.lock"

# How long a process waits for another one's commit.
_PATIENCE_SECONDS = 60.0

# How long the processes of a sweep that was killed may take to end.
_LINGERING_SECONDS = 3.0

# SQLite's names of what is the machine's trouble and not the file's.
_OF_THE_SYSTEM = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_IOERR": errno.EIO,
    "SQLITE_READONLY": errno.EROFS,
    "SQLITE_BUSY": errno.EBUSY,
    "SQLITE_CANTOPEN": errno.EACCES,
}

_TIMING = """status TEXT NOT NULL, seconds REAL NOT NULL, baseline_seconds REAL NOT NULL,
    samples TEXT NOT NULL, baseline_samples TEXT NOT NULL, detail TEXT NOT NULL"""

_TABLES = f"""
CREATE TABLE setting (only INTEGER PRIMARY KEY CHECK (only = 1), document TEXT NOT NULL);
CREATE TABLE kernels (name TEXT PRIMARY KEY, digest TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE outcomes (number INTEGER PRIMARY KEY, kernel TEXT NOT NULL, schedule TEXT NOT NULL,
    {_TIMING}, UNIQUE (kernel, schedule));
CREATE TABLE episodes (kernel TEXT NOT NULL, policy TEXT NOT NULL, number INTEGER NOT NULL,
    outcome INTEGER REFERENCES outcomes (number), reason TEXT NOT NULL,
    PRIMARY KEY (kernel, policy, number)) WITHOUT ROWID;
CREATE TABLE baselines (kernel TEXT NOT NULL, dataset TEXT NOT NULL, moment REAL NOT NULL,
    samples TEXT NOT NULL);
CREATE TABLE confirmations (outcome INTEGER NOT NULL REFERENCES outcomes (number),
    kernel TEXT NOT NULL, dataset TEXT NOT NULL, {_TIMING}, PRIMARY KEY (outcome, dataset));
CREATE TABLE reference_times (kernel TEXT NOT NULL, dataset TEXT NOT NULL, name TEXT NOT NULL,
    {_TIMING}, PRIMARY KEY (kernel, dataset, name));
"""

# Not in the first stores of this version.
_RUNS = """CREATE TABLE IF NOT EXISTS runs (moment REAL NOT NULL, version TEXT NOT NULL,
    processor TEXT NOT NULL, cores INTEGER NOT NULL, system TEXT NOT NULL, compilers TEXT NOT NULL)
"""

_TIMING_VALUES = "?, ?, ?, ?, ?, ?"


class Store:
    """A store that is open for writing."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep an open connection; :func:`create_or_open` and :func:`open_store` make it."""
        self.path = path
        self._connection = connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for :mod:`polygym.search.sweep.reading`."""
        return self._connection

    def begin_run(self, run: Run) -> str:
        """Keep where the sweep goes on, and return the version of polygym that began it ("": this).

        Raises:
            InputError: it was begun on another machine, whose times do not compare with this one's.
        """
        with self._transaction():
            query = "SELECT version, processor, cores FROM runs ORDER BY moment LIMIT 1"
            first = self._connection.execute(query).fetchone()
            if first is not None and first[1:] != (run.processor, run.cores):
                raise InputError(
                    f"{self.path}: expected the machine on which the sweep was begun, "
                    f"{first[1]} with {first[2]} cores, found {run.processor} with {run.cores}; "
                    "--out another folder begins a new one"
                )
            self._connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (
                    run.moment,
                    run.version,
                    run.processor,
                    run.cores,
                    run.system,
                    json.dumps(run.compilers),
                ),
            )
        return "" if first is None or first[0] == run.version else str(first[0])

    def add_kernels(self, names: Sequence[str]) -> None:
        """Add programs; those that are there already stay as they are."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO kernels (name) VALUES (?)", [(name,) for name in names]
            )

    def keep_digest(self, kernel: str, digest: str) -> None:
        """Keep the fingerprint of a program's text.

        Raises:
            InputError: the text was another one when its schedules were measured.
        """
        with self._transaction():
            query = "SELECT digest FROM kernels WHERE name = ?"
            (before,) = self._connection.execute(query, (kernel,)).fetchone()
            if before not in ("", digest):
                raise InputError(
                    f"{kernel}: expected the text whose schedules were measured before, found "
                    "another one; sweep it into another folder"
                )
            self._update_kernel(kernel, "digest = ?, error = ''", digest)

    def fail(self, kernel: str, error: str) -> None:
        """Say why a program was left."""
        with self._transaction():
            self._update_kernel(kernel, "error = ?", error)

    def spend(self, kernel: str, seconds: float) -> None:
        """Add to the time for which a program has been searched."""
        with self._transaction():
            self._update_kernel(kernel, "seconds = seconds + ?", seconds)

    def add_measured(self, episode: Episode, schedule: str, timing: Timing) -> int:
        """Add an episode and the outcome of its schedule; return the outcome's number."""
        with self._transaction():
            number = self._connection.execute(
                f"INSERT INTO outcomes VALUES (NULL, ?, ?, {_TIMING_VALUES})",
                (episode.kernel, schedule, *_packed(timing)),
            ).lastrowid
            assert number is not None
            self._insert_episode(episode, number)
        return number

    def add_episode(self, episode: Episode) -> None:
        """Add an episode whose outcome is known already, or that has no schedule."""
        with self._transaction():
            self._insert_episode(episode, episode.outcome)

    def add_baseline(self, baseline: Baseline) -> None:
        """Add what the original order took at a moment."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO baselines VALUES (?, ?, ?, ?)",
                (
                    baseline.kernel,
                    baseline.dataset,
                    baseline.moment,
                    json.dumps(baseline.samples),
                ),
            )

    def set_reference(self, reference: Reference) -> None:
        """Keep what a reference takes, in place of what it took before."""
        with self._transaction():
            self._replace_reference(reference)

    def set_confirmations(
        self, confirmations: Sequence[Confirmation], references: Sequence[Reference]
    ) -> None:
        """Keep what was measured side by side, in place of all that was there before."""
        with self._transaction():
            for kernel, dataset in {(one.kernel, one.dataset) for one in confirmations}:
                self._connection.execute(
                    "DELETE FROM confirmations WHERE kernel = ? AND dataset = ?", (kernel, dataset)
                )
            for one in confirmations:
                self._connection.execute(
                    f"INSERT INTO confirmations VALUES (?, ?, ?, {_TIMING_VALUES})",
                    (one.outcome, one.kernel, one.dataset, *_packed(one.timing)),
                )
            for reference in references:
                self._replace_reference(reference)

    def close(self) -> None:
        """Close the file; harmless the second time."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return the store; leaving the block closes it."""
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
    def _transaction(self) -> Iterator[None]:
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back already, where the disk is full for example; what it
                # says to another attempt would hide why.
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise

    def _update_kernel(self, kernel: str, assignment: str, value: object) -> None:
        self._connection.execute(f"UPDATE kernels SET {assignment} WHERE name = ?", (value, kernel))

    def _insert_episode(self, episode: Episode, outcome: int | None) -> None:
        self._connection.execute(
            "INSERT INTO episodes VALUES (?, ?, ?, ?, ?)",
            (episode.kernel, episode.policy, episode.index, outcome, episode.reason),
        )

    def _replace_reference(self, one: Reference) -> None:
        self._connection.execute(
            f"REPLACE INTO reference_times VALUES (?, ?, ?, {_TIMING_VALUES})",
            (one.kernel, one.dataset, one.name, *_packed(one.timing)),
        )


@contextmanager
def claimed(folder: Path) -> Iterator[int]:
    """Hold a sweep's folder: inside, no other sweep works there.

    The lock is on a file, whose descriptor is given: processes that inherit it hold the lock as
    long as they live. Those of a sweep that was killed end by themselves, which may take a moment.

    Raises:
        InputError: another sweep is at work there.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + _LINGERING_SECONDS
        while not _locked(descriptor):
            if time.monotonic() > deadline:
                raise InputError(
                    f"{folder}: expected nobody else to write it, found another sweep at work"
                )
            time.sleep(0.05)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Lock a file, unless somebody else has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def create_or_open(folder: Path, setting: SweepSetting) -> Store:
    """Begin a sweep in a folder, or open the one that is there, which must have the same setting.

    Raises:
        InputError: there is one with another setting, or a file that is no store.
    """
    path = folder / STORE
    if path.exists():
        store = open_store(path)
        before, now = _setting_in(path, store.connection), setting.to_json()
        if found := differences(before, now):
            store.close()
            raise InputError(
                f"{path}: expected the sweep that is to be continued, found another one: "
                f"{'; '.join(found)}; --out another folder begins a new one"
            )
        return store
    # Under another name until it is complete: a process that is killed leaves no half a store.
    beside = folder / f".{STORE}.new"
    beside.unlink(missing_ok=True)  # one that was killed has left it; the folder is ours alone
    with explained(path):
        connection = sqlite3.connect(beside, isolation_level=None)
        try:
            connection.executescript(f"PRAGMA journal_mode = DELETE; BEGIN; {_TABLES} COMMIT;")
            connection.execute(
                "INSERT INTO setting VALUES (1, ?)", (json.dumps(setting.to_json()),)
            )
        finally:
            connection.close()
        os.replace(beside, path)
    return open_store(path)


def open_store(path: Path) -> Store:
    """Open a store for writing.

    Raises:
        InputError: there is none, or it is damaged.
    """
    connection = connect(path, writing=True)
    with explained(path):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(_RUNS)
    return Store(path, connection)


def connect(path: Path, *, writing: bool) -> sqlite3.Connection:
    """Open the file of a store, and see that it is one.

    Raises:
        InputError: it is missing, damaged, or something else.
    """
    if not path.is_file():
        raise InputError(f"{path}: expected the store of a sweep, found no such file")
    with explained(path):
        mode = "mode=rw" if writing else "mode=ro"
        log = path.with_name(f"{path.name}-wal")
        if not (writing or log.exists() or os.access(path.parent, os.W_OK)):
            mode = "immutable=1"  # a reader of a store in WAL mode writes files beside it, usually
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            timeout=_PATIENCE_SECONDS,
        )
        try:
            connection.execute("SELECT count(*) FROM setting").fetchone()
            _setting_in(path, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def stored_setting(path: Path, connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the setting of a store, as JSON."""
    return dict(_setting_in(path, connection))


def _setting_in(path: Path, connection: sqlite3.Connection) -> Mapping[str, Any]:
    with explained(path):
        row = connection.execute("SELECT document FROM setting").fetchone()
    try:
        document = json.loads(row[0]) if row else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError(f"{path}: expected the setting of a sweep in it, found none")
    return document


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Inside, what SQLite complains of is an InputError, or an OSError where the disk is full."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        for prefix, number in _OF_THE_SYSTEM.items():
            if name.startswith(prefix):
                raise OSError(number, str(error), str(path)) from None
        raise InputError(
            f"{path}: expected the whole store of a sweep, found a file that SQLite cannot use: "
            f"{error}"
        ) from None


def now() -> float:
    """Return the moment, as the table of baselines has it."""
    return time.time()


def _packed(timing: Timing) -> tuple[object, ...]:
    return (
        timing.status.value,
        timing.seconds,
        timing.baseline_seconds,
        json.dumps(timing.samples),
        json.dumps(timing.baseline_samples),
        timing.detail,
    )
