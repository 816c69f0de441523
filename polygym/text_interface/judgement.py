"""Judgement of a state: a time by the clock, or a score without one.

The rewards of the environments decide which (:mod:`polygym.mdp.rewards`): ``speedup`` and
``log_speedup`` run the program in the worker, ``static`` scores the schedule, ``model`` and
``log_model`` predict the speedup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from polygym.errors import LimitError, PolygymError
from polygym.lru_cache import LruCache
from polygym.mdp.episode import Task
from polygym.mdp.problems.loading import ScheduleProblem
from polygym.mdp.rewards import RewardKind, reward_of_failure, reward_of_success
from polygym.poly.scheduling.properties import static_score
from polygym.poly.transform.splitting.conditions import Splitting
from polygym.poly.transform.storage.plan import StoragePlan
from polygym.programs import Program
from polygym.programs.stored_program import apply_splitting_to, with_storage_plan
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, evaluator_for
from polygym.runtime.worker.outcome import OutcomeStatus, ProblemError
from polygym.transformations.state import TransformState

NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a state.

    ``worth`` is the speedup, or the score. The times are 0 without a clock; ``evaluation`` is None
    then, and where the program could not be opened.
    """

    status: str
    is_ok: bool
    worth: float = 0.0
    seconds: float = 0.0
    baseline_seconds: float = 0.0
    details: str = ""
    evaluation: Evaluation | None = None

    def __str__(self) -> str:
        """Return one sentence.

        >>> print(Judgement("ok", True, 2.5, 0.002, 0.005))
        ok: 2.000 ms, the source 5.000 ms, speedup 2.500
        """
        if not self.is_ok:
            return f"{self.status}: {self.details}" if self.details else self.status
        if not self.seconds:
            return f"{self.status}: score {self.worth:.4f}"
        return (
            f"{self.status}: {milliseconds(self.seconds)}, the source "
            f"{milliseconds(self.baseline_seconds)}, speedup {self.worth:.3f}"
        )

    def reward(self, kind: RewardKind, timeout_factor: float) -> float:
        """Return the reward of an end with this judgement."""
        if not self.is_ok:
            return reward_of_failure(kind, timeout_factor)
        return reward_of_success(kind, self.worth, timeout_factor)


def milliseconds(seconds: float) -> str:
    """Return a time as text.

    >>> milliseconds(0.0012345)
    '1.234 ms'
    """
    return f"{seconds * 1e3:.3f} ms"


class Judge(Protocol):
    """Judges states of one program."""

    @property
    def is_measured(self) -> bool:
        """Whether states are run."""
        ...

    def judge(self, state: TransformState) -> Judgement:
        """Return what becomes of a state, whatever it is."""
        ...


class StoredPrograms:
    """A program with its statements divided and its arrays stored as states have them."""

    def __init__(self, program: Program, memory_limit: int) -> None:
        self._program = program
        self._memory_limit = memory_limit
        self._known: LruCache[tuple[Splitting, StoragePlan], Program] = LruCache(16)

    def of(self, state: TransformState) -> Program:
        """Return the program of which a state's schedule is.

        Raises:
            InputError: it takes too much memory, or too long to be proved right.
        """

        def make() -> Program:
            program = apply_splitting_to(self._program, state.splitting)
            if state.storage.is_source:
                return program
            return with_storage_plan(program, state.storage, self._memory_limit)

        return self._known.get((state.splitting, state.storage), make)


class ClockJudge:
    """Measures states in the worker process, beside the source's order."""

    is_measured = True

    def __init__(self, programs: StoredPrograms, options: EvaluationOptions) -> None:
        self._programs = programs
        self._options = options

    def judge(self, state: TransformState) -> Judgement:
        """Compile and run the program of a state."""
        try:
            program = self._programs.of(state)
            evaluator = evaluator_for(program, self._options)
            evaluation = evaluator.evaluate(state.schedule, state.mapping)
        except ProblemError as error:
            return Judgement(error.outcome.status.value, False, details=str(error))
        except PolygymError as error:
            return Judgement(OutcomeStatus.DOES_NOT_COMPILE.value, False, details=str(error))
        return judgement_of(evaluation)


def judgement_of(evaluation: Evaluation) -> Judgement:
    """Return the judgement that an evaluation is."""
    return Judgement(
        evaluation.status.value,
        evaluation.is_ok,
        float(evaluation.speedup),
        float(evaluation.seconds),
        float(evaluation.baseline_seconds),
        evaluation.error_details,
        evaluation,
    )


class ScoreJudge:
    """Scores states without running them, by the static score or the cost model."""

    is_measured = False

    def __init__(self, kind: RewardKind, problem: ScheduleProblem) -> None:
        self._kind = kind
        self._problem = problem
        self._tasks: LruCache[tuple[Splitting, StoragePlan], Task] = LruCache(16)

    def judge(self, state: TransformState) -> Judgement:
        """Score the schedule of a state, under its mapping if the model predicts."""
        try:
            return Judgement(NOT_MEASURED, True, self._score(state))
        except LimitError as error:
            return Judgement(OutcomeStatus.DOES_NOT_COMPILE.value, False, details=str(error))

    def _score(self, state: TransformState) -> float:
        if self._kind is RewardKind.STATIC:
            return static_score(state.scop, state.schedule)
        from polygym.mdp.predicted_reward import predicted_speedup

        task = self._tasks.get((state.splitting, state.storage), lambda: self._task(state))
        return predicted_speedup(task, state.schedule, state.mapping)

    def _task(self, state: TransformState) -> Task:
        source = self._problem.task
        if state.scop is source.scop:
            return source
        return Task(state.scop, source.options, source.sizes, source)


def judge_of(
    kind: RewardKind, problem: ScheduleProblem, options: EvaluationOptions, memory_limit: int
) -> Judge:
    """Return the judge for a kind of reward."""
    if kind.is_measured:
        return ClockJudge(StoredPrograms(problem.program, memory_limit), options)
    return ScoreJudge(kind, problem)
