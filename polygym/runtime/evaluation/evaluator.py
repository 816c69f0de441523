"""Evaluators: schedules of one program, compiled and measured.

A schedule is compiled in the compiler's process and run in the worker's: first alone, then in turn
with the original order if it may be faster (``measuring_rule`` says when, ``turns`` does it), and
whatever becomes of it is one value (``answers``). The same schedule is not measured twice, nor is
one whose loops are those of another but for where counters begin
(:mod:`polygym.codegen.loopir.canonical_form`): the first answer is remembered, unless it was the
machine and not the schedule that failed, or the options say otherwise
(:class:`~polygym.runtime.evaluation.evaluation.Remeasure`). Threads may share an evaluator; what
they ask follows one another.

The evaluators of a process: one worker and one compiler for all, and only few programs open.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from polygym.closeable import Closeable
from polygym.errors import IllegalScheduleError
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import Mapping, require_statements
from polygym.poly.schedule import Schedule
from polygym.programs import Program
from polygym.runtime.evaluation.compiler import CompileFailure, Compiler, shared_compiler
from polygym.runtime.evaluation.evaluation import Evaluation, EvaluationOptions, Remeasure
from polygym.runtime.evaluation.evaluation_results import (
    MACHINE_FAILURES,
    MappedSchedule,
    NotMeasuredError,
    compile_failure,
    evaluation_of_run,
    machine_failure,
    median_evaluation,
)
from polygym.runtime.evaluation.measurement_rule import BASELINE_REPETITION, InterleavedRuns
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.timing import MeasureOptions
from polygym.runtime.worker.worker import Session, Worker

__all__ = ["Evaluator", "MappedSchedule", "evaluator_for"]

_CACHE_SIZE = 4096

# How often an answer that would be the best is measured again, if it is to be confirmed.
_CONFIRMATIONS = 2


class Evaluator(Closeable):
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
        self._runs: InterleavedRuns | None = None
        self._memo: LruCache[MappedSchedule, Evaluation] = LruCache(_CACHE_SIZE)
        self._memo_by_key: LruCache[str, Evaluation] = LruCache(_CACHE_SIZE)
        self._confirmed_speedup = 0.0
        self._lock = _ProcessLock()

    @property
    def session(self) -> Session:
        """The program, open in the worker, with the time of its original order.

        Raises:
            InputError: the original order does not compile.
            ProblemError: it does not run.
        """
        with self._lock.current():
            return self._opened().session

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

        With ``fresh``, or where the options have ``Remeasure.ALWAYS``, one that is known already is
        measured again. Such an answer is not remembered: what was known stays known.
        ``best_so_far`` is the time of the best so far (infinite before there is one), for a search
        in which nothing else counts: a run that takes several times as long is cut off, and where
        the original order takes long it does not run in turn.

        Raises:
            IllegalScheduleError: the schedule is not legal.
            InputError: the original order does not compile.
            ProblemError: it does not run.
        """
        choice = (schedule, self.options.mapping if mapping is None else mapping)
        with self._lock.current():
            try:
                if fresh or self.options.remeasure is Remeasure.ALWAYS:
                    return self._evaluate(choice, best_so_far, fresh=True)
                known = self._memo.get(
                    choice, lambda: self._evaluate(choice, best_so_far, fresh=False)
                )
                return self._confirmed(choice, known)
            except NotMeasuredError as error:
                return machine_failure(choice, error.cause)

    def evaluate_interleaved(
        self, schedules: Sequence[Schedule | MappedSchedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        """Run schedules and the original order in turn, ``rounds`` times each.

        A schedule may come with a mapping of its own. Of several, those that fail in a first
        run, or take long in it and are clearly slower than the original, are left at that. Raises
        as :meth:`evaluate` does.
        """
        choices = tuple(
            (schedule, self.options.mapping) if isinstance(schedule, Schedule) else schedule
            for schedule in schedules
        )
        with self._lock.current():
            turns = self._opened()
            try:
                return self._together(turns, choices, rounds)
            except MACHINE_FAILURES as error:
                return tuple(machine_failure(choice, error) for choice in choices)

    def close(self) -> None:
        """Give back the program's memory, and end the processes that belong to this evaluator."""
        with self._lock.current():
            turns, self._runs = self._runs, None
            if turns is not None:
                turns.session.close()
            if self._owns_worker:
                self._worker.close()
                self._worker = Worker()
            if self._owns_compiler:
                self._compiler.close()

    def __reduce__(
        self,
    ) -> tuple[
        Callable[[Program, EvaluationOptions], Evaluator], tuple[Program, EvaluationOptions]
    ]:
        """Copies and pickles start anew, with processes of their own."""
        return Evaluator, (self.program, self.options)

    def measure_options(self, best_so_far: float | None = None) -> MeasureOptions:
        """Return how programs are run here, those too that have to be as fast as another one."""
        with self._lock.current():
            return self._opened().rule.screening_options(best_so_far)

    def _opened(self) -> InterleavedRuns:
        """Return the program, open in the worker; the first who asks opens it."""
        if self._runs is None:
            require_statements(self.options.mapping.nests, self.program.scop)
            problem = self._compiler.compile_problem(self.program)
            session = self._worker.open(problem, BASELINE_REPETITION)
            self._runs = InterleavedRuns(session, self.options.timeout_factor)
        return self._runs

    def _evaluate(
        self, choice: MappedSchedule, best_so_far: float | None, *, fresh: bool
    ) -> Evaluation:
        turns = self._opened()
        try:
            compiled = self._compile(choice)
            if isinstance(compiled, CompileFailure):
                return compile_failure(choice, compiled)

            def measured() -> Evaluation:
                return evaluation_of_run(choice, compiled, *turns.measure(compiled, best_so_far))

            if fresh or not compiled.canonical_key:
                return measured()
            schedule, mapping = choice
            same = self._memo_by_key.get(compiled.canonical_key, measured)
            return replace(same, schedule=schedule, mapping=mapping)
        except MACHINE_FAILURES as error:
            raise NotMeasuredError(error) from error

    def _confirmed(self, choice: MappedSchedule, known: Evaluation) -> Evaluation:
        """Return a known answer, confirmed if it would be the best and the options ask for it."""
        is_best = known.is_ok and known.speedup > self._confirmed_speedup
        if self.options.remeasure is not Remeasure.BEST or not is_best:
            return known
        again = [self._evaluate(choice, None, fresh=True) for _ in range(_CONFIRMATIONS)]
        result = median_evaluation([known, *again])
        self._memo.put(choice, result)
        if result.canonical_key:
            self._memo_by_key.put(result.canonical_key, result)
        if result.is_ok:
            self._confirmed_speedup = max(self._confirmed_speedup, result.speedup)
        return result

    def _together(
        self, turns: InterleavedRuns, choices: tuple[MappedSchedule, ...], rounds: int
    ) -> tuple[Evaluation, ...]:
        compiled = [self._compile(choice) for choice in choices]
        good = {
            number: program
            for number, program in enumerate(compiled)
            if isinstance(program, CompiledProgram)
        }
        outcomes, baseline = turns.measure_together(good, rounds)
        return tuple(
            compile_failure(choice, compiled_program)
            if isinstance(compiled_program, CompileFailure)
            else evaluation_of_run(choice, compiled_program, outcomes[number], baseline)
            for number, (choice, compiled_program) in enumerate(zip(choices, compiled, strict=True))
        )

    def _compile(self, choice: MappedSchedule) -> CompiledProgram | CompileFailure:
        """Return the code of a schedule, or why there is none; an illegal one is refused."""
        failure = self._compiler.compile_schedule(
            self.program,
            *choice,
            seconds=self.options.compile_seconds,
            memory=self.options.compile_memory,
        )
        if (
            isinstance(failure, CompileFailure)
            and failure.error_type == IllegalScheduleError.__name__
        ):
            raise IllegalScheduleError(failure.reason)
        return failure


class _ProcessLock:
    """A lock that belongs to one process: a thread left behind by a fork does not hold it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()

    def current(self) -> threading.RLock:
        """Return the lock of this process."""
        if self._owner != os.getpid():
            self._owner, self._lock = os.getpid(), threading.RLock()
        return self._lock


_MAX_OPEN_PROBLEMS = 4


class _SharedEvaluators:
    """What the evaluators of a process have in common: one worker, one compiler, few programs."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.worker = Worker()
        self.compiler = shared_compiler()
        self.evaluators: dict[tuple[Program, EvaluationOptions], Evaluator] = {}
        self.lock = threading.Lock()


_shared: _SharedEvaluators | None = None


def evaluator_for(program: Program, options: EvaluationOptions) -> Evaluator:
    """Return this process's evaluator of a program; only the last few programs stay open."""
    global _shared
    if _shared is None or _shared.owner != os.getpid():
        _shared = _SharedEvaluators()
    key = (program, options)
    shared, superfluous = _shared, []
    with shared.lock:
        result = shared.evaluators.pop(key, None) or Evaluator(
            program, options, worker=shared.worker, compiler=shared.compiler
        )
        shared.evaluators[key] = result
        while len(shared.evaluators) > _MAX_OPEN_PROBLEMS:
            superfluous.append(shared.evaluators.pop(next(iter(shared.evaluators))))
    for evaluator in superfluous:  # outside the lock: one that is at work in a thread is waited for
        evaluator.close()
    return result


def kill_shared_processes() -> None:
    """End this process's worker and compiler at once, whatever they do; the next request restarts.

    A request that is at it starts another process and tries once more, so a caller that wants an
    end repeats this until the request has returned.
    """
    shared = _shared
    if shared is None or shared.owner != os.getpid():
        return
    shared.worker.end_process()
    shared.compiler.end_process()


def close_shared_evaluators() -> None:
    """Close this process's evaluators, and end its worker and compiler in order."""
    global _shared
    shared = _shared
    if shared is None or shared.owner != os.getpid():
        return
    _shared = None
    for evaluator in shared.evaluators.values():
        evaluator.close()
    shared.worker.close()
    shared.compiler.close()
