"""Writing into the store of a sweep, which has every outcome the moment it is known.

Every method is one transaction, on the disk when it returns, unless several are put together; so
whatever ends a process loses the schedule in flight and nothing else. The tables are in
:mod:`polygym.search.sweep.schema`, how a store comes about in
:mod:`polygym.search.sweep.store_file`.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polygym.closeable import Closeable
from polygym.errors import InputError
from polygym.search.sweep.rows import (
    BackgroundLoadRow,
    BaselineTiming,
    Confirmation,
    EpisodeRow,
    ProgramVariant,
    ReferenceTiming,
    SweepRun,
    Timing,
)
from polygym.search.sweep.schema import EXPECTED, TIMING_VALUES, timing_values
from polygym.sqlite_files import transaction


class SweepStore(Closeable):
    """A store that is open for writing."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep an open connection; see :mod:`polygym.search.sweep.store_file`."""
        self.path = path
        self._connection = connection
        self._is_together = False

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for :mod:`polygym.search.sweep.reader`."""
        return self._connection

    def begin_run(self, run: SweepRun) -> str:
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

    def set_kind(self, key: str, document: str) -> None:
        """Keep the kind of node that a cluster measures on.

        Raises:
            InputError: it was another one before.
        """
        with self._transaction():
            row = self._connection.execute("SELECT key, document FROM kinds").fetchone()
            if row is None:
                self._connection.execute("INSERT INTO kinds VALUES (1, ?, ?)", (key, document))
            elif row[0] != key:
                raise InputError(
                    f"{self.path}: expected nodes of the kind on which the sweep was begun, "
                    f"{row[0]} ({row[1]}), found {key} ({document}); --out another folder begins "
                    "a new one"
                )

    def add_kernels(self, names: Sequence[str]) -> None:
        """Add programs; those that are there already stay as they are."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO kernels (name) VALUES (?)", [(name,) for name in names]
            )

    def set_digest(self, kernel: str, digest: str) -> None:
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

    def set_variant(self, home: ProgramVariant) -> None:
        """Keep how a program is changed.

        Raises:
            InputError: it was changed otherwise when its schedules were measured.
        """
        query = "SELECT kernel, splitting, storage FROM homes WHERE kernel = ?"
        now = (home.kernel, home.splitting, home.storage)
        with self._transaction():
            before = self._connection.execute(query, (home.kernel,)).fetchone()
            if before is None:
                self._connection.execute("INSERT INTO homes VALUES (?, ?, ?)", now)
            elif before != now:
                raise InputError(
                    f"{home.kernel}: expected it to be changed as it was when its schedules were "
                    f"measured, {ProgramVariant(*before)}, found {home}; sweep it into another "
                    "folder"
                )

    def set_error(self, kernel: str, error: str) -> None:
        """Say why a program was left."""
        with self._transaction():
            self._update_kernel(kernel, "error = ?", error)

    def add_seconds(self, kernel: str, seconds: float) -> None:
        """Add to the time for which a program has been searched."""
        with self._transaction():
            self._update_kernel(kernel, "seconds = seconds + ?", seconds)

    def add_measured(self, episode: EpisodeRow, schedule: str, timing: Timing) -> int:
        """Add an episode and the outcome of its schedule; return the outcome's number."""
        with self._transaction():
            number = self._connection.execute(
                f"INSERT INTO outcomes VALUES (NULL, ?, ?, {TIMING_VALUES})",
                (episode.kernel, schedule, *timing_values(timing)),
            ).lastrowid
            assert number is not None
            self._insert_episode(episode, number)
        return number

    def add_episode(self, episode: EpisodeRow) -> None:
        """Add an episode whose outcome is known already, or that has no schedule."""
        with self._transaction():
            self._insert_episode(episode, episode.outcome)

    def add_baseline(self, baseline: BaselineTiming) -> None:
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

    def add_background_load(self, one: BackgroundLoadRow) -> None:
        """Add what else the machine did while a program was measured."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO disturbances VALUES (?, ?, ?, ?, ?, ?)",
                (one.kernel, one.dataset, one.moment, one.seconds, one.others, one.stolen),
            )

    def set_reference(self, reference: ReferenceTiming) -> None:
        """Keep what a reference takes, in place of what it took before."""
        with self._transaction():
            self._replace_reference(reference)

    def set_confirmations(
        self, confirmations: Sequence[Confirmation], references: Sequence[ReferenceTiming]
    ) -> None:
        """Keep what was measured side by side, in place of all that was there before."""
        with self._transaction():
            for kernel, dataset in {
                (confirmation.kernel, confirmation.dataset) for confirmation in confirmations
            }:
                self._connection.execute(
                    "DELETE FROM confirmations WHERE kernel = ? AND dataset = ?", (kernel, dataset)
                )
            for confirmation in confirmations:
                self._connection.execute(
                    f"INSERT INTO confirmations VALUES (?, ?, ?, {TIMING_VALUES})",
                    (
                        confirmation.outcome,
                        confirmation.kernel,
                        confirmation.dataset,
                        *timing_values(confirmation.timing),
                    ),
                )
            for reference in references:
                self._replace_reference(reference)

    def close(self) -> None:
        """Close the file; harmless the second time."""
        self._connection.close()

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

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._is_together:
            yield
            return
        with transaction(self._connection, self.path, EXPECTED):
            yield

    def _update_kernel(self, kernel: str, assignment: str, value: object) -> None:
        self._connection.execute(f"UPDATE kernels SET {assignment} WHERE name = ?", (value, kernel))

    def _insert_episode(self, episode: EpisodeRow, outcome: int | None) -> None:
        self._connection.execute(
            "INSERT INTO episodes VALUES (?, ?, ?, ?, ?)",
            (episode.kernel, episode.policy, episode.index, outcome, episode.reason),
        )

    def _replace_reference(self, one: ReferenceTiming) -> None:
        self._connection.execute(
            f"REPLACE INTO reference_times VALUES (?, ?, ?, {TIMING_VALUES})",
            (one.kernel, one.dataset, one.name, *timing_values(one.timing)),
        )


def now() -> float:
    """Return the moment, as the table of baselines has it."""
    return time.time()
