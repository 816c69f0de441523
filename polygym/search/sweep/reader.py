"""Reading a sweep's store, also while the sweep is at work, as values.

A reader sees what was committed when it asks. :func:`read_sweep` takes everything in one
transaction, so that its parts belong to one moment.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.sweep import rows
from polygym.search.sweep.settings import SweepSetting, sweep_setting_from_json
from polygym.search.sweep.store import STORE_FILE, connect, stored_setting
from polygym.sqlite_files import sqlite_errors


@dataclass(frozen=True, slots=True)
class SweepContents:
    """All that a store held at a moment; kernels are in the order in which they were named."""

    setting: SweepSetting
    kernels: tuple[rows.ProgramRow, ...]
    outcomes: tuple[rows.ScheduleOutcome, ...]
    episodes: tuple[rows.EpisodeRow, ...]
    baselines: tuple[rows.BaselineTiming, ...]
    confirmations: tuple[rows.Confirmation, ...]
    references: tuple[rows.ReferenceTiming, ...]
    runs: tuple[rows.SweepRun, ...] = ()
    background_loads: tuple[rows.BackgroundLoadRow, ...] = ()
    variants: tuple[rows.ProgramVariant, ...] = ()


def read_sweep(folder: Path) -> SweepContents:
    """Return what the store in a folder holds.

    Raises:
        InputError: there is none, or it is damaged.
    """
    path = folder / STORE_FILE
    connection = connect(path, writing=False)
    with closing(connection), sqlite_errors(path, rows.EXPECTED):
        setting = sweep_setting_from_json(stored_setting(path, connection))
        connection.execute("BEGIN")
        try:
            return SweepContents(
                setting,
                kernels(connection),
                outcomes(connection),
                episodes(connection),
                _rows(connection, "baselines", _baseline),
                _rows(connection, "confirmations", _timed(rows.Confirmation)),
                _rows(connection, "reference_times", _timed(rows.ReferenceTiming)),
                _rows(connection, "runs", _run),
                _rows(connection, "disturbances", rows.BackgroundLoadRow),
                tuple(variants(connection).values()),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}: expected the rows that polygym sweep writes, found something else "
                f"({type(error).__name__}: {error})"
            ) from None


def variants(connection: sqlite3.Connection) -> dict[str, rows.ProgramVariant]:
    """Return how programs are changed, by their names; nothing where the store does not know."""
    return {row.kernel: row for row in _rows(connection, "variants", rows.ProgramVariant)}


def kernels(connection: sqlite3.Connection) -> tuple[rows.ProgramRow, ...]:
    """Return the programs, in the order in which they were named."""
    return _rows(connection, "kernels", rows.ProgramRow)


def outcomes(
    connection: sqlite3.Connection, kernel: str | None = None
) -> tuple[rows.ScheduleOutcome, ...]:
    """Return the outcomes, of one program or of all, in the order in which they were measured."""
    return _rows(connection, "outcomes", _timed(rows.ScheduleOutcome), kernel, "number")


def episodes(
    connection: sqlite3.Connection, kernel: str | None = None
) -> tuple[rows.EpisodeRow, ...]:
    """Return the episodes, of one program or of all, each policy's in order."""
    return _rows(connection, "episodes", rows.EpisodeRow, kernel, "kernel, policy, number")


def confirmations(connection: sqlite3.Connection, kernel: str) -> tuple[rows.Confirmation, ...]:
    """Return the confirmations of one program."""
    return _rows(connection, "confirmations", _timed(rows.Confirmation), kernel, "outcome")


def reference_names(connection: sqlite3.Connection, kernel: str, dataset: str) -> frozenset[str]:
    """Return what a program has been compared with at a size."""
    timings = references(connection, kernel)
    return frozenset(timing.name for timing in timings if timing.dataset == dataset)


def references(connection: sqlite3.Connection, kernel: str) -> tuple[rows.ReferenceTiming, ...]:
    """Return what there is to compare one program with."""
    order = "dataset, name"
    return _rows(connection, "reference_times", _timed(rows.ReferenceTiming), kernel, order)


def explored(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Return how many episodes there are of every program and policy."""
    query = "SELECT kernel, policy, count(*) FROM episodes GROUP BY kernel, policy"
    return {(kernel, policy): count for kernel, policy, count in connection.execute(query)}


def _rows(
    connection: sqlite3.Connection,
    table: str,
    make: Callable[..., Any],
    kernel: str | None = None,
    order: str = "rowid",
) -> tuple[Any, ...]:
    """Return rows of a table as values; there are none of a table that the store has not.

    All names are this module's own.
    """
    query = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    if connection.execute(query, (table,)).fetchone() == (0,):
        return ()
    where, values = ("", ()) if kernel is None else ("WHERE kernel = ?", (kernel,))
    query = f"SELECT * FROM {table} {where} ORDER BY {order}"
    return tuple(make(*row) for row in connection.execute(query, values))


def _timed(kind: Callable[..., Any]) -> Callable[..., Any]:
    """Return what makes rows of a kind whose last field is a timing, behind three others."""
    return lambda *row: kind(*row[:3], _timing(*row[3:]))


def _timing(
    status: str, seconds: float, baseline: float, samples: str, baseline_samples: str, detail: str
) -> rows.Timing:
    times = float(seconds), float(baseline), _samples(samples), _samples(baseline_samples)
    return rows.Timing(OutcomeStatus(status), *times, detail)


def _samples(text: str) -> tuple[float, ...]:
    return tuple(map(float, json.loads(text)))


def _baseline(kernel: str, dataset: str, moment: float, samples: str) -> rows.BaselineTiming:
    return rows.BaselineTiming(kernel, dataset, moment, _samples(samples))


def _run(*row: Any) -> rows.SweepRun:
    compilers: Sequence[Any] = json.loads(row[-1])
    named = tuple((str(name), str(text)) for name, text in compilers)
    return rows.SweepRun(*(*row[:-1], named))
