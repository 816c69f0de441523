"""A row as the file keeps it: its texts once for all, and a check sum.

The sum covers what the row says, its place, and what its visit is of: the program with its text,
the sizes, the threads, the machine, the seed and the visit's own place. A row that is read is one
that was written: where the sum is another, it is damaged, and none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygym.measure.worker.outcome import Status
from polygym.search.corpus.rows import Row
from polygym.search.corpus.sums import JOINED_CASES, total

IS_OF = "p.name, p.text, c.parameters, v.place, v.seed, v.threads, v.machine"
SELECT_ROWS = (
    "SELECT r.visit, r.place, "
    "coalesce((r.kase, r.machine, r.threads) = (v.kase, v.machine, v.threads), 0), "
    f"{IS_OF}, s.text, m.text, d.text, r.status, r.seconds, r.baseline_seconds, r.detail, r.sum "
    f"FROM rows r LEFT JOIN visits v ON v.number = r.visit {JOINED_CASES} "
    "LEFT JOIN texts s ON s.number = r.schedule LEFT JOIN texts m ON m.number = r.mapping "
    "LEFT JOIN texts d ON d.number = r.done"
)
_IS_OF = slice(3, 10)
_SAYS = slice(10, 17)


def texts_of(row: Row) -> tuple[str, str, str]:
    """Return what is long and often the same, so that the file has it once."""
    return row.schedule, row.mapping, row.done


def row_sum(place: object, is_of: Sequence[object], row: Row) -> int:
    """Return the check sum of a row at a place of a visit; ``is_of`` says of what that is."""
    values = (row.status.value, row.seconds, row.baseline_seconds, row.detail)
    return total(place, *is_of, *texts_of(row), *values)


def row_of_values(values: Sequence[Any]) -> Row | None:
    """Return the row of a line of :data:`SELECT_ROWS`; None where it is not what was written."""
    row = read_row(values)
    if row is None or row_sum(values[1], values[_IS_OF], row) != values[-1]:
        return None
    return row


def read_row(values: Sequence[Any]) -> Row | None:
    """Return the row of a line, whatever its sum; None where it is none, or not of its visit."""
    schedule, mapping, done, status, seconds, baseline, detail = values[_SAYS]
    if not values[2]:
        return None
    try:
        return Row(
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


def is_of(values: Sequence[Any]) -> Sequence[Any]:
    """Return what says of what the visit of a line of :data:`SELECT_ROWS` is."""
    return values[_IS_OF]
