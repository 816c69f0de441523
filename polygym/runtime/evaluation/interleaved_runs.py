"""Running a program's schedules in turn with its original order, in one process and by one clock.

A schedule's speedup is the ratio of two best times of runs that alternate, so that nothing which
slows the machine down for a while looks like a property of the schedule. The original order's time,
against which a slow schedule is left at its first look, is taken again every half minute, or less
often where it is long: a machine that has become slower or faster since would make every schedule
look so.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from polygym.runtime.evaluation.measurement_rule import (
    MeasurementRule,
    comparison_rounds,
    is_excluded,
    is_outdated,
    is_rejected,
)
from polygym.runtime.worker.outcome import Ok, Outcome
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.session import Session


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
