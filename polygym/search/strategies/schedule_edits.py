"""Small changes of a legal schedule that lead to another legal one.

Random search chooses one of :mod:`polygym.poly.edits`: rows are skewed, interchanged or reversed, a
row of one statement is shifted, which fuses loops and parts them, or one of its numbers changes.

What the random choices propose need not be legal; each proposal is proved, and some are made until
one holds.
"""

from collections.abc import Callable

import numpy as np

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly import edits
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule

_ATTEMPTS = 12


def edit_schedule(schedule: Schedule, scop: Scop, rng: np.random.Generator) -> Schedule | None:
    """Return another legal schedule near one; None where none of some proposals is."""
    for _ in range(_ATTEMPTS):
        kind = _EDITS[int(rng.integers(len(_EDITS)))]
        result = kind(schedule, rng)
        if result == schedule or not edits.is_small(result):
            continue
        try:
            if is_legal(scop, result):
                return result
        except LimitError:
            continue
    return None


def _skew(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    if schedule.dimensions < 2:
        return schedule
    place, other = _sample_rows(schedule, rng)
    return edits.skew(schedule, place, other, int(rng.choice((-2, -1, 1, 2))))


def _interchange(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    return edits.interchange(schedule, *_sample_rows(schedule, rng))


def _reverse(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    return edits.reverse(schedule, int(rng.integers(schedule.dimensions)))


def _shift(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    place, by = int(rng.integers(schedule.dimensions)), int(rng.choice((-2, -1, 1, 2)))
    return edits.shift(schedule, place, _sample_statement(schedule, rng), by)


def _recombine(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    place, by = int(rng.integers(schedule.dimensions)), int(rng.choice((-1, 1)))
    statement = _sample_statement(schedule, rng)
    iterators = schedule.statements[statement].iterators
    if not iterators:
        return schedule
    at = int(rng.integers(len(iterators)))
    return edits.change_coefficient(schedule, place, statement, at, by)


_EDITS: tuple[Callable[[Schedule, np.random.Generator], Schedule], ...] = (
    _skew,
    _interchange,
    _reverse,
    _shift,
    _recombine,
)


def _sample_rows(schedule: Schedule, rng: np.random.Generator) -> tuple[int, int]:
    """Return the places of two rows, which are one where there is no other."""
    count = schedule.dimensions
    place = int(rng.integers(count))
    return place, (place + int(rng.integers(1, max(2, count)))) % count


def _sample_statement(schedule: Schedule, rng: np.random.Generator) -> int:
    """Return the place of a statement."""
    return int(rng.integers(len(schedule.statements)))
