"""The measurement rule: repetitions, screening, and interleaved runs with the original.

A schedule first shows what it can: three times, or for some milliseconds, each run cut off at the
time limit. One that is clearly slower than the original order, or than the best so far where that
is what counts, is left at that; one that may be faster is run in turn with the original.

Example: with an original order of 2 ms, a run is cut off after 50 ms (ten times as long would be
20 ms, but threads may be slow to wake up); one that takes 3.1 ms at best is left at its first look,
one that takes 2.9 ms is run in turn with the original, 9 times each.

Running a program's schedules in turn with its original order, in one process and by one clock.

A schedule's speedup is the ratio of two best times of runs that alternate, so that nothing which
slows the machine down for a while looks like a property of the schedule. The original order's time,
against which a slow schedule is left at its first look, is taken again every half minute, or less
often where it is long: a machine that has become slower or faster since would make every schedule
look so.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from polygym.runtime.worker.outcome import Ok, Outcome
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.timing import ONCE, MeasureOptions, Repetition, TimeLimit
from polygym.runtime.worker.worker import Session

# A first look at a candidate, and how much slower than the original it may be to get a second one.
# Never a single run: a thread that wakes up late, by some of the system's time slices, would make
# a schedule of microseconds one of ten milliseconds.
SCREENING = Repetition(minimum=3, minimum_seconds=0.005, maximum=20)
_CLEARLY_SLOWER = 1.5

# A run that takes so many times as long as the best so far will not lead to a better one.
_HOPELESS_FACTOR = 5.0

# Several that are to be run in turn are looked at once each: one that fails among the others would
# make them all start anew, and one that is slow takes the time of many. Shorter runs cost nothing.
_LONG_RUN = 0.1

BASELINE_REPETITION = Repetition(minimum=1, minimum_seconds=0.3, maximum=20)
"""The original order when a program is opened: some times, or once where that takes long."""

# No run is cut off before: threads may be slow to wake up.
_MIN_LIMIT = 0.05

# How long the runs of the original in a comparison should take together, and how many they are.
_COMPARISON_SECONDS = 0.03
_MIN_ROUNDS, _MAX_ROUNDS = 3, 9

# What the clock can tell: a program without any work may seem to take no time.
_TICK = 1e-9

# After so many seconds the original order's time says little about the machine as it is. Where it
# is long, it may be so many times as old: taking it anew should not be what a search does.
_BASELINE_AGE_FACTOR = 30.0
_BASELINE_LIFETIME = 30.0


def speedup_ratio(before: float, seconds: float) -> float:
    """Return how many times as fast code is as what takes so long before it."""
    return max(before, _TICK) / max(seconds, _TICK)


@dataclass(frozen=True, slots=True)
class MeasurementRule:
    """The rule for one program: ``baseline`` is its original order's time when it was opened."""

    timeout_factor: float
    baseline: float

    def screening_options(self, best_so_far: float | None = None) -> MeasureOptions:
        """Return how a program is run, one too that has to be as fast as another one."""
        factor = self.timeout_factor
        if best_so_far is not None:
            factor = min(factor, _HOPELESS_FACTOR * best_so_far / max(self.baseline, _TICK))
        return MeasureOptions(SCREENING, TimeLimit(factor, _MIN_LIMIT))

    def preliminary_options(self) -> MeasureOptions:
        """Return how each of several is run before they are run together."""
        return replace(self.screening_options(), repetition=ONCE)


def is_rejected(screening: Outcome, original: float, best_so_far: float | None) -> bool:
    """Say whether a first look is all that a schedule gets.

    ``original`` is the original order's time as it is now. Where only the best counts and the
    original takes long, it does not run in turn.
    """
    to_beat = original if best_so_far is None else min(original, best_so_far)
    if best_so_far is not None and original > _LONG_RUN:
        return True
    return not isinstance(screening, Ok) or screening.best > _CLEARLY_SLOWER * to_beat


def is_excluded(preliminary: Outcome, original: float) -> bool:
    """Say whether one of several had better not be run together with the others."""
    hopeless = max(_CLEARLY_SLOWER * original, _LONG_RUN)
    return not isinstance(preliminary, Ok) or preliminary.best > hopeless


def comparison_rounds(original: float) -> int:
    """Return how often a schedule and the original order are run in turn."""
    return rounds_within(_COMPARISON_SECONDS, original, _MIN_ROUNDS, _MAX_ROUNDS)


def is_outdated(age: float, original: float) -> bool:
    """Say whether the original order's time, taken ``age`` seconds ago, is to be taken again."""
    return age > max(_BASELINE_AGE_FACTOR, _BASELINE_LIFETIME * original)


def rounds_within(seconds: float, run_seconds: float, fewest: int, most: int) -> int:
    """Return how many runs of ``run_seconds`` each take so many seconds, within bounds.

    >>> [rounds_within(2.0, run, 2, 11) for run in (0.3, 0.0, 9.0)]
    [7, 11, 2]
    """
    return max(fewest, min(most, ceil(seconds / max(run_seconds, _TICK))))


class InterleavedRuns:
    """An open program, the rule by which its schedules are measured, its original order's time."""

    def __init__(self, session: Session, timeout_factor: float) -> None:
        """Begin with the time that was taken when the program was opened."""
        self.session = session
        self.rule = MeasurementRule(timeout_factor, session.baseline.best)
        self._baseline = session.baseline
        self._taken = time.monotonic()

    def measure(self, program: CompiledProgram, best_so_far: float | None) -> tuple[Outcome, Ok]:
        """Look at a program, and run it in turn with the original if it may be faster.

        Return what became of it, and the original's times to compare it with.
        """
        look = self.session.measure(program, self.rule.screening_options(best_so_far))
        baseline = self._current()
        if is_rejected(look, baseline.best, best_so_far):
            return look, baseline
        programs = (self.session.problem.original, program)
        rounds = comparison_rounds(baseline.best)
        original, again = self.session.measure_together(
            programs, rounds, self.rule.screening_options()
        )
        return again, self._update_baseline(original) or baseline

    def measure_together(
        self, programs: Mapping[int, CompiledProgram], rounds: int
    ) -> tuple[dict[int, Outcome], Ok]:
        """Run programs and the original in turn, but for those that fail at a glance or are slow.

        Return what became of each, by its number, and the original's times.
        """
        looks = self._preliminary_runs(programs) if len(programs) > 1 else {}
        kept = {number: program for number, program in programs.items() if number not in looks}
        together = (self.session.problem.original, *kept.values())
        original, *outcomes = self.session.measure_together(
            together, rounds, self.rule.screening_options()
        )
        baseline = self._update_baseline(original) or self._current()
        return looks | dict(zip(kept, outcomes, strict=True)), baseline

    def _preliminary_runs(self, programs: Mapping[int, CompiledProgram]) -> dict[int, Outcome]:
        """Look at each program alone; return what became of those that are left out."""
        original = self._current().best
        looks = {
            number: self.session.measure(program, self.rule.preliminary_options())
            for number, program in programs.items()
        }
        return {number: look for number, look in looks.items() if is_excluded(look, original)}

    def _current(self) -> Ok:
        """Return the original order's time as it is now, give or take half a minute."""
        if is_outdated(time.monotonic() - self._taken, self._baseline.best):
            self._update_baseline(
                self.session.measure(self.session.problem.original, self.rule.screening_options())
            )
        return self._baseline

    def _update_baseline(self, original: Outcome) -> Ok | None:
        """Keep a new time of the original order, if it is one, and return it."""
        if not isinstance(original, Ok):
            return None
        self._baseline, self._taken = original, time.monotonic()
        return original
