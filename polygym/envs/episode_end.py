"""Reward of the end of an episode, and its last ``info``.

One of three judges a schedule: the clock of this process, somebody elsewhere (whose answer may come
later), or a score without a clock. What cannot become a schedule is judged by none of them.

Keys and types of the last ``info`` of an episode, the same for every end.

Ends of episodes that are measured elsewhere: by the nodes of a cluster, say.

An environment that is given an :class:`RemoteEvaluator` does not run schedules itself. It waits for
the answer, or goes on at once: then the reward of the last step is 0 for now, the status is
:data:`PENDING_STATUS`, and ``info["pending"]`` has a :class:`PendingReward`, whose reward comes
later.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from polygym.errors import InternalError, LimitError
from polygym.mapping.mapping import Mapping
from polygym.mdp import rewards as reward
from polygym.mdp.episode import Episode
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem
from polygym.mdp.rewards import RewardKind
from polygym.mdp.task_options import Phase
from polygym.poly.legality import find_violation
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.properties import static_score
from polygym.runtime.evaluation import Evaluation, EvaluationOptions, evaluator_for

PENDING_STATUS = "pending"


class RemoteEvaluator(Protocol):
    """Who measures."""

    @property
    def is_blocking(self) -> bool:
        """Whether environments wait for the answers."""
        ...

    def submit(
        self,
        source: ProgramSource,
        options: EvaluationOptions,
        schedule: Schedule,
        mapping: Mapping,
    ) -> Future[Evaluation]:
        """Have a schedule measured."""
        ...


@dataclass(frozen=True, slots=True)
class PendingReward:
    """The end of an episode of which the measurement is to come."""

    future: Future[Evaluation]
    reward_of: Callable[[Evaluation], float]

    def __deepcopy__(self, _: dict[int, object]) -> PendingReward:
        """Return itself: vectors of environments copy what an info has, and there is one answer."""
        return self

    def wait(self) -> tuple[float, Evaluation]:
        """Wait for the measurement; return the reward, and what was measured.

        Raises:
            PolygymError: it could not be measured.
        """
        evaluation = self.future.result()
        return self.reward_of(evaluation), evaluation


Info: TypeAlias = dict[str, Any]

INVALID_STATUS = "invalid"
NOT_MEASURED_STATUS = "not measured"


def unmeasured_info(
    status: str,
    *,
    schedule: Schedule | None = None,
    error: tuple[str, str] = ("", ""),
    is_success: bool = False,
) -> Info:
    """Return the keys of an end without a measurement, with the types they have in every end."""
    return {
        "status": status,
        "speedup": 0.0,
        "seconds": 0.0,
        "baseline_seconds": 0.0,
        "samples": (),
        "schedule": "" if schedule is None else str(schedule),
        "error_type": error[0],
        "error_details": error[1],
        "is_success": is_success,
    }


def measured_info(evaluation: Evaluation) -> Info:
    """Return the keys of an end with a measurement."""
    return {
        "status": evaluation.status.value,
        "speedup": float(evaluation.speedup),
        "seconds": float(evaluation.seconds),
        "baseline_seconds": float(evaluation.baseline_seconds),
        "samples": tuple(float(sample) for sample in evaluation.samples),
        "schedule": str(evaluation.schedule),
        "error_type": evaluation.error_type,
        "error_details": evaluation.error_details,
        "is_success": evaluation.is_ok,
    }


NOT_COMPILED_STATUS = "does not compile"


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """The reward of an end, what its info says, and what was measured if anything was."""

    reward: float
    info: Info
    evaluation: Evaluation | None = None


@dataclass(frozen=True, slots=True)
class RewardTerms:
    """Which reward is paid, how it is measured, and by whom if not by this process."""

    kind: RewardKind
    evaluation_options: EvaluationOptions
    remote_evaluator: RemoteEvaluator | None

    def result_of(self, subject: ScheduleProblem, episode: Episode) -> EpisodeResult:
        """Return what the end of an episode about a subject is worth."""
        if episode.phase is Phase.INVALID:
            said = unmeasured_info(INVALID_STATUS, error=("InvalidState", episode.reason))
            return EpisodeResult(reward.reward_of_invalid(self.kind, self._timeout_factor), said)
        try:
            schedule = episode.schedule()
        except LimitError as error:
            return self._failure_result(None, error)
        _check_legality(episode, schedule)
        if self.kind.is_measured:
            return self._measured_result(subject, episode, schedule)
        return self._reward_without_clock(episode, schedule)

    @property
    def _timeout_factor(self) -> float:
        return self.evaluation_options.timeout_factor

    def _mapping(self, episode: Episode) -> Mapping:
        """Return the mapping that an episode has decided, or that is asked for."""
        return episode.mapping or self.evaluation_options.mapping

    def _reward_without_clock(self, episode: Episode, schedule: Schedule) -> EpisodeResult:
        """Return what a schedule is worth that is not run."""
        try:
            if self.kind is RewardKind.STATIC:
                worth = static_score(episode.task.scop, schedule)
            else:
                from polygym.mdp.predicted_reward import predicted_speedup

                worth = predicted_speedup(episode.task, schedule, self._mapping(episode))
        except LimitError as error:
            return self._failure_result(schedule, error)
        said = unmeasured_info(NOT_MEASURED_STATUS, schedule=schedule, is_success=True)
        return EpisodeResult(reward.reward_of_success(self.kind, worth, self._timeout_factor), said)

    def _failure_result(self, schedule: Schedule | None, error: LimitError) -> EpisodeResult:
        known = (type(error).__name__, str(error))
        said = unmeasured_info(NOT_COMPILED_STATUS, schedule=schedule, error=known)
        return EpisodeResult(reward.reward_of_failure(self.kind, self._timeout_factor), said)

    def _measured_result(
        self, subject: ScheduleProblem, episode: Episode, schedule: Schedule
    ) -> EpisodeResult:
        """Return what a schedule is worth by a clock, or who will say it."""
        if self.remote_evaluator is None:
            evaluator = evaluator_for(subject.program_of(episode), self.evaluation_options)
            evaluation = evaluator.evaluate(schedule, episode.mapping)
        else:
            source, mapping = subject.source_of(episode), self._mapping(episode)
            future = self.remote_evaluator.submit(
                source, self.evaluation_options, schedule, mapping
            )
            if not self.remote_evaluator.is_blocking:
                said = unmeasured_info(PENDING_STATUS, schedule=schedule)
                worth = partial(
                    reward.reward_of_evaluation, self.kind, timeout_factor=self._timeout_factor
                )
                said["pending"] = PendingReward(future, worth)
                return EpisodeResult(0.0, said)
            evaluation = future.result()
        value = reward.reward_of_evaluation(self.kind, evaluation, self._timeout_factor)
        return EpisodeResult(value, measured_info(evaluation), evaluation)


def _check_legality(episode: Episode, schedule: Schedule) -> None:
    """Refuse an illegal schedule, which the spaces cannot hold."""
    violation = find_violation(episode.task.scop, schedule)
    if violation is not None:
        raise InternalError(f"an episode made an illegal schedule, {schedule}: {violation}")
