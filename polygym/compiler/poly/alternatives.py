"""The schedules that a program has without a search, to begin with one or to go over to another.

isl's scheduler is told what to fuse and whether it may skew; the order of the text is one more.
Example, mvt: whatever isl is told, it finds the same schedule of the two products, so there are
two, with the order of the text. 2mm has four.
"""

from __future__ import annotations

from functools import lru_cache

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import schedule_by
from polygym.compiler.poly.legality import LegalSchedule
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.strategy import ORIGINAL, Fusion, IslOptions, Strategy
from polygym.errors import InputError, LimitError

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
    found: dict[int, Schedule] = {}
    for place, strategy in enumerate(ALTERNATIVES):
        try:
            schedule = LegalSchedule(scop, schedule_by(strategy, scop)).schedule
        except (InputError, LimitError):
            continue
        if schedule not in found.values():
            found[place] = schedule
    return found
