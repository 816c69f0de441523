"""What this machine does at most: operations and bytes a second, and how long one takes.

``arithmetic`` and ``moving`` are the loops that measure it, ``code`` is what stands around each of
them; ``calibrating`` runs them by the worker's clock, ``peaks`` is what comes out, as a value, and
``kept`` has it in the user's cache folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.measure.machine.kept import known_peaks, measured_again, peaks_of
    from polygym.measure.machine.peaks import Latencies, Level, Peaks, Rates
else:
    __getattr__ = lazily(
        __name__,
        {
            "kept": ("known_peaks", "measured_again", "peaks_of"),
            "peaks": ("Latencies", "Level", "Peaks", "Rates"),
        },
    )

__all__ = [
    "Latencies",
    "Level",
    "Peaks",
    "Rates",
    "known_peaks",
    "measured_again",
    "peaks_of",
]
