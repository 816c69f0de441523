"""A row as the file keeps it: its texts once for all, and a check sum.

The sum covers what the row says, its place, and what its visit is of: the program with its text,
the sizes, the threads, the machine, the seed and the visit's own place. A row that is read is one
that was written: where the sum is another, it is damaged, and none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.corpus.checksums import JOINED_CASES, checksum
from polygym.search.corpus.rows import CorpusRow

KEY_COLUMNS = "p.name, p.text, c.parameters, v.place, v.seed, v.threads, v.machine"
SELECT_ROWS = (
    "SELECT r.visit, r.place, "
    "coalesce((r.kase, r.machine, r.threads) = (v.kase, v.machine, v.threads), 0), "
    f"{KEY_COLUMNS}, s.text, m.text, d.text, r.status, r.seconds, r.baseline_seconds, r.detail, "
    "r.sum "
    f"FROM rows r LEFT JOIN visits v ON v.number = r.visit {JOINED_CASES} "
    "LEFT JOIN texts s ON s.number = r.schedule LEFT JOIN texts m ON m.number = r.mapping "
    "LEFT JOIN texts d ON d.number = r.done"
)
_KEY_COLUMNS = slice(3, 10)
_VALUE_COLUMNS = slice(10, 17)


def row_texts(row: CorpusRow) -> tuple[str, str, str]:
    """Return what is long and often the same, so that the file has it once."""
    return row.schedule, row.mapping, row.done


def row_checksum(place: object, is_of: Sequence[object], row: CorpusRow) -> int:
    """Return the check sum of a row at a place of a visit; ``row_key`` says of what that is."""
    values = (row.status.value, row.seconds, row.baseline_seconds, row.detail)
    return checksum(place, *is_of, *row_texts(row), *values)


def row_of_values(values: Sequence[Any]) -> CorpusRow | None:
    """Return the row of a line of :data:`SELECT_ROWS`; None where it is not what was written."""
    row = read_row(values)
    if row is None or row_checksum(values[1], values[_KEY_COLUMNS], row) != values[-1]:
        return None
    return row


def read_row(values: Sequence[Any]) -> CorpusRow | None:
    """Return the row of a line, whatever its sum; None where it is none, or not of its visit."""
    schedule, mapping, done, status, seconds, baseline, detail = values[_VALUE_COLUMNS]
    if not values[2]:
        return None
    try:
        return CorpusRow(
            str(schedule),
            str(mapping),
            str(done),
            OutcomeStatus(status),
            float(str(seconds)),
            float(str(baseline)),
            str(detail),
        )
    except ValueError:
        return None


def row_key(values: Sequence[Any]) -> Sequence[Any]:
    """Return what says of what the visit of a line of :data:`SELECT_ROWS` is."""
    return values[_KEY_COLUMNS]
