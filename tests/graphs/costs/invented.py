"""Times that no clock has taken: the same for the same step, never below the estimates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from polygym.graphs.execution.timing.plan_timing import PlannedStep


def invented_seconds(seed: int) -> Callable[[PlannedStep], float]:
    """Return random microseconds for every kind of step."""

    def seconds_of(step: PlannedStep) -> float:
        digest = hashlib.sha256(f"{seed} {step.kind}".encode()).digest()
        return 1e-6 * (1 + digest[0])

    return seconds_of
