"""Schedules of a program without a search: starts, and alternatives during an episode.

isl's scheduler is told what to fuse and whether it may skew; the order of the text is one more.
Example, mvt: whatever isl is told, it finds the same schedule of the two products, so there are
two, with the order of the text. 2mm has four.

A *few* of them are what a default is chosen among (:mod:`polygym.autoschedule.schedule_choice`):
what isl usually finds, what it finds told to fuse nothing, or to begin with a parallel loop, and
the text.

isl takes its time for each, so it is not asked in vain: not to schedule without skewing where it
has not skewed anyway (of 170 such schedules of kernels and random programs, told so it found two
others, of a loop with one iteration), and of programs with very many dependences not for more
fusion than its own. Of a few it is not asked for parallel loops outermost where it has them anyway,
nor where it skews a stencil, of which the text's order has the parallel loops inside of time.
"""

from dataclasses import replace
from functools import lru_cache

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.poly.dependences import dependences
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import schedule_by
from polygym.poly.scheduling.properties import schedule_properties
from polygym.poly.scheduling.strategy import ISL, ORIGINAL, FixedStrategy, Fusion, IslOptions

_MANY_DEPENDENCES = 100
_LARGE_PROGRAM_ALTERNATIVES = (ORIGINAL, ISL, IslOptions(Fusion.MINIMUM))

ALTERNATIVES: tuple[FixedStrategy, ...] = (
    ORIGINAL,
    *(IslOptions(fusion) for fusion in Fusion),
    *(IslOptions(fusion, skew=False) for fusion in (Fusion.BALANCED, Fusion.MINIMUM)),
)
"""The strategies, whose places are what an agent chooses by."""

DEFAULT_CANDIDATES: tuple[FixedStrategy, ...] = (
    ISL,
    IslOptions(Fusion.MINIMUM),
    IslOptions(Fusion.PARALLEL),
    ORIGINAL,
)
"""The strategies of :func:`default_candidates`, the usual one first; of equals the first one is "
"taken."""


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def alternative_schedules(scop: Scop) -> dict[int, Schedule]:
    """Return the different schedules by the places of their strategies; equal ones count once.

    What isl does not find, or not in as many operations as it may take, is left out; which that is
    depends on the program alone.
    """
    known: dict[FixedStrategy, Schedule] = {}
    is_large = len(dependences(scop)) > _MANY_DEPENDENCES
    for strategy in ALTERNATIVES:
        if is_large and strategy not in _LARGE_PROGRAM_ALTERNATIVES:
            continue
        if isinstance(strategy, IslOptions) and not strategy.skew:
            skewing = known.get(replace(strategy, skew=True))
            if skewing is not None and not _is_skewed(skewing):
                continue
        if (schedule := _legal_schedule(strategy, scop)) is not None:
            known[strategy] = schedule
    schedules: dict[int, Schedule] = {}
    for place, strategy in enumerate(ALTERNATIVES):
        schedule = known.get(strategy)
        if schedule is not None and schedule not in schedules.values():
            schedules[place] = schedule
    return schedules


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def default_candidates(scop: Scop) -> dict[FixedStrategy, Schedule]:
    """Return a few different schedules by their strategies; isl is asked three times at most.

    It is asked twice where there are very many dependences, where its usual schedule skews, or has
    parallel loops outermost already. What it does not find is left out; the order of the text is
    always there.
    """
    schedules: dict[FixedStrategy, Schedule] = {}
    is_large = len(dependences(scop)) > _MANY_DEPENDENCES
    for strategy in DEFAULT_CANDIDATES:
        if strategy == IslOptions(Fusion.PARALLEL) and (
            is_large or not _lacks_parallel_loops(scop, schedules.get(ISL))
        ):
            continue
        schedule = _legal_schedule(strategy, scop)
        if schedule is not None and schedule not in schedules.values():
            schedules[strategy] = schedule
    return schedules


def _lacks_parallel_loops(scop: Scop, usual: Schedule | None) -> bool:
    """Whether isl's usual schedule has an outermost loop that is not parallel, without skewing."""
    if usual is None or _is_skewed(usual):
        return usual is None
    properties = schedule_properties(scop, usual).statements
    return any(
        statement_properties.loops and not statement_properties.loops[0].parallel
        for statement_properties in properties
    )


def _legal_schedule(strategy: FixedStrategy, scop: Scop) -> Schedule | None:
    """Return a strategy's schedule, which is checked; None where isl finds none in its bounds."""
    try:
        return LegalSchedule(scop, schedule_by(strategy, scop)).schedule
    except (InputError, LimitError):
        return None


def _is_skewed(schedule: Schedule) -> bool:
    """Whether a row has several counters of a statement."""
    return any(
        sum(number != 0 for number in row.iterators) > 1
        for statement in schedule.statements
        for row in statement.rows
    )
