"""Corpora of version 2, which become such of this version when they are opened.

There rows alone had a check sum, of what they say and not of what they are of. What was whole gets
the sums of this version; what was damaged gets one that never fits, so it stays damaged.
"""

from __future__ import annotations

import sqlite3

from polygym.search.corpus.checksums import (
    SELECT_CLOCKS,
    SELECT_MACHINES,
    SELECT_VISITS,
    checksum,
    read_clock,
    read_machine,
    read_visit,
)
from polygym.search.corpus.damage import seal_corpus
from polygym.search.corpus.row_codec import SELECT_ROWS, read_row, row_checksum, row_key, row_texts
from polygym.search.corpus.rows import CorpusRow

FORMER_VERSION = 2
_NEVER = -1  # no sum is below 0


def former_sum(row: CorpusRow) -> int:
    """Return the check sum that a row had."""
    values = (row.status.value, row.seconds, row.baseline_seconds, row.detail)
    return checksum(*row_texts(row), *values)


def convert(connection: sqlite3.Connection) -> None:
    """Make a corpus of version 2 one of this version, within a transaction."""
    run = connection.execute
    (polygym,) = run("SELECT polygym FROM corpus").fetchone()
    for table in ("corpus", "machines", "visits", "clocks"):
        run(f"ALTER TABLE {table} ADD COLUMN sum INTEGER NOT NULL DEFAULT {_NEVER}")
    for key, document, _ in run(SELECT_MACHINES).fetchall():
        if read_machine(str(document)) is not None:
            run("UPDATE machines SET sum = ? WHERE key = ?", (checksum(key, document), key))
    whole = set()
    for *written, _ in run(SELECT_VISITS).fetchall():
        if read_visit(written) is not None:
            whole.add(written[0])
            run("UPDATE visits SET sum = ? WHERE number = ?", (checksum(*written), written[0]))
    for number, *written, _ in run(SELECT_CLOCKS).fetchall():
        if read_clock(written) is not None:
            run("UPDATE clocks SET sum = ? WHERE rowid = ?", (checksum(*written), number))
    for visit, place, *rest in run(SELECT_ROWS).fetchall():
        values = (visit, place, *rest)
        row, check = read_row(values), _NEVER
        if row is not None and visit in whole and former_sum(row) == values[-1]:
            check = row_checksum(place, row_key(values), row)
        run("UPDATE rows SET sum = ? WHERE visit = ? AND place = ?", (check, visit, place))
    seal_corpus(connection, polygym)
