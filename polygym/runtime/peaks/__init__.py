"""What this machine does at most: operations and bytes a second, and how long one takes.

``arithmetic`` and ``moving`` are the loops that measure it, ``code`` is what stands around each of
them; ``calibrating`` runs them by the worker's clock, ``peaks`` is what comes out, as a value, and
``kept`` has it in the user's cache folder.
"""

from __future__ import annotations

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
