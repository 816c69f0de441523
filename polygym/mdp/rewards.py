"""Rewards: what an episode is worth at its end.

Every step before the end has the reward 0, except that an action which the mask forbids costs
:data:`ILLEGAL_ACTION_REWARD`. At the end one rule holds for all rewards:

===========  =========================================  ==================  ==============
name         worth w of a schedule that ran             least worth         best worth
===========  =========================================  ==================  ==============
speedup      t(original) / t(schedule)                  0                   unbounded
log_speedup  ln(t(original) / t(schedule))              -ln(timeout factor) unbounded
static       the static score, in (0, 1]                0                   1
model        the speedup that a model of cost predicts  0                   1000
log_model    the natural logarithm of that              -ln(timeout factor) ln(1000)
===========  =========================================  ==================  ==============

    success   max(least, w)
    failure   least
    invalid   least - 1

So a faster schedule never pays less than a slower one, success ≥ failure > invalid always, and what
an episode can lose is known from the arguments alone. An invalid end stays the worst even for who
takes up to nine more forbidden actions on the way to a schedule that fails: -0.9 is more than -1.

Why a success is cut off below: under the logarithms what is slower than the timeout factor allows
counts as cut off, whether it was or not. No run is cut off before some milliseconds, so where the
original takes 20 µs a legal schedule may run to its end and be 30 times as slow; ln(1/30) = -3.4
would be less than the -2.3 of a crash, and an agent would learn to crash. With 1/10, the slowest
that any run of a long program can be, both are -2.3.

Failed means every other end of a schedule: too slow (cut off), crashed, not compiled, out of memory
or range, or a wrong output. The static score runs nothing: what fails there has numbers too large
for a schedule, or too many rows. The original order is compiled by the same LLVM at -O3. The
static score (:mod:`polygym.poly.scheduling.properties`) is a deterministic function of the
schedule; what a model predicts (:mod:`polygym.mdp.predicted_reward`) one of the schedule, the
mapping, the sizes and the kind of machine. Neither runs anything.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from math import inf, log

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.mdp.episode import Episode
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.properties import static_score
from polygym.runtime.evaluation import Evaluation

ILLEGAL_ACTION_REWARD = -0.1
INVALID_EPISODE_PENALTY = -1.0


class RewardKind(Enum):
    """The named rewards."""

    SPEEDUP = "speedup"
    LOG_SPEEDUP = "log_speedup"
    STATIC = "static"
    MODEL = "model"
    LOG_MODEL = "log_model"

    @property
    def is_measured(self) -> bool:
        """Whether it is paid for times."""
        return self in (RewardKind.SPEEDUP, RewardKind.LOG_SPEEDUP)

    @property
    def is_predicted(self) -> bool:
        """Whether a model of cost is asked for it."""
        return self in (RewardKind.MODEL, RewardKind.LOG_MODEL)

    @property
    def is_logarithm(self) -> bool:
        """Whether it is the logarithm of a number of times as fast."""
        return self in (RewardKind.LOG_SPEEDUP, RewardKind.LOG_MODEL)

    @staticmethod
    def named(name: str) -> RewardKind:
        """Return the reward of that name."""
        try:
            return RewardKind(name)
        except ValueError:
            names = ", ".join(reward_kind.value for reward_kind in RewardKind)
            raise InputError(f"reward: expected one of {names}, found {name!r}") from None


def reward_of_success(kind: RewardKind, number: float, timeout_factor: float) -> float:
    """Return what a schedule is worth whose speedup, or static score, is that number."""
    worth = float(number)
    if kind.is_logarithm:
        worth = log(number) if number > 0 else -inf
    return max(reward_of_failure(kind, timeout_factor), worth)


def reward_of_failure(kind: RewardKind, timeout_factor: float) -> float:
    """Return what a schedule is worth that did not run, or not rightly: no success is worth less.

    >>> static = reward_of_failure(RewardKind.STATIC, 10.0)
    >>> static, round(reward_of_failure(RewardKind.LOG_SPEEDUP, 10.0), 2)
    (0.0, -2.3)
    """
    return 0.0 - log(timeout_factor) if kind.is_logarithm else 0.0


def reward_of_invalid(kind: RewardKind, timeout_factor: float) -> float:
    """Return the reward of an episode that ends in an invalid state: less than any failure."""
    return reward_of_failure(kind, timeout_factor) + INVALID_EPISODE_PENALTY


def static_reward(episode: Episode) -> float:
    """Return the static reward of an episode that is over, for rules that look ahead."""
    kind, no_factor = RewardKind.STATIC, 1.0
    if episode.phase is Phase.INVALID:
        return reward_of_invalid(kind, no_factor)
    try:
        score = _static_score(episode.task.scop, episode.schedule())
    except LimitError:
        return reward_of_failure(kind, no_factor)
    return reward_of_success(kind, score, no_factor)


@lru_cache(maxsize=4096)
def _static_score(scop: Scop, schedule: Schedule) -> float:
    return static_score(scop, schedule)


def reward_of_evaluation(kind: RewardKind, evaluation: Evaluation, timeout_factor: float) -> float:
    """Return what a schedule is worth that was to be run, whatever became of it."""
    if not evaluation.is_ok:
        return reward_of_failure(kind, timeout_factor)
    return reward_of_success(kind, evaluation.speedup, timeout_factor)
