"""What is damaged in a corpus, and taking it out.

A line is damaged where its sum says so, or where what it is of is not there: a visit whose machine
is gone, a row whose visit is. What is taken out takes along what is of it: a machine its visits and
its clock, a visit its rows. So what is left is what was written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from polygym.search.corpus.checksums import (
    SELECT_CLOCKS,
    SELECT_MACHINES,
    SELECT_VISITS,
    checksum,
    clock_of_values,
    machine_of_values,
    visit_of_values,
)
from polygym.search.corpus.row_codec import SELECT_ROWS, row_of_values
from polygym.search.corpus.schema import FORMAT, VERSION

_HEADING = "*** in database main ***"
ADVICE = "`polygym corpus check --mend` takes out what is damaged"
"""What can be done of damage, as the end of a sentence."""

Query: TypeAlias = Callable[[str], list[tuple[Any, ...]]]
"""Returns what the database answers to a query."""

SELECT_CORPUS = "SELECT format, version, polygym, sum FROM corpus"
_UNUSED = {
    "cases": ("visit", "number NOT IN (SELECT kase FROM visits)"),
    "programs": ("case", "number NOT IN (SELECT program FROM cases)"),
}


@dataclass(frozen=True, slots=True)
class CorpusDamage:
    """What cannot be trusted: keys, numbers and places; ``unused`` is what nothing refers to."""

    is_of_corpus: bool
    machines: tuple[Any, ...]
    visits: tuple[Any, ...]
    rows: tuple[tuple[Any, Any], ...]
    clocks: tuple[int, ...]
    unused: tuple[str, ...]

    @property
    def messages(self) -> list[str]:
        """Say it, line by line."""
        result = ["corpus: what says who began it is damaged"] if self.is_of_corpus else []
        result += [f"machines: {key!r:.60} is damaged" for key in self.machines]
        result += [
            f"visits: number {number} is damaged, or its case, its program or its machine"
            for number in self.visits
        ]
        result += [f"rows: number {place!r} of visit {visit!r} is damaged"
                  for visit, place in self.rows]  # fmt: skip
        result += [f"clocks: row {number} is damaged" for number in self.clocks]
        return [*result, *self.unused]


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """How much was taken out of a corpus."""

    rows: int
    visits: int
    clocks: int
    machines: int

    def __str__(self) -> str:
        """Return it for people."""
        counts = (
            (self.rows, "row"),
            (self.visits, "visit"),
            (self.clocks, "time of the clock"),
            (self.machines, "kind of machine"),
        )
        said = [_counted(count, name) for count, name in counts if count or name == "row"]
        return ", ".join(said)


def page_damage(ask: Query) -> list[str]:
    """Return what SQLite finds wrong in its pages; a twentieth of a second for 30,000 rows."""
    said = [line for (text,) in ask("PRAGMA integrity_check(5)") for line in text.splitlines()]
    return [f"SQLite: {line}" for line in said if line not in ("ok", _HEADING)]


def find_damage(ask: Query) -> CorpusDamage:
    """Return what is damaged.

    What is of a machine or of a visit that is damaged goes with it, and is not named.
    """
    machines = {key: machine_of_values((key, *rest)) for key, *rest in ask(SELECT_MACHINES)}
    visits = {values[0]: visit_of_values(values) for values in ask(SELECT_VISITS)}
    clocks = {values[0]: clock_of_values(values) for values in ask(SELECT_CLOCKS)}
    named = {
        number
        for number, case_visit in visits.items()
        if case_visit is None or case_visit.machine not in machines
    }
    gone = named | {
        number for number, visit in visits.items() if visit and machines.get(visit.machine) is None
    }
    return CorpusDamage(
        is_of_corpus=any(checksum(*written) != check for *written, check in ask(SELECT_CORPUS)),
        machines=tuple(key for key, machine in machines.items() if machine is None),
        visits=tuple(sorted(named)),
        rows=tuple(
            (values[0], values[1])
            for values in ask(f"{SELECT_ROWS} ORDER BY r.visit, r.place")
            if values[0] not in gone and row_of_values(values) is None
        ),
        clocks=tuple(
            number for number, clock in clocks.items() if clock is None or clock[0] not in machines
        ),
        unused=tuple(
            f"{table}: number {number} has no {of}"
            for table, (of, where) in _UNUSED.items()
            for (number,) in ask(f"SELECT number FROM {table} WHERE {where}")
        ),
    )


def remove_damage(connection: sqlite3.Connection, found: CorpusDamage) -> RemovedRows:
    """Take out what is damaged, within a transaction in which no foreign keys are looked after.

    Visits that lose rows are not finished any more.
    """
    before = _counts(connection)
    run = connection.execute
    for key in found.machines:
        mark, value = _bound(key)
        of_key = f"machine = {mark}"
        run(f"DELETE FROM machines WHERE key = {mark}", (value,))
        run(f"DELETE FROM rows WHERE visit IN (SELECT number FROM visits WHERE {of_key})", (value,))
        run(f"DELETE FROM visits WHERE {of_key}", (value,))
        run(f"DELETE FROM clocks WHERE {of_key}", (value,))
    for number in found.visits:
        run("DELETE FROM rows WHERE visit = ?", (number,))
        run("DELETE FROM visits WHERE number = ?", (number,))
    for visit, place in found.rows:
        (mark, first), (other, second) = _bound(visit), _bound(place)
        own = f"visit = {mark} AND place = {other}"
        # Which visit a row was of may be what is damaged; then its case tells.
        run(
            f"UPDATE visits SET done = 0 WHERE number = {mark} OR (kase, machine, threads) = "
            f"(SELECT kase, machine, threads FROM rows WHERE {own})",
            (first, first, second),
        )
        run(f"DELETE FROM rows WHERE {own}", (first, second))
    for number in found.clocks:
        run("DELETE FROM clocks WHERE rowid = ?", (number,))
    for table, (_, where) in _UNUSED.items():
        run(f"DELETE FROM {table} WHERE {where}")
    run(
        "DELETE FROM texts WHERE number NOT IN (SELECT schedule FROM rows UNION "
        "SELECT mapping FROM rows UNION SELECT done FROM rows)"
    )
    if found.rows:
        seal_visits(connection)
    if found.is_of_corpus:
        seal_corpus(connection, "unknown")
    return RemovedRows(
        *(was - now for was, now in zip(before, _counts(connection), strict=True)),
    )


def seal_corpus(connection: sqlite3.Connection, polygym: str) -> None:
    """Note what a file is, and which polygym began it."""
    written = (FORMAT, VERSION, polygym)
    connection.execute(
        "REPLACE INTO corpus (only, format, version, polygym, sum) VALUES (1, ?, ?, ?, ?)",
        (*written, checksum(*written)),
    )


def seal_visits(connection: sqlite3.Connection, number: int | None = None) -> None:
    """Give a visit the sum of what it is now; None is every one."""
    where, values = ("", ()) if number is None else (" WHERE v.number = ?", (number,))
    for *written, _ in connection.execute(f"{SELECT_VISITS}{where}", values).fetchall():
        connection.execute(
            "UPDATE visits SET sum = ? WHERE number = ?", (checksum(*written), written[0])
        )


def _bound(value: object) -> tuple[str, object]:
    """Return how a query names a value, which may be a text that is no UTF-8, and what it gets."""
    if isinstance(value, str):
        return "CAST(? AS TEXT)", value.encode("utf-8", "surrogateescape")
    return "?", value


def _counts(connection: sqlite3.Connection) -> list[int]:
    return [
        int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        for table in ("rows", "visits", "clocks", "machines")
    ]


def _counted(count: int, name: str) -> str:
    if count == 1:
        return f"1 {name}"
    first, *rest = name.split(" ", 1)
    return " ".join((f"{count} {first}s", *rest))
