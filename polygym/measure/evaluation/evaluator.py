"""Schedules of one program, judged: the front door of the package.

A schedule is compiled in the compiler's process and run in the worker's: first alone, then in turn
with the original order if it may be faster (``measuring_rule`` says when, ``turns`` does it), and
whatever becomes of it is one value (``answers``). The same schedule is not measured twice, nor is
one whose loops are those of another but for where counters begin
(:mod:`polygym.compiler.codegen.loops.alike`): the first answer is remembered, unless it was the
machine and not the schedule that failed. Threads may share an evaluator; what they ask follows one
another.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from polygym.closing import Closing
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.nest_entries import expect_statements
from polygym.compiler.poly.schedule import Schedule
from polygym.errors import IllegalScheduleError
from polygym.lru import Memory
from polygym.measure.evaluation.answers import (
    MACHINE_FAILURES,
    Choice,
    NotMeasuredError,
    judged,
    not_compiled,
    not_measured,
)
from polygym.measure.evaluation.compiler import Compiler, NotCompiled
from polygym.measure.evaluation.evaluation import Evaluation, EvaluationOptions
from polygym.measure.evaluation.measuring_rule import FIRST
from polygym.measure.evaluation.turns import Turns
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.problem import CompiledProgram
from polygym.measure.worker.session import Session
from polygym.measure.worker.worker import Worker
from polygym.programs import Program

__all__ = ["Choice", "Evaluator"]

_REMEMBERED = 4096


class Evaluator(Closing):
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
        self._turns: Turns | None = None
        self._known: Memory[Choice, Evaluation] = Memory(_REMEMBERED)
        self._of_loops: Memory[str, Evaluation] = Memory(_REMEMBERED)
        self._lock = _OwnLock()

    @property
    def session(self) -> Session:
        """The program, open in the worker, with the time of its original order.

        Raises:
            InputError: the original order does not compile.
            ProblemError: it does not run.
        """
        with self._lock.mine():
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
        with self._lock.mine():
            try:
                if fresh:
                    return self._evaluate(choice, best_so_far, fresh=True)
                return self._known.get(
                    choice, lambda: self._evaluate(choice, best_so_far, fresh=False)
                )
            except NotMeasuredError as error:
                return not_measured(choice, error.cause)

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
        with self._lock.mine():
            turns = self._opened()
            try:
                return self._together(turns, choices, rounds)
            except MACHINE_FAILURES as error:
                return tuple(not_measured(choice, error) for choice in choices)

    def close(self) -> None:
        """Give back the program's memory, and end the processes that belong to this evaluator."""
        with self._lock.mine():
            turns, self._turns = self._turns, None
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

    def measuring(self, best_so_far: float | None = None) -> MeasureOptions:
        """Return how programs are run here, those too that have to be as fast as another one."""
        with self._lock.mine():
            return self._opened().rule.look(best_so_far)

    def _opened(self) -> Turns:
        """Return the program, open in the worker; the first who asks opens it."""
        if self._turns is None:
            expect_statements(self.options.mapping.nests, self.program.scop)
            problem = self._compiler.compile_problem(self.program)
            session = self._worker.open(problem, FIRST)
            self._turns = Turns(session, self.options.timeout_factor)
        return self._turns

    def _evaluate(self, choice: Choice, best_so_far: float | None, *, fresh: bool) -> Evaluation:
        turns = self._opened()
        try:
            compiled = self._compile(choice)
            if isinstance(compiled, NotCompiled):
                return not_compiled(choice, compiled)

            def measured() -> Evaluation:
                return judged(choice, compiled, *turns.measure(compiled, best_so_far))

            if fresh or not compiled.loops:
                return measured()
            schedule, mapping = choice
            same = self._of_loops.get(compiled.loops, measured)
            return replace(same, schedule=schedule, mapping=mapping)
        except MACHINE_FAILURES as error:
            raise NotMeasuredError(error) from error

    def _together(
        self, turns: Turns, choices: tuple[Choice, ...], rounds: int
    ) -> tuple[Evaluation, ...]:
        compiled = [self._compile(choice) for choice in choices]
        good = {
            number: one for number, one in enumerate(compiled) if isinstance(one, CompiledProgram)
        }
        outcomes, baseline = turns.measure_together(good, rounds)
        return tuple(
            not_compiled(choice, one)
            if isinstance(one, NotCompiled)
            else judged(choice, one, outcomes[number], baseline)
            for number, (choice, one) in enumerate(zip(choices, compiled, strict=True))
        )

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


class _OwnLock:
    """A lock that belongs to one process: a thread left behind by a fork does not hold it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()

    def mine(self) -> threading.RLock:
        """Return the lock of this process."""
        if self._owner != os.getpid():
            self._owner, self._lock = os.getpid(), threading.RLock()
        return self._lock
