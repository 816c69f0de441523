"""Decoders of the lines of a corpus, each of which checks the line's checksum.

A checksum covers the values that SQLite returns, so it also detects a value of another type. That
of a visit covers the name and the text of its program and its sizes; that of a row covers its
texts, its position and the case of its visit. Programs, cases and texts have no checksums of their
own, since they mean nothing outside visits and rows. A decoder returns None for a damaged line.

Detection of damage in a corpus.

A line is damaged if its checksum differs, or if the line that it refers to is missing: a visit
without its machine, a row without its visit. A damaged corpus is refused, never repaired.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, TypeAlias

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


def row_values(row: CorpusRow) -> tuple[str, float, float, str]:
    """Return the other values of a row."""
    return row.status.value, row.seconds, row.baseline_seconds, row.detail


def row_checksum(position: object, key: Sequence[object], row: CorpusRow) -> int:
    """Return the checksum of a row of a visit; ``key`` holds the visit's ``KEY_COLUMNS``."""
    return checksum(position, *key, *row_texts(row), *row_values(row))


def decode_row(values: Sequence[Any]) -> CorpusRow | None:
    """Return the row of a line of :data:`SELECT_ROWS`."""
    schedule, mapping, achieved, status, seconds, baseline, detail = values[_VALUE_COLUMNS]
    if not values[2]:
        return None  # its case is not that of its visit
    try:
        kind, times = OutcomeStatus(status), (float(str(seconds)), float(str(baseline)))
        row = CorpusRow(str(schedule), str(mapping), str(achieved), kind, *times, str(detail))
    except ValueError:
        return None
    return row if row_checksum(values[1], values[_KEY_COLUMNS], row) == values[-1] else None


def _is_time(value: object) -> bool:
    return isinstance(value, float) and isfinite(value) and value >= 0


_HEADING = "*** in database main ***"
ADVICE = "restore a copy of the file, or collect into a new file"
"""Advice for the user of a damaged corpus, as the end of a sentence."""

Query: TypeAlias = Callable[[str], list[tuple[Any, ...]]]
"""A function that returns the database's answer to a query."""

_SELECT_CORPUS = "SELECT format, version, polygym, checksum FROM corpus"
_UNUSED = {
    "cases": ("visit", "number NOT IN (SELECT case_number FROM visits)"),
    "programs": ("case", "number NOT IN (SELECT program FROM cases)"),
}


def find_page_damage(query: Query) -> list[str]:
    """Return the errors that SQLite finds in its pages, which takes 50 ms for 30,000 rows."""
    lines = [line for (text,) in query("PRAGMA integrity_check(5)") for line in text.splitlines()]
    return [f"SQLite: {line}" for line in lines if line not in ("ok", _HEADING)]


def find_line_damage(query: Query) -> list[str]:
    """Return a message for each damaged line, and for each that nothing refers to.

    Visits of a damaged machine and rows of a damaged visit are not named.
    """
    machines = {key: decode_machine((key, *rest)) for key, *rest in query(SELECT_MACHINES)}
    visits = {values[0]: decode_visit(values) for values in query(SELECT_VISITS)}
    clocks = {values[0]: decode_clock(values) for values in query(SELECT_CLOCKS)}
    damaged = {
        number for number, visit in visits.items() if visit is None or visit.machine not in machines
    }
    unreadable = damaged | {
        number for number, visit in visits.items() if visit and machines.get(visit.machine) is None
    }
    is_header_damaged = any(checksum(*values) != check for *values, check in query(_SELECT_CORPUS))
    return [
        *(["corpus: the header is damaged"] if is_header_damaged else []),
        *(f"machines: {key!r:.60} is damaged" for key, value in machines.items() if value is None),
        *(
            f"visits: number {number} is damaged, or its case, its program or its machine"
            for number in sorted(damaged)
        ),
        *(
            f"rows: number {values[1]!r} of visit {values[0]!r} is damaged"
            for values in query(f"{SELECT_ROWS} ORDER BY r.visit, r.position")
            if values[0] not in unreadable and decode_row(values) is None
        ),
        *(
            f"clocks: row {number} is damaged"
            for number, clock in clocks.items()
            if clock is None or clock[0] not in machines
        ),
        *(
            f"{table}: number {number} has no {referrer}"
            for table, (referrer, where) in _UNUSED.items()
            for (number,) in query(f"SELECT number FROM {table} WHERE {where}")
        ),
    ]
