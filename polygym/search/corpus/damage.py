"""Detection of damage in a corpus.

A line is damaged if its checksum differs, or if the line that it refers to is missing: a visit
without its machine, a row without its visit. A damaged corpus is refused, never repaired.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from polygym.search.corpus.checksums import (
    SELECT_CLOCKS,
    SELECT_MACHINES,
    SELECT_ROWS,
    SELECT_VISITS,
    checksum,
    decode_clock,
    decode_machine,
    decode_row,
    decode_visit,
)

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
