"""A machine that was never measured, with round numbers."""

from __future__ import annotations

from polygym.compiler.ir.types import ScalarType
from polygym.measure.machine.peaks import Latencies, Level, Peaks, Rates

_INTEGERS = (ScalarType.BYTE, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG)


def made_up(threads: int = 1, disturbed: float = 0.0) -> Peaks:
    """Return peaks: a billion of everything each second, and a nanosecond for each step."""
    return Peaks(
        threads,
        (
            Rates(ScalarType.DOUBLE, 1e9, 1e9, 2e9, 1e8, 5e7),
            Rates(ScalarType.FLOAT, 2e9, 2e9, 4e9, 2e8, 1e8),
            *(Rates(one, 4e9, 4e9, 4e9, 1e8, 0.0) for one in _INTEGERS),
        ),
        (
            Latencies(ScalarType.DOUBLE, 1e-9, 2e-9, 2e-9, 5e-9, 7e-9),
            Latencies(ScalarType.FLOAT, 1e-9, 2e-9, 4e-9, 3e-9, 4e-9),
        ),
        (Level("L1", 1000, 1e11), Level("L2", 10_000, 1e10), Level("memory", 0, 1e9)),
        disturbed,
        1.0,
    )
