"""Times that were measured, kept forever: one SQLite file, a row for everything that was timed.

A row belongs to a kind of machine, a version of what generates code, a number of threads, and a
text that says what ran: an operator with its literals, shapes and types, say. Times of other
machines or versions are never taken. The file stands where compiled comprehensions are kept, or
where ``path`` says; processes share it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import time

from polygym.files import cache_folder
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.sqlite_files import sqlite_errors
from polygym.tc.cache import compiler_fingerprint

_TABLE = """CREATE TABLE IF NOT EXISTS times (machine TEXT NOT NULL, code TEXT NOT NULL,
    threads INTEGER NOT NULL, operator TEXT NOT NULL, seconds REAL, made REAL NOT NULL,
    PRIMARY KEY (machine, code, threads, operator))"""
_FILE_DESCRIPTION = "a file with times"
_LOCK_TIMEOUT_SECONDS = 10.0


class MeasuredTimes:
    """Times on this kind of machine, by this version of polygym.

    ``None`` for a path keeps them as long as the process lives.
    """

    def __init__(self, path: Path | None, threads: int) -> None:
        """Read what is there of this machine."""
        self._path, self._threads = path, threads
        self._machine, self._code = machine_fingerprint().key, compiler_fingerprint()
        self._times: dict[str, float | None] = {}
        if path is not None and path.exists():
            with self._open() as file:
                rows = file.execute(
                    "SELECT operator, seconds FROM times WHERE machine = ? AND code = ? AND "
                    "threads = ?",
                    (self._machine, self._code, threads),
                )
                self._times = dict(rows)

    def __contains__(self, operator: str) -> bool:
        """Whether an operator was measured, with success or without."""
        return operator in self._times

    def __len__(self) -> int:
        """Return how many there are of this machine and version."""
        return len(self._times)

    def get(self, operator: str) -> float | None:
        """Return the seconds of an operator, None where it did not run or was never measured."""
        return self._times.get(operator)

    def put(self, operator: str, seconds: float | None) -> None:
        """Keep the seconds of an operator, None where it does not run."""
        self._times[operator] = seconds
        if self._path is None:
            return
        with self._open() as file:
            file.execute(
                "REPLACE INTO times VALUES (?, ?, ?, ?, ?, ?)",
                (self._machine, self._code, self._threads, operator, seconds, time()),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        assert self._path is not None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with (
            sqlite_errors(self._path, _FILE_DESCRIPTION),
            closing(
                sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None)
            ) as file,
        ):
            file.execute(_TABLE)
            yield file


def user_measured_times(name: str, threads: int) -> MeasuredTimes:
    """Return the store of a name in the user's cache folder; without one it is kept in memory."""
    place = cache_folder()
    return MeasuredTimes(None if place is None else place / name, threads)
