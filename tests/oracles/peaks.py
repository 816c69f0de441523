"""A machine that was never measured, with round numbers."""

from __future__ import annotations

from polygym.ir.types import ScalarType
from polygym.runtime.peaks.machine_peaks import LevelPeak, OperationLatencies, OperationRates, Peaks

_INTEGERS = (ScalarType.BYTE, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG)


def made_up(threads: int = 1, disturbed: float = 0.0) -> Peaks:
    """Return peaks: a billion of everything each second, and a nanosecond for each step."""
    return Peaks(
        threads,
        (
            OperationRates(ScalarType.DOUBLE, 1e9, 1e9, 2e9, 1e8, 5e7),
            OperationRates(ScalarType.FLOAT, 2e9, 2e9, 4e9, 2e8, 1e8),
            *(OperationRates(literal, 4e9, 4e9, 4e9, 1e8, 0.0) for literal in _INTEGERS),
        ),
        (
            OperationLatencies(ScalarType.DOUBLE, 1e-9, 2e-9, 2e-9, 5e-9, 7e-9),
            OperationLatencies(ScalarType.FLOAT, 1e-9, 2e-9, 4e-9, 3e-9, 4e-9),
        ),
        (LevelPeak("L1", 1000, 1e11), LevelPeak("L2", 10_000, 1e10), LevelPeak("memory", 0, 1e9)),
        disturbed,
        1.0,
    )
