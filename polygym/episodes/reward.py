"""Rewards: what an episode is worth at its end.

Every step before the end has the reward 0, except that an action which the mask forbids costs
:data:`ILLEGAL`. At the end:

===========  ==================================  ====================  ======================
name         a schedule that ran                 one that failed       an invalid state
===========  ==================================  ====================  ======================
speedup      t(original) / t(schedule)           0                     -1
log_speedup  ln(t(original) / t(schedule))       -ln(timeout factor)   -ln(timeout factor) - 1
static       the static score, in (0, 1]         0                     -1
===========  ==================================  ====================  ======================

Failed means: too slow (t(schedule) > timeout factor · t(original)), crashed, not compiled, out of
memory, or a wrong output. The static score runs nothing: what fails there has numbers too large for
a schedule, or too many rows. The original order is compiled by the same LLVM at -O3. The
static score (:mod:`polygym.compiler.poly.score`) is a deterministic function of the schedule.
"""

from __future__ import annotations

from enum import Enum
from math import log

from polygym.errors import InputError

ILLEGAL = -0.1
INVALID = -1.0


class Reward(Enum):
    """The named rewards."""

    SPEEDUP = "speedup"
    LOG_SPEEDUP = "log_speedup"
    STATIC = "static"

    @staticmethod
    def named(name: str) -> Reward:
        """Return the reward of that name."""
        try:
            return Reward(name)
        except ValueError:
            names = ", ".join(one.value for one in Reward)
            raise InputError(f"reward: expected one of {names}, found {name!r}") from None


def of_invalid(kind: Reward, timeout_factor: float) -> float:
    """Return the reward of an episode that ends in an invalid state."""
    return INVALID - log(timeout_factor) if kind is Reward.LOG_SPEEDUP else INVALID


def of_measured(kind: Reward, speedup: float, timeout_factor: float) -> float:
    """Return the reward of a schedule that was run; a speedup of 0 stands for a failed one."""
    match kind:
        case Reward.LOG_SPEEDUP:
            return log(speedup) if speedup > 0 else -log(timeout_factor)
        case Reward.SPEEDUP | Reward.STATIC:
            return float(speedup)
