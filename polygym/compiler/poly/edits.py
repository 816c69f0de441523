"""Changes of a schedule that lead to another one nearby; whether that is legal is asked elsewhere.

Some do to all statements what keeps their iterations aligned, others touch one statement::

    skewed         (i, j)        → (i, j + f·i)      a row gets a multiple of another
    interchanged   (i, j)        → (j, i)            two rows change places
    moved          (i, j, k)     → (k, i, j)         a row goes elsewhere, with what it carries
    reversed       (i, j)        → (i, -j)           a row counts the other way
    split          S, T: (i)     → S: (0, i), T: (1, i)    a row that parts statements is put in
    fused          S: (0, i), T: (1, i) → S, T: (i)        a row that parts statements is left out
    shifted        S: (i)        → S: (i + b)        a row of one statement is later or earlier
    recombined     S: (i, j)     → S: (i, j + b·i)   one number of a row of one statement changes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polygym.compiler.poly.schedule import Row, Schedule, added

Rows = tuple[Row, ...]

MOST = 12
"""A schedule with larger numbers, or more rows, is one that code generation rarely gets through."""


def skewed(schedule: Schedule, place: int, other: int, factor: int) -> Schedule:
    """Add a multiple of another row to a row."""
    return _changed(
        schedule,
        lambda rows: (
            *rows[:place],
            added(rows[place], rows[other], 1, factor),
            *rows[place + 1 :],
        ),
    )


def interchanged(schedule: Schedule, place: int, other: int) -> Schedule:
    """Let two rows change places."""

    def swap(rows: Rows) -> Rows:
        found = list(rows)
        found[place], found[other] = found[other], found[place]
        return tuple(found)

    return _changed(schedule, swap)


def moved(schedule: Schedule, place: int, to: int) -> Schedule:
    """Put a row where another one is, which goes on in the order of the rest."""

    def move(rows: Rows) -> Rows:
        rest = (*rows[:place], *rows[place + 1 :])
        return (*rest[:to], rows[place], *rest[to:])

    return _changed(schedule, move)


def reversed_at(schedule: Schedule, place: int) -> Schedule:
    """Let a row count the other way."""
    return _changed(
        schedule,
        lambda rows: (*rows[:place], added(rows[place], rows[place], -1, 0), *rows[place + 1 :]),
    )


def split(schedule: Schedule, place: int, first: int) -> Schedule:
    """Put in a row before which the first statements of the text part ways with the others."""
    statements = tuple(
        replace(
            one,
            rows=(
                *one.rows[:place],
                _constant(schedule, one.iterators, int(number >= first)),
                *one.rows[place:],
            ),
        )
        for number, one in enumerate(schedule.statements)
    )
    return replace(schedule, statements=statements)


def _constant(schedule: Schedule, iterators: tuple[str, ...], value: int) -> Row:
    return Row((0,) * len(iterators), (0,) * len(schedule.parameters), value)


def parts(schedule: Schedule, place: int) -> bool:
    """Whether a row does nothing but part statements, so that it can be left out."""
    return schedule.dimensions > 1 and all(
        one.rows[place].is_constant for one in schedule.statements
    )


def fused(schedule: Schedule, place: int) -> Schedule:
    """Leave out a row that parts statements."""
    return _changed(schedule, lambda rows: (*rows[:place], *rows[place + 1 :]))


def shifted(schedule: Schedule, place: int, statement: int, by: int) -> Schedule:
    """Let a row of one statement be later or earlier."""
    return _changed_one(
        schedule, statement, place, lambda row: replace(row, constant=row.constant + by)
    )


def recombined(schedule: Schedule, place: int, statement: int, at: int, by: int) -> Schedule:
    """Change what one iterator counts for in a row of one statement."""

    def change(row: Row) -> Row:
        values = tuple(value + by * (at == k) for k, value in enumerate(row.iterators))
        return replace(row, iterators=values)

    return _changed_one(schedule, statement, place, change)


def is_small(schedule: Schedule) -> bool:
    """Whether code generation is likely to get through it."""
    return all(
        abs(value) <= MOST
        for one in schedule.statements
        for row in one.rows
        for value in (*row.iterators, *row.parameters, row.constant)
    )


def _changed(schedule: Schedule, change: Callable[[Rows], Rows]) -> Schedule:
    statements = tuple(replace(one, rows=change(one.rows)) for one in schedule.statements)
    return replace(schedule, statements=statements)


def _changed_one(
    schedule: Schedule, statement: int, place: int, change: Callable[[Row], Row]
) -> Schedule:
    one = schedule.statements[statement]
    own = replace(one, rows=(*one.rows[:place], change(one.rows[place]), *one.rows[place + 1 :]))
    others = schedule.statements
    return replace(schedule, statements=(*others[:statement], own, *others[statement + 1 :]))
