"""Several ways to compute the same, timed in turn: whatever disturbs one disturbs all.

A round calls each once, or so often that its calls take long enough for the clock; a sample is the
time of a call in a round. Ratios come from medians over rounds, the spread is kept. The clock is
``CLOCK_MONOTONIC``, as everywhere.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["CallTimes", "time_interleaved"]


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Seconds of a call, round by round."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The usual time."""
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        """The shortest time."""
        return min(self.samples)

    @property
    def spread(self) -> float:
        """How far the middle half of the samples reaches, as a share of the median.

        >>> round(Times((1.0, 1.0, 1.1, 1.2, 2.0)).spread, 2)
        0.55
        """
        if len(self.samples) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.samples, n=4)
        return (high - low) / self.median


def time_interleaved(
    calls: Mapping[str, Callable[[], object]],
    rounds: int = 11,
    seconds: float = 10.0,
    min_seconds: float = 0.02,
) -> dict[str, CallTimes]:
    """Call all in turn for ``rounds`` rounds, or until ``seconds`` are over: three at least.

    ``min_seconds`` is how long the calls of a round take together, where a single one is shorter.
    """
    counts: dict[str, int] = {}
    for name, call in calls.items():
        call()
        start = time.monotonic()
        call()
        counts[name] = max(1, math.ceil(min_seconds / max(time.monotonic() - start, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    begun = time.monotonic()
    for number in range(rounds):
        # Every other round runs backwards: nobody always follows the same one.
        order = list(calls)[:: 1 if number % 2 == 0 else -1]
        for name in order:
            call, count = calls[name], counts[name]
            start = time.monotonic()
            for _ in range(count):
                call()
            samples[name].append((time.monotonic() - start) / count)
        if number >= 2 and time.monotonic() - begun > seconds:
            break
    return {name: CallTimes(tuple(found)) for name, found in samples.items()}
