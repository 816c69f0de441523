"""Decoders of the lines of a corpus, each of which checks the line's checksum.

A checksum covers the values that SQLite returns, so it also detects a value of another type. That
of a visit covers the name and the text of its program and its sizes; that of a row covers its
texts, its position and the case of its visit. Programs, cases and texts have no checksums of their
own, since they mean nothing outside visits and rows. A decoder returns None for a damaged line.
"""

import json
import zlib
from collections.abc import Sequence
from math import isfinite
from typing import Any

from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.rows import CaseVisit, CorpusCase, CorpusRow

PLANNED_FOR = "planned_for"

JOINED_CASES = (
    "LEFT JOIN cases c ON c.number = v.case_number LEFT JOIN programs p ON p.number = c.program"
)
KEY_COLUMNS = "p.name, p.text, c.parameters, v.position, v.seed, v.threads, v.machine"
SELECT_MACHINES = "SELECT key, document, checksum FROM machines"
SELECT_CLOCKS = "SELECT rowid, machine, moment, seconds, checksum FROM clocks"
SELECT_VISITS = (
    f"SELECT v.number, {KEY_COLUMNS}, v.moment, v.background_load, v.is_finished, v.checksum "
    f"FROM visits v {JOINED_CASES}"
)
SELECT_ROWS = (
    "SELECT r.visit, r.position, coalesce("
    "(r.case_number, r.machine, r.threads) = (v.case_number, v.machine, v.threads), 0), "
    f"{KEY_COLUMNS}, s.text, m.text, a.text, r.status, r.seconds, r.baseline_seconds, r.detail, "
    f"r.checksum FROM rows r LEFT JOIN visits v ON v.number = r.visit {JOINED_CASES} "
    "LEFT JOIN texts s ON s.number = r.schedule LEFT JOIN texts m ON m.number = r.mapping "
    "LEFT JOIN texts a ON a.number = r.achieved"
)
_KEY_COLUMNS = slice(3, 10)
_VALUE_COLUMNS = slice(10, 17)


def checksum(*values: object) -> int:
    """Return the checksum of values."""
    return zlib.crc32(repr(values).encode())


def decode_machine(values: Sequence[Any]) -> tuple[MachineFingerprint, Machine] | None:
    """Return the machine of a line of :data:`SELECT_MACHINES`, and that of its loop plans."""
    *written, check = values
    if checksum(*written) != check:
        return None
    try:
        data = json.loads(str(written[1]))
        machine = Machine(**data.pop(PLANNED_FOR))
        return MachineFingerprint(**{**data, "caches": tuple(data["caches"])}), machine
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def decode_visit(values: Sequence[Any]) -> CaseVisit | None:
    """Return the visit of a line of :data:`SELECT_VISITS`."""
    *written, check = values
    _, name, text, parameters, number, seed, threads, machine, moment, load, is_finished = written
    case = _decode_case(name, parameters)
    is_whole = (
        checksum(*written) == check
        and all(isinstance(value, str) for value in (text, machine))
        and all(type(value) is int for value in (number, seed, threads))
        and all(_is_time(value) for value in (moment, load))
        and is_finished in (0, 1)
    )
    if case is None or not is_whole:
        return None
    return CaseVisit(case, number, seed, threads, machine, moment, load, text)


def _decode_case(name: object, parameters: object) -> CorpusCase | None:
    try:
        sizes = json.loads(str(parameters))
    except (ValueError, RecursionError):
        return None
    if not isinstance(name, str) or not isinstance(sizes, dict):
        return None
    if any(type(size) is not int for size in sizes.values()):
        return None
    return CorpusCase.from_name(name, tuple(sizes.items()))


def decode_clock(values: Sequence[Any]) -> tuple[str, float, float] | None:
    """Return machine, moment and seconds of a line of :data:`SELECT_CLOCKS`."""
    _, *written, check = values
    machine, moment, seconds = written
    is_whole = isinstance(machine, str) and _is_time(moment) and _is_time(seconds) and seconds > 0
    return (machine, moment, seconds) if is_whole and checksum(*written) == check else None


def row_texts(row: CorpusRow) -> tuple[str, str, str]:
    """Return the long texts, which many rows share and the file stores once."""
    return row.schedule, row.mapping, row.achieved


def row_checksum(position: object, key: Sequence[object], row: CorpusRow) -> int:
    """Return the checksum of a row of a visit; ``key`` holds the visit's ``KEY_COLUMNS``."""
    values = (row.status.value, row.seconds, row.baseline_seconds, row.detail)
    return checksum(position, *key, *row_texts(row), *values)


def decode_row(values: Sequence[Any]) -> CorpusRow | None:
    """Return the row of a line of :data:`SELECT_ROWS`."""
    schedule, mapping, achieved, status, seconds, baseline, detail = values[_VALUE_COLUMNS]
    if not values[2]:
        return None  # its case is not that of its visit
    try:
        row = CorpusRow(
            str(schedule),
            str(mapping),
            str(achieved),
            OutcomeStatus(status),
            float(str(seconds)),
            float(str(baseline)),
            str(detail),
        )
    except ValueError:
        return None
    return row if row_checksum(values[1], values[_KEY_COLUMNS], row) == values[-1] else None


def _is_time(value: object) -> bool:
    return isinstance(value, float) and isfinite(value) and value >= 0
