"""Number of loops of the source that two statements share."""

from functools import lru_cache

from polygym.ir.scop import Scop
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule


@lru_cache(maxsize=64)
def _shared_loop_counts(scop: Scop) -> dict[tuple[str, str], int]:
    order = original_schedule(scop)
    rows = {statement.name: order.rows(statement.name) for statement in scop.statements}
    return {
        (first, second): _common_rows(rows[first], rows[second])
        for first in rows
        for second in rows
    }


def shared_loops(scop: Scop, first: str, second: str) -> int:
    """Return the number of loops that surround both statements (all of its own, for one).

    In the original order a loop is a row that depends on iterators, and statements part ways at
    the first row in which both have a constant and the constants differ.
    """
    return _shared_loop_counts(scop)[first, second]


def _common_rows(first: tuple[ScheduleRow, ...], second: tuple[ScheduleRow, ...]) -> int:
    count = 0
    for row, other in zip(first, second, strict=True):
        if row.is_constant != other.is_constant:
            break
        if row.is_constant:
            if row != other:
                break
        else:
            count += 1
    return count
