"""Schedules and code with a time limit, for commands: the doors to what is pure and may take hours.

isl's scheduler solves integer programs, and isl's code generation is worst-case exponential. isl's
count of operations bounds nearly all of it; in a program with odd numbers one operation may take
longer than the next thousand. So both work in a copy of the process that can be ended
(:mod:`polygym.measure.evaluation.apart`), and what is given up ends in a sentence that says what
else there is to do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original, prepare, schedule_by
from polygym.compiler.poly.dependences import dependences
from polygym.compiler.poly.lifted import has_numbers_for_sizes
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.splitting.choose import chosen_splitting
from polygym.compiler.poly.splitting.cuts import Splitting
from polygym.compiler.poly.strategy import Original, Settled
from polygym.errors import InputError, LimitError
from polygym.measure.evaluation.apart import apart, never
from polygym.measure.evaluation.evaluation import MEMORY_VARIABLE, usual_memory

Result = TypeVar("Result")

PATIENCE_VARIABLE = "POLYGYM_PATIENCE"
"""The environment variable that says how many seconds a command gives each of these."""

# isl's scheduler; deciding about a schedule; the code of one, and all schedules, of the largest
# programs too.
_SCHEDULE_SECONDS = 60.0
_CHECK_SECONDS = 60.0
_CODE_SECONDS = 300.0
_SPACE_SECONDS = 300.0
_COUNT_SECONDS = 30.0
_SPLITTING_SECONDS = 60.0
_HOMES_SECONDS = 30.0

_LONGER = f"{PATIENCE_VARIABLE}=SECONDS in the environment gives it longer"
_SCHEDULER = "isl's scheduler"
_WITH_PARAMETERS = "it may find one with sizes as parameters instead of numbers, or "
_TOLD_OTHERWISE = (
    f"told otherwise ('isl fusion=minimum', say); `original` is the order of the text; {_LONGER}"
)
_OTHER_CODE = (
    f"a simpler schedule or --mapping sequential may take less; {_LONGER}, {MEMORY_VARIABLE}="
    "MEGABYTES more memory"
)
_OTHER_SPACE = f"a smaller --limit or fewer --seconds may do; {_LONGER}"
_NO_LIMIT = f"its limit is not known; {_LONGER}"
_OTHER_CUTS = f"say where to cut, or leave out --split; {_LONGER}"
_OTHER_HOMES = f"it keeps its arrays; {_LONGER}"
_OTHER_QUESTION = f"a schedule with fewer rows or smaller numbers may take less; {_LONGER}"


def seconds_of(usual: float) -> float:
    """Return how many seconds may pass, unless the environment says so.

    Raises:
        InputError: it does not say a number of seconds.
    """
    text = os.environ.get(PATIENCE_VARIABLE, "").strip()
    if not text:
        return usual
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise InputError(f"{PATIENCE_VARIABLE}: expected a number of seconds, found {text!r}")
    return found


class Patience:
    """Seconds for isl's scheduler that several strategies share."""

    def __init__(self, most: float | None = None) -> None:
        """Begin with as many as are usual, ``most`` at the most."""
        usual = seconds_of(_SCHEDULE_SECONDS)
        self.seconds = usual if most is None else min(usual, most)
        self._spent = 0.0

    def schedule(
        self, strategy: Settled, scop: Scop, is_stopped: Callable[[], bool] = never
    ) -> Schedule:
        """Return the schedule of a strategy, out of the seconds that are left.

        Whoever asks for several calls :func:`~polygym.compiler.poly.baselines.prepare` before.
        """
        if isinstance(strategy, Original):
            return original(scop)
        left = self.seconds - self._spent
        if left <= 0:
            raise LimitError(
                f"{_SCHEDULER}: gave up after {self.seconds:g} s; {_other_schedules(scop)}"
            )
        start = time.monotonic()
        try:
            work = partial(schedule_by, strategy, scop)
            return apart(_SCHEDULER, work, left, _other_schedules(scop), is_stopped)
        finally:
            self._spent += time.monotonic() - start


def _other_schedules(scop: Scop) -> str:
    """Say what else there is to do about a program for which isl takes too long."""
    first = _WITH_PARAMETERS if has_numbers_for_sizes(scop) else "it may find one "
    return first + _TOLD_OTHERWISE


def schedule_within(
    strategy: Settled, scop: Scop, is_stopped: Callable[[], bool] = never
) -> Schedule:
    """Return the schedule that a strategy gives a program.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        InputError: isl finds none of the kind.
        LimitError: it would take too long.
    """
    if not isinstance(strategy, Original):
        prepare(scop)  # what this process needs as well, and isl's count of operations bounds
    return Patience().schedule(strategy, scop, is_stopped)


def schedules_within(
    work: Callable[[], Result], scop: Scop, is_stopped: Callable[[], bool] = never
) -> Result:
    """Return what comes of asking isl for several schedules of a program, out of the same seconds.

    Raises:
        StoppedError: ``is_stopped`` said so meanwhile.
        LimitError: it would take too long.
    """
    prepare(scop)
    seconds = seconds_of(_SCHEDULE_SECONDS)
    return apart(_SCHEDULER, work, seconds, _other_schedules(scop), is_stopped)


def code_within(work: Callable[[], Result]) -> Result:
    """Return what generating code gives, or raise what it raises.

    It is a LimitError where that takes too long, or more memory than it may.
    """
    seconds, memory = seconds_of(_CODE_SECONDS), usual_memory()
    return apart("generating code", work, seconds, _OTHER_CODE, memory=memory)


def splitting_within(scop: Scop) -> Splitting:
    """Return the cuts that are worth it; a LimitError where looking for them takes too long."""
    dependences(scop)  # what this process needs as well, and isl's count of operations bounds
    work = partial(chosen_splitting, scop)
    return apart("looking for cuts", work, seconds_of(_SPLITTING_SECONDS), _OTHER_CUTS)


def homes_within(work: Callable[[], Result], scop: Scop) -> Result:
    """Return what comes of judging where values are kept; a LimitError where that takes too long.

    There is less time for it than for schedules, since the program can stay as it is.
    """
    prepare(scop)
    return apart("choosing where values are kept", work, seconds_of(_HOMES_SECONDS), _OTHER_HOMES)


def decided_within(work: Callable[[], Result]) -> Result:
    """Return what is found about a schedule; raise what that raises, a LimitError if it lasts."""
    return apart("checking the schedule", work, seconds_of(_CHECK_SECONDS), _OTHER_QUESTION)


def counted_within(work: Callable[[], Result]) -> Result:
    """Return what counting a program's work gives; raise what that raises, or a LimitError."""
    return apart("counting what a program has to do", work, seconds_of(_COUNT_SECONDS), _NO_LIMIT)


def space_within(work: Callable[[], Result], seconds: float) -> Result:
    """Return what constructing a space gives; raise what that raises, a LimitError if it lasts.

    ``seconds`` may pass for one of its polyhedra; there may be some tens.
    """
    most = seconds_of(max(_SPACE_SECONDS, 20 * seconds))
    return apart("constructing the space", work, most, _OTHER_SPACE)
