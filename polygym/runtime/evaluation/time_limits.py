"""Schedules, spaces and code within a time limit, for commands.

isl's scheduler solves integer programs, and isl's code generation is worst-case exponential. isl's
count of operations bounds nearly all of it; in a program with odd numbers one operation may take
longer than the next thousand. So both work in a copy of the process that can be ended
(:func:`run_forked`), and what is given up ends in a sentence that says
what else there is to do.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule, prepare_isl_scheduling, schedule_by
from polygym.poly.scheduling.strategy import FixedStrategy, OriginalOrder
from polygym.poly.scheduling.symbolic_sizes import has_constant_sizes
from polygym.poly.transform.splitting.conditions import Splitting
from polygym.poly.transform.splitting.selection import select_splitting
from polygym.runtime.evaluation.evaluation import MEMORY_VARIABLE, default_memory
from polygym.runtime.evaluation.forked_timeout import never_stopped, run_forked

Result = TypeVar("Result")

TIME_LIMIT_VARIABLE = "POLYGYM_PATIENCE"
"""The environment variable that says how many seconds a command gives each of these."""

# isl's scheduler; deciding about a schedule; the code of one, and all schedules, of the largest
# programs too.
_SCHEDULE_SECONDS = 60.0
_CHECK_SECONDS = 60.0
_CODE_SECONDS = 300.0
_SPACE_SECONDS = 300.0
_COUNT_SECONDS = 30.0
_SPLITTING_SECONDS = 60.0
_STORAGE_SECONDS = 30.0

_LONGER_ADVICE = f"{TIME_LIMIT_VARIABLE}=SECONDS in the environment gives it longer"
_SCHEDULER = "isl's scheduler"
_PARAMETERS_ADVICE = "it may find one with sizes as parameters instead of numbers, or "
_OTHER_STRATEGY_ADVICE = (
    "told otherwise ('isl fusion=minimum', say); `original` is the order of the text; "
    f"{_LONGER_ADVICE}"
)
_CODE_ADVICE = (
    f"a simpler schedule or --mapping sequential may take less; {_LONGER_ADVICE}, "
    f"{MEMORY_VARIABLE}="
    "MEGABYTES more memory"
)
_SPACE_ADVICE = f"use smaller --max-generators or a shorter --time-limit; {_LONGER_ADVICE}"
_COUNT_ADVICE = f"its limit is not known; {_LONGER_ADVICE}"
_SPLITTING_ADVICE = f"say where to cut, or leave out --split; {_LONGER_ADVICE}"
_STORAGE_ADVICE = f"it keeps its arrays; {_LONGER_ADVICE}"
_EXPLAIN_ADVICE = f"a longer --time-limit may find them; {_LONGER_ADVICE}"
_CHECK_ADVICE = f"a schedule with fewer rows or smaller numbers may take less; {_LONGER_ADVICE}"


def allowed_seconds(default: float) -> float:
    """Return how many seconds may pass, unless the environment says so.

    Raises:
        InputError: it does not say a number of seconds.
    """
    text = os.environ.get(TIME_LIMIT_VARIABLE, "").strip()
    if not text:
        return default
    try:
        result = float(text)
    except ValueError:
        result = 0.0
    if not 0 < result < 1e6:
        raise InputError(f"{TIME_LIMIT_VARIABLE}: expected a number of seconds, found {text!r}")
    return result


class SchedulerBudget:
    """Seconds for isl's scheduler that several strategies share."""

    def __init__(self, max_seconds: float | None = None) -> None:
        """Begin with as many as are usual, ``max_seconds`` at the most."""
        usual = allowed_seconds(_SCHEDULE_SECONDS)
        self.seconds = usual if max_seconds is None else min(usual, max_seconds)
        self._used = 0.0

    def schedule(
        self, strategy: FixedStrategy, scop: Scop, is_stopped: Callable[[], bool] = never_stopped
    ) -> Schedule:
        """Return the schedule of a strategy, out of the seconds that are left.

        Callers that ask for several call
        :func:`~polygym.poly.scheduling.baselines.prepare_isl_scheduling` before.
        """
        if isinstance(strategy, OriginalOrder):
            return original_schedule(scop)
        left = self.seconds - self._used
        if left <= 0:
            raise LimitError(
                f"{_SCHEDULER}: gave up after {self.seconds:g} s; {_schedule_advice(scop)}"
            )
        start = time.monotonic()
        try:
            work = partial(schedule_by, strategy, scop)
            return run_forked(_SCHEDULER, work, left, _schedule_advice(scop), is_stopped)
        finally:
            self._used += time.monotonic() - start


def _schedule_advice(scop: Scop) -> str:
    """Say what else there is to do about a program for which isl takes too long."""
    first = _PARAMETERS_ADVICE if has_constant_sizes(scop) else "it may find one "
    return first + _OTHER_STRATEGY_ADVICE


def schedule_within(
    strategy: FixedStrategy, scop: Scop, is_stopped: Callable[[], bool] = never_stopped
) -> Schedule:
    """Return the schedule that a strategy gives a program.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        InputError: isl finds none of the kind.
        LimitError: it would take too long.
    """
    if not isinstance(strategy, OriginalOrder):
        prepare_isl_scheduling(
            scop
        )  # what this process needs as well, and isl's count of operations bounds
    return SchedulerBudget().schedule(strategy, scop, is_stopped)


def schedules_within(
    work: Callable[[], Result], scop: Scop, is_stopped: Callable[[], bool] = never_stopped
) -> Result:
    """Return what comes of asking isl for several schedules of a program, out of the same seconds.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        LimitError: it would take too long.
    """
    prepare_isl_scheduling(scop)
    seconds = allowed_seconds(_SCHEDULE_SECONDS)
    return run_forked(_SCHEDULER, work, seconds, _schedule_advice(scop), is_stopped)


def code_within(work: Callable[[], Result]) -> Result:
    """Return what generating code gives, or raise what it raises.

    It is a LimitError where that takes too long, or more memory than it may.
    """
    seconds, memory = allowed_seconds(_CODE_SECONDS), default_memory()
    return run_forked("generating code", work, seconds, _CODE_ADVICE, memory=memory)


def splitting_within(scop: Scop) -> Splitting:
    """Return the cuts that are worth it; a LimitError where looking for them takes too long."""
    dependences(scop)  # what this process needs as well, and isl's count of operations bounds
    work = partial(select_splitting, scop)
    return run_forked(
        "looking for cuts", work, allowed_seconds(_SPLITTING_SECONDS), _SPLITTING_ADVICE
    )


def storage_variants_within(work: Callable[[], Result], scop: Scop) -> Result:
    """Return what comes of judging where values are kept; a LimitError where that takes too long.

    There is less time for it than for schedules, since the program can stay as it is.
    """
    prepare_isl_scheduling(scop)
    return run_forked(
        "choosing where values are kept", work, allowed_seconds(_STORAGE_SECONDS), _STORAGE_ADVICE
    )


def check_within(work: Callable[[], Result]) -> Result:
    """Return what is found about a schedule; raise what that raises, a LimitError if it lasts."""
    return run_forked("checking the schedule", work, allowed_seconds(_CHECK_SECONDS), _CHECK_ADVICE)


def explain_within(work: Callable[[], Result], seconds: float) -> Result:
    """Return the explanation of a schedule; raise what that raises, or a LimitError if it lasts."""
    return run_forked("looking for steps", work, seconds, _EXPLAIN_ADVICE)


def count_within(work: Callable[[], Result]) -> Result:
    """Return what counting a program's work gives; raise what that raises, or a LimitError."""
    return run_forked(
        "counting what a program has to do", work, allowed_seconds(_COUNT_SECONDS), _COUNT_ADVICE
    )


def space_within(work: Callable[[], Result], seconds: float) -> Result:
    """Return what constructing a space gives; raise what that raises, a LimitError if it lasts.

    ``seconds`` may pass for one of its polyhedra; there may be some tens.
    """
    most = allowed_seconds(max(_SPACE_SECONDS, 20 * seconds))
    return run_forked("constructing the space", work, most, _SPACE_ADVICE)
