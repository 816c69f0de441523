"""By which clock a study says how long something took.

Under costs that are not measured everything happens in this process: then seconds are those of the
processor, beside which other work on the machine counts little. Measuring is done by another
process, which this one waits for: then they are those of the wall. Limits are always of the wall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from polygym.graphs.measured_costs import PlanCosts
from polygym.graphs.optimization import AnyCosts

__all__ = ["StudyClock", "clock_sentence", "elapsed", "study_clock"]


class StudyClock(Enum):
    """What seconds are of."""

    PROCESSOR = "processor"
    WALL = "wall"


def study_clock(costs: AnyCosts) -> StudyClock:
    """Return the clock of a study under some costs."""
    return StudyClock.WALL if isinstance(costs, PlanCosts) else StudyClock.PROCESSOR


def elapsed(row: Mapping[str, Any], name: str = "seconds") -> float:
    """Return how long something took that a row has under a name, by the clock of the row.

    >>> taken({"clock": "processor", "seconds": 2.5, "cpu": {"seconds": 1.0}})
    1.0
    """
    return float((row["cpu"] if StudyClock(row["clock"]) is StudyClock.PROCESSOR else row)[name])


def clock_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what the seconds of rows are of."""
    clocks = {StudyClock(row["clock"]) for row in rows}
    if clocks == {StudyClock.PROCESSOR}:
        return (
            "Seconds of optimising are of the processor, the least of several runs where "
            "saturation is short; limits, and what runs end to end, are of the wall."
        )
    return "Seconds are of the wall."
