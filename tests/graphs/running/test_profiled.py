"""Where the time goes: shares, sums by operator, and what a machine allows."""

from __future__ import annotations

from math import isclose

from polygym.compiler.ir.types import ScalarType
from polygym.graphs.running.profiled import by_operator, profiled
from polygym.graphs.running.steps import Step
from polygym.measure.machine import Level, Peaks, Rates

PEAKS = Peaks(
    1,
    (Rates(ScalarType.FLOAT, 200.0, 100.0, 300.0, 10.0, 10.0),),
    (),
    (Level("L1", 64, 50.0), Level("memory", 0, 10.0)),
)
STEPS = [
    Step("conv+relu", (), "", "", 400, 60),
    Step("relu", (), "", "", 30, 60),
    Step("relu", (), "", "", 30, 120),
]


def test_limits() -> None:
    rows = profiled(STEPS, [4.0, 2.4, 24.0], PEAKS)
    # 200 multiplications of 100 a second; 60 bytes from the cache; 120 from memory.
    assert [one.limit for one in rows] == [2.0, 1.2, 12.0]
    assert [one.of_limit for one in rows] == [0.5, 0.5, 0.5]
    assert rows[0].rate == 100.0


def test_sums_by_operator() -> None:
    first, relus = by_operator(profiled(STEPS, [4.0, 2.4, 24.0], PEAKS))
    assert (first.label, first.count) == ("conv+relu", 1)
    assert (relus.count, relus.operations, relus.bytes) == (2, 60, 180)
    assert relus.limit is not None
    assert isclose(relus.limit, 13.2)


def test_a_machine_that_is_not_known() -> None:
    rows = by_operator(profiled(STEPS, [4.0, 2.0, 0.0], None))
    assert [one.of_limit for one in rows] == [None, None]
