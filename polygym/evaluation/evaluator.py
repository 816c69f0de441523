"""Schedules of one program, measured against its original order.

A schedule is compiled in the compiler's process and run in the worker's, where it first shows what
it can: once, or for some milliseconds, each run cut off at the time limit. One that is clearly
slower than the original is left at that. One that may be faster is then run in turn with the
original, in one process and by one clock, several times; its speedup is the ratio of the two best
times, so that nothing which slows the machine down for a while looks like a property of the
schedule.

The same schedule is not measured twice: the first answer is remembered. Threads may share an
evaluator; what they ask follows one another.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from math import ceil
from types import TracebackType
from typing import Self

from polygym.errors import IllegalScheduleError
from polygym.evaluation.compiler import Compiler, NotCompiled
from polygym.evaluation.evaluation import Evaluation, EvaluationOptions
from polygym.measure.options import MeasureOptions
from polygym.measure.outcome import Ok, Outcome, Status
from polygym.measure.problem import Program as Compiled
from polygym.measure.session import Session
from polygym.measure.timing import Repetition, TimeLimit
from polygym.measure.worker import Worker
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.memory import Memory
from polygym.programs import Program

_REMEMBERED = 4096
_PROBLEMS_OPEN = 4

# A first look at a candidate, and how much slower than the original it may be to get a second one.
_LOOK = Repetition(minimum=1, minimum_seconds=0.005, maximum=20)
_CLEARLY_SLOWER = 1.5

# How long the runs of the original in a comparison should take together, and how many they are.
_COMPARISON_SECONDS = 0.03
_FEWEST_ROUNDS, _MOST_ROUNDS = 3, 15

# What the clock can tell: a program without any work may seem to take no time.
_TICK = 1e-9


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
        self._compiler = compiler or Compiler(self.options.compile_seconds)
        self._session: Session | None = None
        self._known: Memory[Schedule, Evaluation] = Memory(_REMEMBERED)
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
                self._session = self._worker.open(problem, Repetition(minimum=3, maximum=20))
            return self._session

    @property
    def baseline_seconds(self) -> float:
        """The original order's time when the program was opened."""
        return self.session.baseline.best

    def evaluate(self, schedule: Schedule, *, fresh: bool = False) -> Evaluation:
        """Measure a legal schedule; ``fresh`` measures one that is known already again.

        A fresh answer is not remembered: what was known stays known.

        Raises:
            IllegalScheduleError: the schedule is not legal.
            InputError: the original order does not compile.
            ProblemError: it does not run.
        """
        with self._turns.mine():
            if fresh:
                return self._evaluate(schedule)
            return self._known.get(schedule, lambda: self._evaluate(schedule))

    def evaluate_together(
        self, schedules: Sequence[Schedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        """Run schedules and the original order in turn, ``rounds`` times each.

        Raises as :meth:`evaluate` does.
        """
        with self._turns.mine():
            compiled = [self._compile(schedule) for schedule in schedules]
            good = [one for one in compiled if isinstance(one, Compiled)]
            session = self.session
            programs = (session.problem.original, *good)
            original, *outcomes = session.measure_together(programs, rounds, self._how(_LOOK))
        baseline = original if isinstance(original, Ok) else session.baseline
        rest = iter(outcomes)
        return tuple(
            _not_compiled(schedule, one)
            if isinstance(one, NotCompiled)
            else _judged(schedule, next(rest), baseline)
            for schedule, one in zip(schedules, compiled, strict=True)
        )

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

    def _evaluate(self, schedule: Schedule) -> Evaluation:
        compiled = self._compile(schedule)
        if isinstance(compiled, NotCompiled):
            return _not_compiled(schedule, compiled)
        session = self.session
        look = session.measure(compiled, self._how(_LOOK))
        if not isinstance(look, Ok) or look.best > _CLEARLY_SLOWER * session.baseline.best:
            return _judged(schedule, look, session.baseline)
        rounds = ceil(_COMPARISON_SECONDS / max(session.baseline.best, _TICK))
        rounds = max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, rounds))
        programs = (session.problem.original, compiled)
        original, again = session.measure_together(programs, rounds, self._how(_LOOK))
        baseline = original if isinstance(original, Ok) else session.baseline
        return _judged(schedule, again, baseline)

    def _compile(self, schedule: Schedule) -> Compiled | NotCompiled:
        """Return the code of a schedule, or why there is none; an illegal one is refused."""
        seconds = self.options.compile_seconds
        found = self._compiler.compile_schedule(self.program, schedule, seconds=seconds)
        if isinstance(found, NotCompiled) and found.error_type == IllegalScheduleError.__name__:
            raise IllegalScheduleError(found.reason)
        return found

    def _how(self, repetition: Repetition) -> MeasureOptions:
        return MeasureOptions(repetition, TimeLimit(self.options.timeout_factor))


def _not_compiled(schedule: Schedule, why: NotCompiled) -> Evaluation:
    return Evaluation(
        schedule,
        Status.DOES_NOT_COMPILE,
        error_type=why.error_type,
        error_details=why.reason,
    )


def _judged(schedule: Schedule, outcome: Outcome, baseline: Ok) -> Evaluation:
    if not isinstance(outcome, Ok):
        return Evaluation(
            schedule,
            outcome.status,
            baseline_seconds=baseline.best,
            baseline_samples=tuple(baseline.samples),
            error_type=type(outcome).__name__,
            error_details=str(outcome),
        )
    return Evaluation(
        schedule,
        Status.OK,
        max(baseline.best, _TICK) / max(outcome.best, _TICK),
        outcome.best,
        baseline.best,
        tuple(outcome.samples),
        tuple(baseline.samples),
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
        self.compiler = Compiler()
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
