"""What the end of an episode is worth, and what its last ``info`` says.

One of three judges a schedule: the clock of this process, somebody elsewhere (whose answer may come
later), or a score without a clock. What cannot become a schedule is judged by none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.legality import find_violation
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.score import static_score
from polygym.envs.elsewhere import PENDING_STATUS, Elsewhere, Pending
from polygym.envs.endings import (
    INVALID_STATUS,
    NOT_MEASURED_STATUS,
    Info,
    measured,
    unmeasured,
)
from polygym.episodes import reward
from polygym.episodes.episode import Episode
from polygym.episodes.kernels import Subject
from polygym.episodes.reward import Reward
from polygym.episodes.task_options import Phase
from polygym.errors import InternalError, LimitError
from polygym.measure.evaluation import Evaluation, EvaluationOptions, evaluator_for

NOT_COMPILED_STATUS = "does not compile"


@dataclass(frozen=True, slots=True)
class Settled:
    """The reward of an end, what its info says, and what was measured if anything was."""

    value: float
    info: Info
    evaluation: Evaluation | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Which reward is paid, how it is measured, and by whom if not by this process."""

    kind: Reward
    measuring: EvaluationOptions
    elsewhere: Elsewhere | None

    def settle(self, subject: Subject, episode: Episode) -> Settled:
        """Return what the end of an episode about a subject is worth."""
        if episode.phase is Phase.INVALID:
            said = unmeasured(INVALID_STATUS, error=("InvalidState", episode.reason))
            return Settled(reward.of_invalid(self.kind, self._factor), said)
        try:
            schedule = episode.schedule()
        except LimitError as error:
            return self._failed(None, error)
        _check(episode, schedule)
        if self.kind.is_measured:
            return self._timed(subject, episode, schedule)
        return self._judged(episode, schedule)

    @property
    def _factor(self) -> float:
        return self.measuring.timeout_factor

    def _mapping(self, episode: Episode) -> Mapping:
        """Return the mapping that an episode has decided, or that is asked for."""
        return episode.mapping or self.measuring.mapping

    def _judged(self, episode: Episode, schedule: Schedule) -> Settled:
        """Return what a schedule is worth that is not run."""
        try:
            if self.kind is Reward.STATIC:
                worth = static_score(episode.task.scop, schedule)
            else:
                from polygym.episodes.predicted import predicted_speedup

                worth = predicted_speedup(episode.task, schedule, self._mapping(episode))
        except LimitError as error:
            return self._failed(schedule, error)
        said = unmeasured(NOT_MEASURED_STATUS, schedule=schedule, is_success=True)
        return Settled(reward.of_success(self.kind, worth, self._factor), said)

    def _failed(self, schedule: Schedule | None, error: LimitError) -> Settled:
        known = (type(error).__name__, str(error))
        said = unmeasured(NOT_COMPILED_STATUS, schedule=schedule, error=known)
        return Settled(reward.of_failure(self.kind, self._factor), said)

    def _timed(self, subject: Subject, episode: Episode, schedule: Schedule) -> Settled:
        """Return what a schedule is worth by a clock, or who will say it."""
        if self.elsewhere is None:
            evaluator = evaluator_for(subject.program_of(episode), self.measuring)
            found = evaluator.evaluate(schedule, episode.mapping)
        else:
            source, mapping = subject.source_of(episode), self._mapping(episode)
            future = self.elsewhere.ask(source, self.measuring, schedule, mapping)
            if not self.elsewhere.waits:
                said = unmeasured(PENDING_STATUS, schedule=schedule)
                worth = partial(reward.of_evaluation, self.kind, timeout_factor=self._factor)
                said["pending"] = Pending(future, worth)
                return Settled(0.0, said)
            found = future.result()
        value = reward.of_evaluation(self.kind, found, self._factor)
        return Settled(value, measured(found), found)


def _check(episode: Episode, schedule: Schedule) -> None:
    """Refuse an illegal schedule, which the spaces cannot hold."""
    violation = find_violation(episode.task.scop, schedule)
    if violation is not None:
        raise InternalError(f"an episode made an illegal schedule, {schedule}: {violation}")
