"""Check sums of what a corpus keeps: whatever a line means is in its sum, and so is what it is of.

A sum is taken of what SQLite gives back, so a value that is another one, or of another type, shows.
That of a visit covers the name and the text of its program and its sizes, wherever they stand;
programs, cases and texts have none of their own, since they mean nothing but in visits and rows.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from math import isfinite
from typing import Any

from polygym.mapping.machine import Machine
from polygym.runtime.evaluation.fingerprint import MachineFingerprint
from polygym.search.corpus.rows import CaseVisit, CorpusCase

PLANNED_FOR = "planned_for"

JOINED_CASES = "LEFT JOIN cases c ON c.number = v.kase LEFT JOIN programs p ON p.number = c.program"
SELECT_MACHINES = "SELECT key, document, sum FROM machines"
SELECT_CLOCKS = "SELECT rowid, machine, moment, seconds, sum FROM clocks"
SELECT_VISITS = (
    "SELECT v.number, p.name, p.text, c.parameters, v.place, v.seed, v.threads, v.machine, "
    f"v.moment, v.others, v.done, v.sum FROM visits v {JOINED_CASES}"
)


def checksum(*values: object) -> int:
    """Return the check sum of values."""
    return zlib.crc32(repr(values).encode())


def machine_of_values(values: Sequence[Any]) -> tuple[MachineFingerprint, Machine] | None:
    """Return the kind of machine of a line of :data:`SELECT_MACHINES`.

    With it comes that for which loops are planned there. None: it is not what was written.
    """
    *written, check = values
    return read_machine(str(written[1])) if checksum(*written) == check else None


def read_machine(document: str) -> tuple[MachineFingerprint, Machine] | None:
    """Return the kind of machine of a document; None where it is of none."""
    try:
        data = json.loads(document)
        machine = Machine(**data.pop(PLANNED_FOR))
        return MachineFingerprint(**{**data, "caches": tuple(data["caches"])}), machine
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def visit_of_values(values: Sequence[Any]) -> CaseVisit | None:
    """Return the visit of a line of :data:`SELECT_VISITS`; None: it is not what was written."""
    *written, check = values
    return read_visit(written) if checksum(*written) == check else None


def read_visit(written: Sequence[Any]) -> CaseVisit | None:
    """Return the visit of values without their sum; None where they are none's."""
    _, name, text, parameters, place, seed, threads, machine, moment, others, done = written
    case = read_case(name, parameters)
    is_whole = (
        case is not None
        and all(isinstance(one, str) for one in (text, machine))
        and all(type(one) is int for one in (place, seed, threads))
        and all(_is_time(one) for one in (moment, others))
        and done in (0, 1)
    )
    if case is None or not is_whole:
        return None
    return CaseVisit(case, place, seed, threads, machine, moment, others, text)


def read_case(name: object, parameters: object) -> CorpusCase | None:
    """Return a program at sizes; None where there are none."""
    try:
        sizes = json.loads(str(parameters))
    except (ValueError, RecursionError):
        return None
    if not isinstance(name, str) or not isinstance(sizes, dict):
        return None
    if any(type(size) is not int for size in sizes.values()):
        return None
    return CorpusCase.from_name(name, tuple(sizes.items()))


def clock_of_values(values: Sequence[Any]) -> tuple[str, float, float] | None:
    """Return machine, moment and seconds of a line of :data:`SELECT_CLOCKS`.

    It is None where it is not what was written.
    """
    _, *written, check = values
    return read_clock(written) if checksum(*written) == check else None


def read_clock(written: Sequence[Any]) -> tuple[str, float, float] | None:
    """Return machine, moment and seconds; None where they are none."""
    machine, moment, seconds = written
    if not isinstance(machine, str) or not _is_time(moment) or not _is_time(seconds):
        return None
    return (machine, moment, seconds) if seconds > 0 else None


def _is_time(value: object) -> bool:
    return isinstance(value, float) and isfinite(value) and value >= 0
