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
from polygym.search.sweep.rows import (
    BackgroundLoadRow,
    BaselineTiming,
    Confirmation,
    EpisodeRow,
    ProgramRow,
    ProgramVariant,
    ReferenceTiming,
    ScheduleOutcome,
    SweepRun,
    Timing,
)
from polygym.search.sweep.schema import EXPECTED
from polygym.search.sweep.settings import SweepSetting, sweep_setting_from_json
from polygym.search.sweep.store_file import STORE_FILE, connect, stored_setting
from polygym.sqlite_files import sqlite_errors


@dataclass(frozen=True, slots=True)
class SweepContents:
    """All that a store held at a moment; kernels are in the order in which they were named."""

    setting: SweepSetting
    kernels: tuple[ProgramRow, ...]
    outcomes: tuple[ScheduleOutcome, ...]
    episodes: tuple[EpisodeRow, ...]
    baselines: tuple[BaselineTiming, ...]
    confirmations: tuple[Confirmation, ...]
    references: tuple[ReferenceTiming, ...]
    runs: tuple[SweepRun, ...] = ()
    background_loads: tuple[BackgroundLoadRow, ...] = ()
    variants: tuple[ProgramVariant, ...] = ()


def read_sweep(folder: Path) -> SweepContents:
    """Return what the store in a folder holds.

    Raises:
        InputError: there is none, or it is damaged.
    """
    path = folder / STORE_FILE
    connection = connect(path, writing=False)
    with closing(connection), sqlite_errors(path, EXPECTED):
        setting = sweep_setting_from_json(stored_setting(path, connection))
        connection.execute("BEGIN")
        try:
            return SweepContents(
                setting,
                kernels(connection),
                outcomes(connection),
                episodes(connection),
                _all(connection, "baselines", _baseline),
                _all(connection, "confirmations", _confirmation),
                _all(connection, "reference_times", _reference),
                runs(connection),
                disturbances(connection),
                homes(connection),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}: expected the rows that polygym sweep writes, found something else "
                f"({type(error).__name__}: {error})"
            ) from None


def runs(connection: sqlite3.Connection) -> tuple[SweepRun, ...]:
    """Return when and where the sweep was at work; nothing where the store does not know."""
    return _all(connection, "runs", _run) if _has(connection, "runs") else ()


def disturbances(connection: sqlite3.Connection) -> tuple[BackgroundLoadRow, ...]:
    """Return what else the machine did; nothing where the store does not know."""
    if not _has(connection, "disturbances"):
        return ()
    return _all(connection, "disturbances", lambda row: BackgroundLoadRow(*row))


def homes(connection: sqlite3.Connection) -> tuple[ProgramVariant, ...]:
    """Return how programs are changed; nothing where the store does not know."""
    if not _has(connection, "homes"):
        return ()
    return _all(connection, "homes", lambda row: ProgramVariant(*row))


def kernels(connection: sqlite3.Connection) -> tuple[ProgramRow, ...]:
    """Return the programs, in the order in which they were named."""
    return _all(connection, "kernels", lambda row: ProgramRow(*row))


def outcomes(
    connection: sqlite3.Connection, kernel: str | None = None
) -> tuple[ScheduleOutcome, ...]:
    """Return the outcomes, of one program or of all, in the order in which they were measured."""
    return _some(connection, "outcomes", kernel, "number", _outcome)


def episodes(connection: sqlite3.Connection, kernel: str | None = None) -> tuple[EpisodeRow, ...]:
    """Return the episodes, of one program or of all, each policy's in order."""
    order = "kernel, policy, number"
    return _some(connection, "episodes", kernel, order, lambda row: EpisodeRow(*row))


def confirmations(connection: sqlite3.Connection, kernel: str) -> tuple[Confirmation, ...]:
    """Return the confirmations of one program."""
    return _some(connection, "confirmations", kernel, "outcome", _confirmation)


def reference_names(connection: sqlite3.Connection, kernel: str, dataset: str) -> frozenset[str]:
    """Return what a program has been compared with at a size."""
    timings = references(connection, kernel)
    return frozenset(timing.name for timing in timings if timing.dataset == dataset)


def references(connection: sqlite3.Connection, kernel: str) -> tuple[ReferenceTiming, ...]:
    """Return what there is to compare one program with."""
    return _some(connection, "reference_times", kernel, "dataset, name", _reference)


def explored(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Return how many episodes there are of every program and policy."""
    query = "SELECT kernel, policy, count(*) FROM episodes GROUP BY kernel, policy"
    return {(kernel, policy): count for kernel, policy, count in connection.execute(query)}


def _has(connection: sqlite3.Connection, table: str) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    return bool(connection.execute(query, (table,)).fetchone() != (0,))


def _all(
    connection: sqlite3.Connection, table: str, make: Callable[[Sequence[Any]], Any]
) -> tuple[Any, ...]:
    return _some(connection, table, None, "rowid", make)


def _some(
    connection: sqlite3.Connection,
    table: str,
    kernel: str | None,
    order: str,
    make: Callable[[Sequence[Any]], Any],
) -> tuple[Any, ...]:
    """Return rows of a table as values; all names are this module's own."""
    where = "" if kernel is None else "WHERE kernel = ?"
    values = () if kernel is None else (kernel,)
    query = f"SELECT * FROM {table} {where} ORDER BY {order}"
    return tuple(make(row) for row in connection.execute(query, values))


def _timing(row: Sequence[Any]) -> Timing:
    status, seconds, baseline_seconds, samples, baseline_samples, detail = row
    return Timing(
        OutcomeStatus(status),
        float(seconds),
        float(baseline_seconds),
        _samples(samples),
        _samples(baseline_samples),
        detail,
    )


def _samples(text: str) -> tuple[float, ...]:
    return tuple(map(float, json.loads(text)))


def _outcome(row: Sequence[Any]) -> ScheduleOutcome:
    return ScheduleOutcome(row[0], row[1], row[2], _timing(row[3:]))


def _baseline(row: Sequence[Any]) -> BaselineTiming:
    return BaselineTiming(row[0], row[1], row[2], _samples(row[3]))


def _confirmation(row: Sequence[Any]) -> Confirmation:
    return Confirmation(row[0], row[1], row[2], _timing(row[3:]))


def _reference(row: Sequence[Any]) -> ReferenceTiming:
    return ReferenceTiming(row[0], row[1], row[2], _timing(row[3:]))


def _run(row: Sequence[Any]) -> SweepRun:
    moment, version, processor, cores, system, compilers = row
    named = tuple((str(name), str(text)) for name, text in json.loads(compilers))
    return SweepRun(moment, version, processor, cores, system, named)
