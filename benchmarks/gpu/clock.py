"""The time that is left, for the whole and for each step."""

import time
from collections.abc import Callable


class Deadline:
    """Counts down from a number of seconds; a step may take a share of what is left."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        """Begin now."""
        self._now = now
        self._end = now() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left, 0 when they are over."""
        return max(0.0, self._end - self._now())

    def part(self, seconds: float) -> "Deadline":
        """Return the deadline of a step, which ends with the whole at the latest."""
        return Deadline(self.limit(seconds), self._now)

    def limit(self, seconds: float) -> float:
        """Return a limit of so many seconds, or what is left where that is less."""
        return min(seconds, self.left)


def allotted(left: float, share: float, later: float) -> float:
    """Return the seconds for a step: all but the shares of later steps that have work to do.

    Where there is less than all shares together, it has its part of that.

    >>> allotted(470.0, 60.0, 300.0), allotted(470.0, 60.0, 0.0), allotted(100.0, 60.0, 140.0)
    (170.0, 470.0, 30.0)
    """
    return max(left - later, left * share / (share + later))
