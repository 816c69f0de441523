"""Profiles: shares, sums by operator, and the limit of a machine."""

from __future__ import annotations

from math import isclose

from polygym.graphs.execution.timing.step_profile import (
    StepDescription,
    profile_steps,
    totals_by_operator,
)
from polygym.ir.types import ScalarType
from polygym.runtime.peaks import LevelPeak, OperationRates, Peaks

PEAKS = Peaks(
    1,
    (OperationRates(ScalarType.FLOAT, 200.0, 100.0, 300.0, 10.0, 10.0),),
    (),
    (LevelPeak("L1", 64, 50.0), LevelPeak("memory", 0, 10.0)),
)
STEPS = [
    StepDescription("conv+relu", (), "", "", 400, 60),
    StepDescription("relu", (), "", "", 30, 60),
    StepDescription("relu", (), "", "", 30, 120),
]


def test_limits() -> None:
    rows = profile_steps(STEPS, [4.0, 2.4, 24.0], PEAKS)
    # 200 multiplications of 100 a second; 60 bytes from the cache; 120 from memory.
    assert [profile.limit for profile in rows] == [2.0, 1.2, 12.0]
    assert [step_profile.of_limit for step_profile in rows] == [0.5, 0.5, 0.5]
    assert rows[0].rate == 100.0


def test_sums_by_operator() -> None:
    first, relus = totals_by_operator(profile_steps(STEPS, [4.0, 2.4, 24.0], PEAKS))
    assert (first.label, first.count) == ("conv+relu", 1)
    assert (relus.count, relus.operations, relus.bytes) == (2, 60, 180)
    assert relus.limit is not None
    assert isclose(relus.limit, 13.2)


def test_a_machine_that_is_not_known() -> None:
    rows = totals_by_operator(profile_steps(STEPS, [4.0, 2.0, 0.0], None))
    assert [profile.of_limit for profile in rows] == [None, None]
