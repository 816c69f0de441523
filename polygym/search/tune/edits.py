"""Small changes of a legal schedule that lead to another legal one.

An edit does to all statements what keeps their iterations aligned, or moves one statement alone:

* *skew*: one row gets a multiple of another, (i, j) → (i, j + 2i);
* *interchange*: two rows change places;
* *reverse*: a row counts the other way;
* *shift*: a row of one statement is a little later or earlier, which fuses loops and parts them;
* *coefficient*: one number of one row of one statement is one more or less.

What the dice propose need not be legal; each proposal is proved, and some are made until one holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.legality import is_legal
from polygym.compiler.poly.schedule import Row, Schedule, added
from polygym.errors import LimitError

_ATTEMPTS = 12
_MOST = 12  # a schedule with larger numbers is one that code generation rarely gets through


def edited(schedule: Schedule, scop: Scop, dice: np.random.Generator) -> Schedule | None:
    """Return another legal schedule near one; None where none of some proposals is."""
    for _ in range(_ATTEMPTS):
        kind = _KINDS[int(dice.integers(len(_KINDS)))]
        found = kind(schedule, dice)
        if found == schedule or not _is_small(found):
            continue
        try:
            if is_legal(scop, found):
                return found
        except LimitError:
            continue
    return None


def _skewed(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    if schedule.dimensions < 2:
        return schedule
    place, other = _two(schedule, dice)
    factor = int(dice.choice((-2, -1, 1, 2)))
    return _changed(
        schedule,
        lambda rows: (
            *rows[:place],
            added(rows[place], rows[other], 1, factor),
            *rows[place + 1 :],
        ),
    )


def _interchanged(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    place, other = _two(schedule, dice)

    def swap(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        found = list(rows)
        found[place], found[other] = found[other], found[place]
        return tuple(found)

    return _changed(schedule, swap)


def _reversed(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    place = int(dice.integers(schedule.dimensions))
    return _changed(
        schedule,
        lambda rows: (*rows[:place], added(rows[place], rows[place], -1, 0), *rows[place + 1 :]),
    )


def _shifted(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    place, by = int(dice.integers(schedule.dimensions)), int(dice.choice((-2, -1, 1, 2)))
    return _changed_one(schedule, dice, place, lambda row: replace(row, constant=row.constant + by))


def _recombined(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    place, by = int(dice.integers(schedule.dimensions)), int(dice.choice((-1, 1)))

    def change(row: Row) -> Row:
        if not row.iterators:
            return row
        at = int(dice.integers(len(row.iterators)))
        values = tuple(value + by * (at == k) for k, value in enumerate(row.iterators))
        return replace(row, iterators=values)

    return _changed_one(schedule, dice, place, change)


_KINDS: tuple[Callable[[Schedule, np.random.Generator], Schedule], ...] = (
    _skewed,
    _interchanged,
    _reversed,
    _shifted,
    _recombined,
)


def _two(schedule: Schedule, dice: np.random.Generator) -> tuple[int, int]:
    """Return the places of two rows, which are one where there is no other."""
    count = schedule.dimensions
    place = int(dice.integers(count))
    return place, (place + int(dice.integers(1, max(2, count)))) % count


def _changed(schedule: Schedule, change: Callable[[tuple[Row, ...]], tuple[Row, ...]]) -> Schedule:
    statements = tuple(replace(one, rows=change(one.rows)) for one in schedule.statements)
    return replace(schedule, statements=statements)


def _changed_one(
    schedule: Schedule, dice: np.random.Generator, place: int, change: Callable[[Row], Row]
) -> Schedule:
    chosen = int(dice.integers(len(schedule.statements)))
    one = schedule.statements[chosen]
    rows = (*one.rows[:place], change(one.rows[place]), *one.rows[place + 1 :])
    own = replace(one, rows=rows)
    parts = (*schedule.statements[:chosen], own, *schedule.statements[chosen + 1 :])
    return replace(schedule, statements=parts)


def _is_small(schedule: Schedule) -> bool:
    return all(
        abs(value) <= _MOST
        for one in schedule.statements
        for row in one.rows
        for value in (*row.iterators, *row.parameters, row.constant)
    )
