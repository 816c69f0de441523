"""Small changes of a legal schedule that lead to another legal one.

Dice choose one of :mod:`polygym.compiler.poly.edits`: rows are skewed, interchanged or reversed, a
row of one statement is shifted, which fuses loops and parts them, or one of its numbers changes.

What the dice propose need not be legal; each proposal is proved, and some are made until one holds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly import edits
from polygym.compiler.poly.legality import is_legal
from polygym.compiler.poly.schedule import Schedule
from polygym.errors import LimitError

_ATTEMPTS = 12


def edited(schedule: Schedule, scop: Scop, dice: np.random.Generator) -> Schedule | None:
    """Return another legal schedule near one; None where none of some proposals is."""
    for _ in range(_ATTEMPTS):
        kind = _KINDS[int(dice.integers(len(_KINDS)))]
        found = kind(schedule, dice)
        if found == schedule or not edits.is_small(found):
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
    return edits.skewed(schedule, place, other, int(dice.choice((-2, -1, 1, 2))))


def _interchanged(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    return edits.interchanged(schedule, *_two(schedule, dice))


def _reversed(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    return edits.reversed_at(schedule, int(dice.integers(schedule.dimensions)))


def _shifted(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    place, by = int(dice.integers(schedule.dimensions)), int(dice.choice((-2, -1, 1, 2)))
    return edits.shifted(schedule, place, _one(schedule, dice), by)


def _recombined(schedule: Schedule, dice: np.random.Generator) -> Schedule:
    place, by = int(dice.integers(schedule.dimensions)), int(dice.choice((-1, 1)))
    statement = _one(schedule, dice)
    iterators = schedule.statements[statement].iterators
    if not iterators:
        return schedule
    at = int(dice.integers(len(iterators)))
    return edits.recombined(schedule, place, statement, at, by)


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


def _one(schedule: Schedule, dice: np.random.Generator) -> int:
    """Return the place of a statement."""
    return int(dice.integers(len(schedule.statements)))
