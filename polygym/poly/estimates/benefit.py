"""Benefit of a better schedule, estimated from the source's order: the gain, and gain times work.

A rule of thumb for each statement, by the accesses of its innermost loop. Each line that holds
multiplies the gain:

====================================================================  =====
an access goes far with each iteration, and another loop avoids it     4
an access goes far with each iteration, and every loop has such one    1.5
a sum of floats into one element, and another loop is there            2
an array of a lower rank than the loops is used again (tiles)          2
anything else                                                          1.1
====================================================================  =====

A program gains as its statements do, by their shares of the time before. It is no prediction: the
models of :mod:`polygym.autoschedule` look at schedules, which takes a hundred times as long. It
serves to sort regions.
"""

from collections.abc import Mapping

from polygym.errors import LimitError
from polygym.ir.scop import Scop, Statement
from polygym.poly.estimates.work import estimated_work, sizes_near, statement_work
from polygym.poly.innermost import (
    AccessStride,
    InnermostLoop,
    access_stride,
    domain_equations,
    independent_rows,
    innermost_loop,
)
from polygym.poly.integer_vectors import Vector

USUAL_SIZE = 1024

_INTERCHANGE, _FAR, _REDUCTION, _REUSE, _LITTLE = 4.0, 1.5, 2.0, 2.0, 1.1
_MOST_GAIN = 16.0


def estimated_gain(scop: Scop, sizes: Mapping[str, int]) -> float:
    """Return by what factor a better schedule may be faster, a rule of thumb from 1 on.

    Raises:
        LimitError: isl would take too long.
    """
    before = after = 0.0
    for statement in scop.statements:
        gain = statement_gain(scop, statement)
        # What is slow now takes more of the time than its operations say.
        time = statement_work(scop, statement, sizes) * (gain if gain >= _FAR else 1.0)
        before += time
        after += time / gain
    return before / after if after else 1.0


def benefit(scop: Scop, size: int = USUAL_SIZE, given: Mapping[str, int] | None = None) -> float:
    """Return gain times work, by which regions are sorted; 0 where it is not known."""
    try:
        sizes = sizes_near(scop, size, given or {})
        return estimated_gain(scop, sizes) * estimated_work(scop, sizes)
    except LimitError:
        return 0.0


def statement_gain(scop: Scop, statement: Statement) -> float:
    """Return the factor of one statement."""
    if statement.depth == 0:
        return 1.0
    unit = [
        tuple(int(place == row) for place in range(statement.depth))
        for row in range(statement.depth)
    ]
    equations = domain_equations(statement.domain)
    rows = [unit[place] for place in independent_rows(unit, equations)]
    gain = 1.0
    if _goes_far(statement, innermost_loop(statement.domain, rows)):
        others = (_innermost_first(statement, rows, place) for place in range(len(rows) - 1))
        avoidable = any(not _goes_far(statement, loop) for loop in others)
        gain *= _INTERCHANGE if avoidable else _FAR
    elif statement.accumulator_reads and _sums_innermost(statement, rows) and len(rows) > 1:
        gain *= _REDUCTION
    if len(rows) > 2 and any(
        0 < scop.array(access.array).rank < len(rows)
        for access in (statement.write, *statement.reads)
    ):
        gain *= _REUSE
    return min(gain, _MOST_GAIN) if gain > 1.0 else _LITTLE


def _innermost_first(statement: Statement, rows: list[Vector], place: int) -> InnermostLoop | None:
    """Return the innermost loop with another one moved inward."""
    return innermost_loop(statement.domain, [*rows[:place], *rows[place + 1 :], rows[place]])


def _goes_far(statement: Statement, loop: InnermostLoop | None) -> bool:
    return any(
        access_stride(statement, access, loop) is AccessStride.FAR
        for access in (statement.write, *statement.reads)
    )


def _sums_innermost(statement: Statement, rows: list[Vector]) -> bool:
    loop = innermost_loop(statement.domain, rows)
    return access_stride(statement, statement.write, loop) is AccessStride.SAME
