"""Profile of a model: time by step or by operator, beside the limit of the machine.

The limit of a step is the time below which it does not run on this machine, by what was measured of
it (:mod:`polygym.runtime.peaks`): operations at the highest rate, or bytes at that of the nearest
memory that holds them all, whichever takes longer. Products and convolutions multiply as often as
they add, so multiplications alone bound them too; what is cheaper than it looks (padding that is
known, zeros) is not seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.graphs.execution.planning.step_description import StepDescription
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name
from polygym.runtime.peaks import Peaks

_PRODUCTS = ("conv", "matmul")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StepProfile:
    """Steps of one name: how many, their seconds, and the seconds that are their limit, if known.

    ``operations`` and ``bytes`` are those of all of them.
    """

    label: str
    count: int
    seconds: float
    operations: int
    bytes: int
    limit: float | None

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds if self.seconds else 0.0

    @property
    def of_limit(self) -> float | None:
        """Which share of the limit is reached."""
        return None if self.limit is None or not self.seconds else self.limit / self.seconds


def profile_steps(
    steps: Sequence[StepDescription], seconds: Sequence[float], peaks: Peaks | None
) -> list[StepProfile]:
    """Return what was measured of each step, in order."""
    return [
        StepProfile(
            step.label,
            1,
            time,
            step.operations,
            step.bytes,
            None if peaks is None else _time_limit(step, peaks),
        )
        for step, time in zip(steps, seconds, strict=True)
    ]


def totals_by_operator(rows: Sequence[StepProfile]) -> list[StepProfile]:
    """Return the sums of steps of one name, in the order in which these come first."""
    profiles: dict[str, StepProfile] = {}
    for row in rows:
        before = profiles.get(row.label)
        if before is None:
            profiles[row.label] = row
            continue
        limits = (before.limit, row.limit)
        profiles[row.label] = StepProfile(
            row.label,
            before.count + row.count,
            before.seconds + row.seconds,
            before.operations + row.operations,
            before.bytes + row.bytes,
            None if limits[0] is None or limits[1] is None else limits[0] + limits[1],
        )
    return list(profiles.values())


def _time_limit(step: StepDescription, peaks: Peaks) -> float:
    rates = peaks.rates_of(ScalarType.FLOAT)
    compute = step.operations / rates.any
    if step.label.startswith(_PRODUCTS):
        compute = max(compute, step.operations / 2 / rates.multiply)
    nearest = next(
        level_peak
        for level_peak in peaks.levels
        if not level_peak.size or level_peak.size >= step.bytes
    )
    return max(compute, step.bytes / nearest.bandwidth)
