"""Whether a machine still is what it was: one program, always the same, timed again and again.

A node is calibrated when it joins, and every few minutes between two jobs. The program's time then
is ``t``; at first it was ``t0``. A node with ::

    max(t, t0) / min(t, t0) > drift

twice in a row has drifted: a neighbour on the same host, heat, another frequency policy. It gets
no more work. Once does not count, since a process of someone else may come and go.

Example: with a drift of 1.25 and t0 = 0.40 ms, the times 0.42, 0.55, 0.41 are fine, and the second
of 0.55, 0.57 is not.
"""

import os
from dataclasses import dataclass

from polybench import Dataset
from polygym.errors import InputError
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator

DRIFT_VARIABLE = "POLYGYM_CLUSTER_DRIFT"
"""The environment variable that says how far a node may drift."""

DEFAULT_DRIFT = 1.25
_CLOCK = ("gemm", Dataset.SMALL)


def clock_seconds() -> float:
    """Return the best time of the program that is always the same, in its original order."""
    name, dataset = _CLOCK
    with Evaluator(load_program(name, dataset=dataset), EvaluationOptions()) as evaluator:
        return evaluator.baseline_seconds


def drift_allowed() -> float:
    """Return how far a node may drift before it is drained: a ratio of two times."""
    text = os.environ.get(DRIFT_VARIABLE, "").strip()
    try:
        result = float(text) if text else DEFAULT_DRIFT
    except ValueError:
        result = 0.0
    if not 1.0 < result < 1e6:
        raise InputError(f"{DRIFT_VARIABLE}: expected a ratio above 1, such as 1.25, found {text}")
    return result


@dataclass(slots=True)
class ClockCalibration:
    """The times of a node's clock program: the first, the last, how often in a row it was off."""

    first: float
    last: float = 0.0
    times: int = 0
    drifted_in_row: int = 0

    def record(self, seconds: float, drift: float) -> None:
        """Take note of another time.

        >>> node = ClockCalibration(0.40)
        >>> for seconds in (0.42, 0.55, 0.41, 0.55, 0.57):
        ...     node.record(seconds, 1.25)
        >>> node.has_drifted
        True
        """
        self.last, self.times = seconds, self.times + 1
        is_off = max(seconds, self.first) > drift * min(seconds, self.first)
        self.drifted_in_row = self.drifted_in_row + 1 if is_off else 0

    @property
    def has_drifted(self) -> bool:
        """Whether it was off twice in a row."""
        return self.drifted_in_row >= 2

    @property
    def is_doubtful(self) -> bool:
        """Whether it was off the last time, and should be asked again at once."""
        return self.drifted_in_row == 1

    def __str__(self) -> str:
        """Say what was found."""
        return f"{self.first * 1e3:.3g} ms at first, {self.last * 1e3:.3g} ms now"
