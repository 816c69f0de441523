"""A row as the file keeps it: its texts once for all, and a check sum.

A row that is read is one that was written: where the sum is another, it is damaged, and none.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from polygym.measure.worker.outcome import Status
from polygym.search.corpus.rows import Row

_COLUMNS = "s.text, m.text, d.text, r.status, r.seconds, r.baseline_seconds, r.detail, r.sum"
SELECT_ROWS = (
    f"SELECT r.place, {_COLUMNS} FROM rows r JOIN texts s ON s.number = r.schedule "
    "JOIN texts m ON m.number = r.mapping JOIN texts d ON d.number = r.done"
)
ROWS_WITH_VISITS = (
    "SELECT r.visit, r.place, "
    "coalesce((r.kase, r.machine, r.threads) = (v.kase, v.machine, v.threads), 0), "
    f"{_COLUMNS} FROM rows r LEFT JOIN visits v ON v.number = r.visit "
    "LEFT JOIN texts s ON s.number = r.schedule LEFT JOIN texts m ON m.number = r.mapping "
    "LEFT JOIN texts d ON d.number = r.done ORDER BY r.visit, r.place"
)


def texts_of(row: Row) -> tuple[str, str, str]:
    """Return what is long and often the same, so that the file has it once."""
    return row.schedule, row.mapping, row.done


def check_sum(row: Row) -> int:
    """Return the check sum of a row."""
    return zlib.crc32(
        repr(
            (*texts_of(row), row.status.value, row.seconds, row.baseline_seconds, row.detail)
        ).encode()
    )


def read_row(values: Sequence[object]) -> Row | None:
    """Return a row; None where it is not what was written."""
    schedule, mapping, done, status, seconds, baseline, detail, check = values
    try:
        row = Row(
            str(schedule),
            str(mapping),
            str(done),
            Status(status),
            float(str(seconds)),
            float(str(baseline)),
            str(detail),
        )
    except ValueError:
        return None
    return row if check_sum(row) == check else None
