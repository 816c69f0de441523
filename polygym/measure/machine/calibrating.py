"""Measuring a machine: every loop some times in turn, by the worker's clock; the best counts.

Loops run in turn, so that whatever else the machine does for a while slows one sample of each. All
of it is done twice, since a virtual machine does not see what others take from its cores: if the
second time finds more than a twentieth more than the first, or the machine said that it was busy,
they run again. A peak is the best of all, and what others had when they had least is kept with it,
so that a peak that may be too low is known.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from polygym.compiler.ir.types import ScalarType
from polygym.errors import LimitError
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.measure.machine import arithmetic, moving
from polygym.measure.machine.arithmetic import FLOATING, INTEGERS, Loop, Stream
from polygym.measure.machine.code import OWN, compiled
from polygym.measure.machine.moving import Piece
from polygym.measure.machine.peaks import Latencies, Level, Peaks, Rates, best_of
from polygym.measure.worker.foreign_load import LoadWatch
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Ok
from polygym.measure.worker.problem import Buffer, CompiledProgram, Problem
from polygym.measure.worker.timing import ONCE, PATIENT, available_memory
from polygym.measure.worker.worker import Worker

_ROUNDS = 4
_TRIES = 5
_ENOUGH_SECONDS = 8.0
_ALIKE = 1.05
_MOST_MEMORY = 512 << 20


def calibrated(threads: int, tries: int = _TRIES) -> Peaks:
    """Measure the peaks of this machine with some threads.

    Raises:
        LimitError: there is not enough memory, or a loop does not run.
    """
    found, begin = None, time.monotonic()
    with Worker() as worker:
        levels = moving.pieces(fingerprint().caches, threads, min(_MOST_MEMORY, _free()))
        for _ in range(tries):
            watch = LoadWatch()
            again = Peaks(
                threads,
                *_arithmetic(worker, threads),
                _levels(worker, levels, threads),
                moment=time.time(),
            )
            load = watch.load()
            busy = load.others + load.stolen if load is not None and load.is_notable else 0.0
            again = replace(again, disturbed=busy)
            if found is None:
                found = again
                continue
            best = best_of(found, again)
            sure = not best.disturbed and best.within(_ALIKE, found)
            found = best
            if sure or time.monotonic() - begin > _ENOUGH_SECONDS:
                break
    assert found is not None, "there is one try at least"
    return found


def _free() -> int:
    return available_memory() // 8


def _arithmetic(worker: Worker, threads: int) -> tuple[tuple[Rates, ...], tuple[Latencies, ...]]:
    """Measure how many operations there are, and how long they take one after the other."""
    chosen = tuple(arithmetic.streams())
    codes = [arithmetic.code_of(one, 1 if one.chained else threads) for one in chosen]
    buffers = (Buffer("ones", ScalarType.BYTE, OWN * threads, compared=False),)
    times = _times(worker, buffers, compiled(arithmetic.ones(), threads), codes)
    seconds = dict(zip(chosen, times, strict=True))
    return _rates(seconds, threads), _latencies(seconds)


def _rates(seconds: Mapping[Stream, float], threads: int) -> tuple[Rates, ...]:
    rate = {
        (one.loop, one.type, one.lanes > 1): threads * one.operations / time
        for one, time in seconds.items()
        if not one.chained
    }
    found = []
    for scalar in FLOATING:
        one = {loop: rate[loop, scalar, True] for loop in Loop if (loop, scalar, True) in rate}
        both, fused = one[Loop.BOTH], one[Loop.MULTIPLY_ADD]
        found.append(
            Rates(
                scalar,
                add=max(one[Loop.ADD], fused, both),
                multiply=max(one[Loop.MULTIPLY], fused, both / 2),
                any=max(2 * fused, 1.5 * both, *(one[x] for x in _PLAIN)),
                divide=one[Loop.DIVIDE],
                root=one[Loop.ROOT],
            )
        )
    for scalar in INTEGERS:
        # Vectors have units of their own beside those for single integers.
        together = rate[Loop.FLIP, scalar, True] + rate[Loop.FLIP, ScalarType.LONG, False]
        divide = rate[Loop.DIVIDE, scalar, False]
        found.append(Rates(scalar, together, together, together, divide, 0.0))
    return tuple(found)


_PLAIN = (Loop.ADD, Loop.MULTIPLY, Loop.LESSER)


def _latencies(seconds: Mapping[Stream, float]) -> tuple[Latencies, ...]:
    found = []
    for scalar in FLOATING:
        one = {
            stream.loop: time / stream.operations
            for stream, time in seconds.items()
            if stream.chained and stream.type is scalar
        }
        found.append(
            Latencies(
                scalar,
                add=min(one[Loop.ADD], one[Loop.ADD_PRODUCT]),
                multiply=one[Loop.MULTIPLY],
                multiply_add=one[Loop.MULTIPLY_ADD],
                divide=one[Loop.DIVIDE],
                root=one[Loop.ROOT],
            )
        )
    return tuple(found)


def _levels(worker: Worker, levels: Sequence[Piece], threads: int) -> tuple[Level, ...]:
    """Measure how many bytes a second each level moves."""
    found = []
    *caches, memory = levels
    for group in (caches, [memory]):
        size = max(one.piece for one in group)
        chosen = tuple(moving.moves(group))
        codes = [moving.code_of(one, threads) for one in chosen]
        elements = threads * size // 8
        buffers = (
            Buffer("ones", ScalarType.BYTE, OWN * threads, compared=False),
            Buffer("from", ScalarType.LONG, elements, compared=False, constant=True),
            Buffer("to", ScalarType.LONG, elements, compared=False),
        )
        fill = compiled(moving.filled(size) + "\n  ret void", threads, buffers=("from", "to"))
        times = dict(zip(chosen, _times(worker, buffers, fill, codes), strict=True))
        for level in group:
            best = max(
                threads * one.bytes / time for one, time in times.items() if one.level == level
            )
            found.append(Level(level.name, level.size, best))
    return tuple(found)


def _times(
    worker: Worker, buffers: tuple[Buffer, ...], fill: bytes, codes: Sequence[bytes]
) -> list[float]:
    """Return the best time of each loop."""
    every = tuple(range(len(buffers)))
    programs = tuple(CompiledProgram(code, every) for code in codes)
    session = worker.open(Problem(buffers, CompiledProgram(fill, every), programs[0]), ONCE)
    outcomes = session.measure_together(programs, _ROUNDS, MeasureOptions(time_limit=PATIENT))
    session.close()
    times = []
    for outcome in outcomes:
        if not isinstance(outcome, Ok):
            raise LimitError(f"measuring the machine: a loop did not run: {outcome}")
        times.append(outcome.best)
    return times


__all__ = ["calibrated"]
