"""Peaks that were measured before, in the user's cache folder, by the kind of machine.

The file is ``machine-KEY.json``, where KEY is the machine's fingerprint: processor, vectors,
caches, cores, LLVM. It has peaks for every number of threads that was asked for. More threads do at
least what fewer did, so each takes over what is better there.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from polygym.errors import InputError
from polygym.files import cache_folder, write_atomically
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.peaks.calibration import measure_peaks
from polygym.runtime.peaks.machine_peaks import Peaks, combine_peaks

_FORMAT = 1


def useful_threads(threads: int) -> int:
    """Return how many of some threads have a core of their own: more do no more."""
    return max(1, min(threads, machine_fingerprint().cores))


def cached_peaks(threads: int) -> Peaks | None:
    """Return what was measured before; None where nothing was."""
    return next(
        (peaks for peaks in _read_cache() if peaks.threads == useful_threads(threads)), None
    )


def peaks_for(threads: int) -> Peaks:
    """Return the peaks with some threads; they are measured if they never were.

    Raises:
        LimitError: they cannot be measured.
    """
    return cached_peaks(threads) or remeasured_peaks(threads)


def remeasured_peaks(threads: int) -> Peaks:
    """Measure the peaks with some threads in any case, and keep them.

    Raises:
        LimitError: they cannot be measured.
    """
    peaks = measure_peaks(useful_threads(threads))
    others = [one for one in _read_cache() if one.threads != peaks.threads]
    for one in others:
        if one.threads < peaks.threads:
            peaks = _maximum(peaks, one)
    _write_cache([*others, peaks])
    return peaks


def peak_cache_path() -> Path | None:
    """Return the file; None where nothing is kept."""
    folder = cache_folder()
    return None if folder is None else folder / f"machine-{machine_fingerprint().key}.json"


def _maximum(found: Peaks, fewer: Peaks) -> Peaks:
    """Return peaks of which none is below those of fewer threads; caches are as they are."""
    moved = [
        replace(level_peak, size=same.size)
        for level_peak, same in zip(fewer.levels, found.levels, strict=True)
    ]
    best = combine_peaks(found, replace(fewer, levels=tuple(moved)))
    return replace(best, background_load=found.background_load, timestamp=found.timestamp)


def _read_cache() -> list[Peaks]:
    """Return what is kept; a file that cannot be read is measured anew."""
    path = peak_cache_path()
    if path is None:
        return []
    with suppress(OSError, ValueError, InputError, KeyError, TypeError, AttributeError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == _FORMAT:
            return [Peaks.from_json(one) for one in data["peaks"]]
    return []


def _write_cache(found: list[Peaks]) -> None:
    path = peak_cache_path()
    if path is None:
        return
    document = {"format": _FORMAT, "peaks": [one.to_json() for one in found]}
    with suppress(OSError):  # where nothing can be kept it is measured each time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, indent=1).encode())
