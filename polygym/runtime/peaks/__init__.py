"""Peaks of this machine: operations and bytes a second, and latencies.

====================  =========================================================================
``arithmetic_loops``  Loops of arithmetic: throughput and latency of operations
``calibration``       Calibration
``loop_code``         LLVM IR of loops that measure a machine, in the form that the worker runs
``machine_peaks``     Peaks of a machine as values: the highest rates in a few plain loops
====================  =========================================================================
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.runtime.peaks.calibration import cached_peaks, peaks_for, remeasured_peaks
    from polygym.runtime.peaks.machine_peaks import (
        LevelPeak,
        OperationLatencies,
        OperationRates,
        Peaks,
    )
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "LevelPeak",
    "OperationLatencies",
    "OperationRates",
    "Peaks",
    "cached_peaks",
    "peaks_for",
    "remeasured_peaks",
]
