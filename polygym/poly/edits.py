"""Edits: changes that lead from a schedule to one nearby, legal or not.

Some do to all statements what keeps their iterations aligned, others touch one statement::

    skewed         (i, j)        → (i, j + f·i)      a row gets a multiple of another
    interchanged   (i, j)        → (j, i)            two rows change places
    moved          (i, j, k)     → (k, i, j)         a row moves, with the dependences it carries
    reversed       (i, j)        → (i, -j)           a row counts the other way
    split          S, T: (i)     → S: (0, i), T: (1, i)    a row that parts statements is put in
    fused          S: (0, i), T: (1, i) → S, T: (i)        a row that parts statements is left out
    shifted        S: (i)        → S: (i + b)        a row of one statement is later or earlier
    recombined     S: (i, j)     → S: (i, j + b·i)   one number of a row of one statement changes
"""

from collections.abc import Callable
from dataclasses import replace

from polygym.poly.schedule import Schedule, ScheduleRow, combine_rows

StatementRows = tuple[ScheduleRow, ...]

MAX_DIMENSIONS = 12
"""A schedule with larger numbers, or more rows, is one that code generation rarely gets through."""


def skew(schedule: Schedule, dimension: int, other_dimension: int, factor: int) -> Schedule:
    """Add a multiple of another row to a row."""

    def add(rows: StatementRows) -> StatementRows:
        row = combine_rows(rows[dimension], rows[other_dimension], 1, factor)
        return _with_row(rows, dimension, row)

    return _edit_all_rows(schedule, add)


def interchange(schedule: Schedule, dimension: int, other_dimension: int) -> Schedule:
    """Let two rows change places."""

    def swap(rows: StatementRows) -> StatementRows:
        moved = _with_row(rows, dimension, rows[other_dimension])
        return _with_row(moved, other_dimension, rows[dimension])

    return _edit_all_rows(schedule, swap)


def move_row(schedule: Schedule, dimension: int, target_dimension: int) -> Schedule:
    """Put a row where another one is, which goes on in the order of the rest."""

    def move(rows: StatementRows) -> StatementRows:
        rest = (*rows[:dimension], *rows[dimension + 1 :])
        return (*rest[:target_dimension], rows[dimension], *rest[target_dimension:])

    return _edit_all_rows(schedule, move)


def reverse(schedule: Schedule, dimension: int) -> Schedule:
    """Let a row count the other way."""

    def negate(rows: StatementRows) -> StatementRows:
        row = rows[dimension]
        return _with_row(rows, dimension, combine_rows(row, row, -1, 0))

    return _edit_all_rows(schedule, negate)


def distribute(schedule: Schedule, dimension: int, first: int) -> Schedule:
    """Put in a row before which the first statements of the text part ways with the others."""
    zeros = (0,) * len(schedule.parameters)
    statements = []
    for number, statement in enumerate(schedule.statements):
        row = ScheduleRow((0,) * len(statement.iterators), zeros, int(number >= first))
        rows = (*statement.rows[:dimension], row, *statement.rows[dimension:])
        statements.append(replace(statement, rows=rows))
    return replace(schedule, statements=tuple(statements))


def is_distribution(schedule: Schedule, place: int) -> bool:
    """Whether a row does nothing but part statements, so that it can be left out."""
    return schedule.dimensions > 1 and all(
        statement_schedule.rows[place].is_constant for statement_schedule in schedule.statements
    )


def fuse(schedule: Schedule, dimension: int) -> Schedule:
    """Leave out a row that parts statements."""
    return _edit_all_rows(schedule, lambda rows: (*rows[:dimension], *rows[dimension + 1 :]))


def shift(schedule: Schedule, dimension: int, statement: int, by: int) -> Schedule:
    """Let a row of one statement be later or earlier."""
    return _edit_row(
        schedule, statement, dimension, lambda row: replace(row, constant=row.constant + by)
    )


def change_coefficient(
    schedule: Schedule, dimension: int, statement: int, at: int, by: int
) -> Schedule:
    """Change what one iterator counts for in a row of one statement."""

    def change(row: ScheduleRow) -> ScheduleRow:
        values = tuple(value + by * (at == k) for k, value in enumerate(row.iterators))
        return replace(row, iterators=values)

    return _edit_row(schedule, statement, dimension, change)


def is_small(schedule: Schedule) -> bool:
    """Whether code generation is likely to get through it."""
    return all(
        abs(value) <= MAX_DIMENSIONS
        for statement_schedule in schedule.statements
        for row in statement_schedule.rows
        for value in (*row.iterators, *row.parameters, row.constant)
    )


def _edit_all_rows(
    schedule: Schedule, change: Callable[[StatementRows], StatementRows]
) -> Schedule:
    statements = tuple(
        replace(statement_schedule, rows=change(statement_schedule.rows))
        for statement_schedule in schedule.statements
    )
    return replace(schedule, statements=statements)


def _edit_row(
    schedule: Schedule, statement: int, place: int, change: Callable[[ScheduleRow], ScheduleRow]
) -> Schedule:
    statements = list(schedule.statements)
    rows = statements[statement].rows
    own = _with_row(rows, place, change(rows[place]))
    statements[statement] = replace(statements[statement], rows=own)
    return replace(schedule, statements=tuple(statements))


def _with_row(rows: StatementRows, place: int, row: ScheduleRow) -> StatementRows:
    return (*rows[:place], row, *rows[place + 1 :])
