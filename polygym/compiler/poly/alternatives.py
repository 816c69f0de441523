"""The schedules that a program has without a search, to begin with one or to go over to another.

isl's scheduler is told what to fuse and whether it may skew; the order of the text is one more.
Example, mvt: whatever isl is told, it finds the same schedule of the two products, so there are
two, with the order of the text. 2mm has four.

isl takes its time for each, so it is not asked in vain: not to schedule without skewing where it
has not skewed anyway (of 170 such schedules of kernels and random programs, told so it found two
others, of a loop with one iteration), and of programs with very many dependences not for more
fusion than its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import schedule_by
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL, Fusion, IslOptions, Strategy
from polygym.errors import InputError, LimitError

_MANY_DEPENDENCES = 100
_OF_LARGE = (ORIGINAL, IslOptions(), IslOptions(Fusion.MINIMUM))

ALTERNATIVES: tuple[Strategy, ...] = (
    ORIGINAL,
    *(IslOptions(fusion) for fusion in Fusion),
    *(IslOptions(fusion, skew=False) for fusion in (Fusion.BALANCED, Fusion.MINIMUM)),
)
"""The strategies, whose places are what an agent chooses by."""


@lru_cache(maxsize=64)
def alternatives(scop: Scop) -> dict[int, Schedule]:
    """Return the different schedules by the places of their strategies; equal ones count once.

    What isl does not find, or not in as many operations as it may take, is left out; which that is
    depends on the program alone.
    """
    known: dict[Strategy, Schedule] = {}
    is_large = len(dependences(scop)) > _MANY_DEPENDENCES
    for strategy in ALTERNATIVES:
        if is_large and strategy not in _OF_LARGE:
            continue
        if isinstance(strategy, IslOptions) and not strategy.skew:
            skewing = known.get(replace(strategy, skew=True))
            if skewing is not None and not _is_skewed(skewing):
                continue
        try:
            known[strategy] = LegalSchedule(scop, schedule_by(strategy, scop)).schedule
        except (InputError, LimitError):
            continue
    found: dict[int, Schedule] = {}
    for place, strategy in enumerate(ALTERNATIVES):
        schedule = known.get(strategy)
        if schedule is not None and schedule not in found.values():
            found[place] = schedule
    return found


def _is_skewed(schedule: Schedule) -> bool:
    """Whether a row has several counters of a statement."""
    return any(
        sum(number != 0 for number in row.iterators) > 1
        for statement in schedule.statements
        for row in statement.rows
    )
