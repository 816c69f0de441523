"""Calibration: measured peaks of this machine, kept in the user's cache folder.

Loops run in turn, so that whatever else the machine does for a while slows one sample of each. All
of it is done twice, since a virtual machine does not see what others take from its cores: if the
second time finds more than a twentieth more than the first, or the machine said that it was busy,
they run again. A peak is the best of all, and what others had when they had least is kept with it,
so that a peak that may be too low is known.

Peaks that were measured before, in the user's cache folder, by the kind of machine.

The file is ``machine-KEY.json``, where KEY is the machine's fingerprint: processor, vectors,
caches, cores, LLVM. It has peaks for every number of threads that was asked for. More threads do at
least what fewer did, so each takes over what is better there.
"""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from polygym.errors import InputError, LimitError
from polygym.files import cache_folder, write_atomically
from polygym.ir.types import ScalarType
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.runtime.peaks import arithmetic_loops
from polygym.runtime.peaks.arithmetic_loops import (
    FLOATING,
    INTEGERS,
    ArithmeticLoop,
    ArithmeticStream,
    MemoryLevel,
)
from polygym.runtime.peaks.loop_code import THREAD_BYTES, compile_loop
from polygym.runtime.peaks.machine_peaks import (
    LevelPeak,
    OperationLatencies,
    OperationRates,
    Peaks,
    combine_peaks,
)
from polygym.runtime.worker.background_load import LoadMonitor
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import GENEROUS_LIMIT, ONCE, MeasureOptions, available_memory
from polygym.runtime.worker.worker import Worker

_ROUNDS = 4
_MAX_TRIES = 5
_ENOUGH_SECONDS = 8.0
_AGREEMENT = 1.05
_MAX_MEMORY = 512 << 20


def measure_peaks(threads: int, tries: int = _MAX_TRIES) -> Peaks:
    """Measure the peaks of this machine with some threads.

    Raises:
        LimitError: there is not enough memory, or a loop does not run.
    """
    peaks, begin = None, time.monotonic()
    with Worker() as worker:
        levels = arithmetic_loops.memory_levels(
            machine_fingerprint().caches, threads, min(_MAX_MEMORY, _free_bytes())
        )
        for _ in range(tries):
            watch = LoadMonitor()
            again = Peaks(
                threads,
                *_measure_arithmetic(worker, threads),
                _measure_levels(worker, levels, threads),
                timestamp=time.time(),
            )
            load = watch.load()
            busy = (
                load.other_cores + load.stolen_cores
                if load is not None and load.is_notable
                else 0.0
            )
            again = replace(again, background_load=busy)
            if peaks is None:
                peaks = again
                continue
            best = combine_peaks(peaks, again)
            sure = not best.background_load and best.within(_AGREEMENT, peaks)
            peaks = best
            if sure or time.monotonic() - begin > _ENOUGH_SECONDS:
                break
    assert peaks is not None, "there is one try at least"
    return peaks


def _free_bytes() -> int:
    return available_memory() // 8


def _measure_arithmetic(
    worker: Worker, threads: int
) -> tuple[tuple[OperationRates, ...], tuple[OperationLatencies, ...]]:
    """Measure how many operations there are, and how long they take one after the other."""
    chosen = tuple(arithmetic_loops.arithmetic_streams())
    codes = [
        arithmetic_loops.arithmetic_code(stream, 1 if stream.is_chained else threads)
        for stream in chosen
    ]
    buffers = (Buffer("ones", ScalarType.BYTE, THREAD_BYTES * threads, compared=False),)
    times = _best_times(
        worker, buffers, compile_loop(arithmetic_loops.fill_ones_code(), threads), codes
    )
    seconds = dict(zip(chosen, times, strict=True))
    return _rates(seconds, threads), _latencies(seconds)


def _rates(seconds: Mapping[ArithmeticStream, float], threads: int) -> tuple[OperationRates, ...]:
    rate = {
        (stream.loop, stream.type, stream.lanes > 1): threads * stream.operations / time
        for stream, time in seconds.items()
        if not stream.is_chained
    }
    result = []
    for scalar in FLOATING:
        rates = {
            loop: rate[loop, scalar, True]
            for loop in ArithmeticLoop
            if (loop, scalar, True) in rate
        }
        both, fused = rates[ArithmeticLoop.BOTH], rates[ArithmeticLoop.MULTIPLY_ADD]
        result.append(
            OperationRates(
                scalar,
                add=max(rates[ArithmeticLoop.ADD], fused, both),
                multiply=max(rates[ArithmeticLoop.MULTIPLY], fused, both / 2),
                any=max(2 * fused, 1.5 * both, *(rates[x] for x in _SINGLE_OPERATION_LOOPS)),
                divide=rates[ArithmeticLoop.DIVIDE],
                root=rates[ArithmeticLoop.ROOT],
            )
        )
    for scalar in INTEGERS:
        # Vectors have units of their own beside those for single integers.
        together = (
            rate[ArithmeticLoop.ADD_AND_FLIP, scalar, True]
            + rate[ArithmeticLoop.ADD_AND_FLIP, ScalarType.LONG, False]
        )
        divide = rate[ArithmeticLoop.DIVIDE, scalar, False]
        result.append(OperationRates(scalar, together, together, together, divide, 0.0))
    return tuple(result)


_SINGLE_OPERATION_LOOPS = (ArithmeticLoop.ADD, ArithmeticLoop.MULTIPLY, ArithmeticLoop.MINIMUM)


def _latencies(seconds: Mapping[ArithmeticStream, float]) -> tuple[OperationLatencies, ...]:
    result = []
    for scalar in FLOATING:
        latencies = {
            stream.loop: time / stream.operations
            for stream, time in seconds.items()
            if stream.is_chained and stream.type is scalar
        }
        result.append(
            OperationLatencies(
                scalar,
                add=min(latencies[ArithmeticLoop.ADD], latencies[ArithmeticLoop.ADD_PRODUCT]),
                multiply=latencies[ArithmeticLoop.MULTIPLY],
                multiply_add=latencies[ArithmeticLoop.MULTIPLY_ADD],
                divide=latencies[ArithmeticLoop.DIVIDE],
                root=latencies[ArithmeticLoop.ROOT],
            )
        )
    return tuple(result)


def _measure_levels(
    worker: Worker, levels: Sequence[MemoryLevel], threads: int
) -> tuple[LevelPeak, ...]:
    """Measure how many bytes a second each level moves."""
    result = []
    *caches, memory = levels
    for group in (caches, [memory]):
        size = max(memory_level.bytes_per_thread for memory_level in group)
        chosen = tuple(arithmetic_loops.memory_loops_for(group))
        codes = [arithmetic_loops.memory_loop_code(memory_loop, threads) for memory_loop in chosen]
        elements = threads * size // 8
        buffers = (
            Buffer("ones", ScalarType.BYTE, THREAD_BYTES * threads, compared=False),
            Buffer("from", ScalarType.LONG, elements, compared=False, constant=True),
            Buffer("to", ScalarType.LONG, elements, compared=False),
        )
        fill = compile_loop(
            arithmetic_loops.fill_buffers_code(size) + "\n  ret void",
            threads,
            buffers=("from", "to"),
        )
        times = dict(zip(chosen, _best_times(worker, buffers, fill, codes), strict=True))
        for level in group:
            best = max(
                threads * loop.bytes / time for loop, time in times.items() if loop.level == level
            )
            result.append(LevelPeak(level.name, level.size, best))
    return tuple(result)


def _best_times(
    worker: Worker, buffers: tuple[Buffer, ...], fill: bytes, codes: Sequence[bytes]
) -> list[float]:
    """Return the best time of each loop."""
    every = tuple(range(len(buffers)))
    programs = tuple(CompiledProgram(code, every) for code in codes)
    session = worker.open(Problem(buffers, CompiledProgram(fill, every), programs[0]), ONCE)
    outcomes = session.measure_together(
        programs, _ROUNDS, MeasureOptions(time_limit=GENEROUS_LIMIT)
    )
    session.close()
    times = []
    for outcome in outcomes:
        if not isinstance(outcome, Ok):
            raise LimitError(f"measuring the machine: a loop did not run: {outcome}")
        times.append(outcome.best)
    return times


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
    others = [cached for cached in _read_cache() if cached.threads != peaks.threads]
    for cached in others:
        if cached.threads < peaks.threads:
            peaks = _maximum(peaks, cached)
    _write_cache([*others, peaks])
    return peaks


def peak_cache_path() -> Path | None:
    """Return the file; None where nothing is kept."""
    folder = cache_folder()
    return None if folder is None else folder / f"machine-{machine_fingerprint().key}.json"


def _maximum(peaks: Peaks, fewer: Peaks) -> Peaks:
    """Return peaks of which none is below those of fewer threads; caches are as they are."""
    moved = [
        replace(level_peak, size=same.size)
        for level_peak, same in zip(fewer.levels, peaks.levels, strict=True)
    ]
    best = combine_peaks(peaks, replace(fewer, levels=tuple(moved)))
    return replace(best, background_load=peaks.background_load, timestamp=peaks.timestamp)


def _read_cache() -> list[Peaks]:
    """Return what is kept; a file that cannot be read is measured anew."""
    path = peak_cache_path()
    if path is None:
        return []
    with suppress(OSError, ValueError, InputError, KeyError, TypeError, AttributeError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == _FORMAT:
            return [Peaks.from_json(entry) for entry in data["peaks"]]
    return []


def _write_cache(entries: list[Peaks]) -> None:
    path = peak_cache_path()
    if path is None:
        return
    document = {"format": _FORMAT, "peaks": [entry.to_json() for entry in entries]}
    with suppress(OSError):  # where nothing can be kept it is measured each time
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, indent=1).encode())
