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
        return Deadline(min(seconds, self.left), self._now)
