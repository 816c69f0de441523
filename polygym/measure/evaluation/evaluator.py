"""Schedules of one program, measured against its original order.

A schedule is compiled in the compiler's process and run in the worker's, where it first shows what
it can: three times, or for some milliseconds, each run cut off at the time limit. One that is
clearly slower than the original, or than the best so far where that is what counts, is left at
that. One that may be faster is then run in turn with
the original, in one process and by one clock, several times; its speedup is the ratio of the two
best times, so that nothing which slows the machine down for a while looks like a property of the
schedule.

The original order's time, against which a slow schedule is left at its first look, is taken again
every half minute, or less often where it is long: a machine that has become slower or faster since
would make every schedule look so. The same schedule is not measured twice: the first answer is
remembered, unless it was the machine and not the schedule that failed. Threads may share an
evaluator; what they ask follows one another.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from types import TracebackType
from typing import Self, TypeAlias

from polygym.compiler.codegen.mapping import Mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.errors import IllegalScheduleError, InternalError
from polygym.lru import Memory
from polygym.measure.evaluation.compiler import Compiler, NotCompiled, shared_compiler
from polygym.measure.evaluation.evaluation import Evaluation, EvaluationOptions
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Ok, Outcome, ProblemError, Status, WorkerError
from polygym.measure.worker.problem import CompiledProgram
from polygym.measure.worker.session import Session
from polygym.measure.worker.timing import Repetition, TimeLimit
from polygym.measure.worker.worker import Worker
from polygym.programs import Program

Choice: TypeAlias = tuple[Schedule, Mapping]
"""A schedule and what is done to it for the machine's sake."""

_REMEMBERED = 4096
_PROBLEMS_OPEN = 4

# A first look at a candidate, and how much slower than the original it may be to get a second one.
# Never a single run: a thread that wakes up late, by some of the system's time slices, would make
# a schedule of microseconds one of ten milliseconds.
_LOOK = Repetition(minimum=3, minimum_seconds=0.005, maximum=20)
_CLEARLY_SLOWER = 1.5

# A run that takes so many times as long as the best so far will not lead to a better one.
_HOPELESS = 5.0

# A look at each of several that are to be run in turn: one that fails among the others would make
# them all start anew, and one that is slow takes the time of many. Shorter runs cost nothing.
_GLANCE = Repetition(minimum=1, minimum_seconds=0.0)
_LONG_RUN = 0.1

# The original order when a program is opened: three times, or once where that takes long.
_FIRST = Repetition(minimum=1, minimum_seconds=0.3, maximum=20)

# No run is cut off before: threads may be slow to wake up.
_LEAST_LIMIT = 0.05

# How long the runs of the original in a comparison should take together, and how many they are.
_COMPARISON_SECONDS = 0.03
_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 15

# What the clock can tell: a program without any work may seem to take no time.
_TICK = 1e-9

# After so many seconds the original order's time says little about the machine as it is. Where it
# is long, it may be so many times as old: taking it anew should not be what a search does.
_BASELINE_AGES = 30.0
_BASELINE_LASTS = 30.0

# What ends a measurement of a program that has been open, without the schedule's doing: processes
# that cannot be started any more, or no memory to open the program again after a worker was lost.
_MACHINE_FAILURES = (WorkerError, ProblemError, InternalError, OSError)


class Evaluator:
    """Judges schedules of a program; its processes start when the first one comes."""

    def __init__(
        self,
        program: Program,
        options: EvaluationOptions | None = None,
        *,
        worker: Worker | None = None,
        compiler: Compiler | None = None,
    ) -> None:
        """Keep what is to be judged and by whom; a missing worker or compiler is made."""
        self.program = program
        self.options = options or EvaluationOptions()
        self._owns_worker = worker is None
        self._owns_compiler = compiler is None
        self._worker = worker or Worker()
        self._compiler = compiler or Compiler(
            self.options.compile_seconds, self.options.compile_memory
        )
        self._session: Session | None = None
        self._known: Memory[Choice, Evaluation] = Memory(_REMEMBERED)
        self._baseline: Ok | None = None
        self._baseline_taken = 0.0
        self._turns = _Turns()

    @property
    def session(self) -> Session:
        """The program, open in the worker, with the time of its original order.

        Raises:
            InputError: the original order does not compile.
            ProblemError: it does not run.
        """
        with self._turns.mine():
            if self._session is None:
                problem = self._compiler.compile_problem(self.program)
                self._session = self._worker.open(problem, _FIRST)
                self._renew(self._session.baseline)
            return self._session

    @property
    def baseline_seconds(self) -> float:
        """The original order's time when the program was opened."""
        return self.session.baseline.best

    def evaluate(
        self,
        schedule: Schedule,
        mapping: Mapping | None = None,
        *,
        fresh: bool = False,
        best_so_far: float | None = None,
    ) -> Evaluation:
        """Measure a legal schedule, under a mapping other than the usual one if one is given.

        With ``fresh`` one that is known already is measured again. Such an answer is not
        remembered: what was known stays known. ``best_so_far`` is the time of the best so far
        (infinite before there is one), for a search in which nothing else counts: a run that takes
        several times as long is cut off, and where the original order takes long it does not run in
        turn.

        Raises:
            IllegalScheduleError: the schedule is not legal.
            InputError: the original order does not compile.
            ProblemError: it does not run.
        """
        choice = (schedule, self.options.mapping if mapping is None else mapping)
        with self._turns.mine():
            try:
                if fresh:
                    return self._evaluate(choice, best_so_far)
                return self._known.get(choice, lambda: self._evaluate(choice, best_so_far))
            except _NotMeasuredError as error:
                return _not_measured(choice, error.cause)

    def evaluate_together(
        self, schedules: Sequence[Schedule | Choice], rounds: int
    ) -> tuple[Evaluation, ...]:
        """Run schedules and the original order in turn, ``rounds`` times each.

        A schedule may come with a mapping of its own. Of several, those that fail in a first
        run, or take long in it and are clearly slower than the original, are left at that. Raises
        as :meth:`evaluate` does.
        """
        choices = tuple(
            (one, self.options.mapping) if isinstance(one, Schedule) else one for one in schedules
        )
        with self._turns.mine():
            session = self.session
            try:
                return self._together(session, choices, rounds)
            except _MACHINE_FAILURES as error:
                return tuple(_not_measured(choice, error) for choice in choices)

    def close(self) -> None:
        """Give back the program's memory, and end the processes that belong to this evaluator."""
        with self._turns.mine():
            session, self._session = self._session, None
            if session is not None:
                session.close()
            if self._owns_worker:
                self._worker.close()
                self._worker = Worker()
            if self._owns_compiler:
                self._compiler.close()

    def __enter__(self) -> Self:
        """Return the evaluator; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the evaluator."""
        self.close()

    def __reduce__(
        self,
    ) -> tuple[
        Callable[[Program, EvaluationOptions], Evaluator], tuple[Program, EvaluationOptions]
    ]:
        """Copies and pickles start anew, with processes of their own."""
        return Evaluator, (self.program, self.options)

    def _evaluate(self, choice: Choice, best_so_far: float | None) -> Evaluation:
        session = self.session
        try:
            return self._measure(session, choice, best_so_far)
        except _MACHINE_FAILURES as error:
            raise _NotMeasuredError(error) from error

    def _measure(self, session: Session, choice: Choice, best_so_far: float | None) -> Evaluation:
        """Compile a schedule, look at it, and compare it with the original if it may be faster."""
        compiled = self._compile(choice)
        if isinstance(compiled, NotCompiled):
            return _not_compiled(choice, compiled)
        look = session.measure(compiled, self.measuring(best_so_far))
        baseline = self._current_baseline(session)
        to_beat = baseline.best if best_so_far is None else min(baseline.best, best_so_far)
        is_settled = best_so_far is not None and baseline.best > _LONG_RUN
        if not isinstance(look, Ok) or look.best > _CLEARLY_SLOWER * to_beat or is_settled:
            return _judged(choice, compiled, look, baseline)
        rounds = rounds_within(_COMPARISON_SECONDS, baseline.best, _FEWEST_ROUNDS, _MOST_ROUNDS)
        programs = (session.problem.original, compiled)
        original, again = session.measure_together(programs, rounds, self.measuring())
        return _judged(choice, compiled, again, self._renew(original) or baseline)

    def _together(
        self, session: Session, choices: tuple[Choice, ...], rounds: int
    ) -> tuple[Evaluation, ...]:
        compiled = [self._compile(choice) for choice in choices]
        good = {
            index: one for index, one in enumerate(compiled) if isinstance(one, CompiledProgram)
        }
        looks = self._glances(session, good) if len(good) > 1 else {}
        kept = {index: one for index, one in good.items() if index not in looks}
        programs = (session.problem.original, *kept.values())
        original, *outcomes = session.measure_together(programs, rounds, self.measuring())
        baseline = self._renew(original) or self._current_baseline(session)
        outcome_of = looks | dict(zip(kept, outcomes, strict=True))
        return tuple(
            _not_compiled(choice, one)
            if isinstance(one, NotCompiled)
            else _judged(choice, one, outcome_of[index], baseline)
            for index, (choice, one) in enumerate(zip(choices, compiled, strict=True))
        )

    def _glances(
        self, session: Session, programs: dict[int, CompiledProgram]
    ) -> dict[int, Outcome]:
        """Look at each program alone; return what became of those that failed or are hopeless."""
        hopeless = max(_CLEARLY_SLOWER * self._current_baseline(session).best, _LONG_RUN)
        options = replace(self.measuring(), repetition=_GLANCE)
        looks = {index: session.measure(one, options) for index, one in programs.items()}
        return {
            index: look
            for index, look in looks.items()
            if not isinstance(look, Ok) or look.best > hopeless
        }

    def _current_baseline(self, session: Session) -> Ok:
        """Return the original order's time as it is now, give or take half a minute."""
        known = self._baseline or session.baseline
        lasts = max(_BASELINE_AGES, _BASELINE_LASTS * known.best)
        if time.monotonic() - self._baseline_taken > lasts:
            self._renew(session.measure(session.problem.original, self.measuring()))
        return self._baseline or session.baseline

    def _renew(self, original: Outcome) -> Ok | None:
        """Keep a new time of the original order, if it is one, and return it."""
        if not isinstance(original, Ok):
            return None
        self._baseline, self._baseline_taken = original, time.monotonic()
        return original

    def _compile(self, choice: Choice) -> CompiledProgram | NotCompiled:
        """Return the code of a schedule, or why there is none; an illegal one is refused."""
        found = self._compiler.compile_schedule(
            self.program,
            *choice,
            seconds=self.options.compile_seconds,
            memory=self.options.compile_memory,
        )
        if isinstance(found, NotCompiled) and found.error_type == IllegalScheduleError.__name__:
            raise IllegalScheduleError(found.reason)
        return found

    def measuring(self, best_so_far: float | None = None) -> MeasureOptions:
        """Return how programs are run here, those too that have to be as fast as another one."""
        factor = self.options.timeout_factor
        if best_so_far is not None:
            factor = min(factor, _HOPELESS * best_so_far / max(self.baseline_seconds, _TICK))
        return MeasureOptions(_LOOK, TimeLimit(factor, _LEAST_LIMIT))


def rounds_within(seconds: float, one: float, fewest: int, most: int) -> int:
    """Return how many runs of ``one`` second each take so many seconds, within bounds.

    >>> [rounds_within(2.0, one, 2, 11) for one in (0.3, 0.0, 9.0)]
    [7, 11, 2]
    """
    return max(fewest, min(most, ceil(seconds / max(one, _TICK))))


class _NotMeasuredError(Exception):
    """The machine failed: an answer to give, but none to remember."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(str(cause))


def _not_measured(choice: Choice, cause: Exception) -> Evaluation:
    schedule, mapping = choice
    status = cause.outcome.status if isinstance(cause, ProblemError) else Status.CRASH
    return Evaluation(
        schedule,
        status,
        error_type=type(cause).__name__,
        error_details=str(cause),
        mapping=mapping,
    )


def _not_compiled(choice: Choice, why: NotCompiled) -> Evaluation:
    schedule, mapping = choice
    return Evaluation(
        schedule,
        Status.DOES_NOT_COMPILE,
        error_type=why.error_type,
        error_details=why.reason,
        mapping=mapping,
    )


def _judged(
    choice: Choice, compiled: CompiledProgram, outcome: Outcome, baseline: Ok
) -> Evaluation:
    schedule, mapping = choice
    if not isinstance(outcome, Ok):
        return Evaluation(
            schedule,
            outcome.status,
            baseline_seconds=baseline.best,
            baseline_samples=tuple(baseline.samples),
            error_type=type(outcome).__name__,
            error_details=str(outcome),
            mapping=mapping,
            done=compiled.done,
        )
    return Evaluation(
        schedule,
        Status.OK,
        max(baseline.best, _TICK) / max(outcome.best, _TICK),
        outcome.best,
        baseline.best,
        tuple(outcome.samples),
        tuple(baseline.samples),
        mapping=mapping,
        done=compiled.done,
    )


class _Turns:
    """A lock that belongs to one process: a thread left behind by a fork does not hold it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()

    def mine(self) -> threading.RLock:
        """Return the lock of this process."""
        if self._owner != os.getpid():
            self._owner, self._lock = os.getpid(), threading.RLock()
        return self._lock


class _Shared:
    """What the evaluators of a process have in common: one worker, one compiler, few programs."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.worker = Worker()
        self.compiler = shared_compiler()
        self.evaluators: dict[tuple[Program, EvaluationOptions], Evaluator] = {}
        self.lock = threading.Lock()


_shared: _Shared | None = None


def evaluator_for(program: Program, options: EvaluationOptions) -> Evaluator:
    """Return this process's evaluator of a program; only the last few programs stay open."""
    global _shared
    if _shared is None or _shared.owner != os.getpid():
        _shared = _Shared()
    key = (program, options)
    shared, superfluous = _shared, []
    with shared.lock:
        found = shared.evaluators.pop(key, None) or Evaluator(
            program, options, worker=shared.worker, compiler=shared.compiler
        )
        shared.evaluators[key] = found
        while len(shared.evaluators) > _PROBLEMS_OPEN:
            superfluous.append(shared.evaluators.pop(next(iter(shared.evaluators))))
    for evaluator in superfluous:  # outside the lock: one that is at work in a thread is waited for
        evaluator.close()
    return found
