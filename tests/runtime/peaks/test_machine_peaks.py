"""Peaks of a machine: how they are put together, kept, and measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from polygym.errors import InputError, LimitError
from polygym.ir.types import ScalarType
from polygym.runtime.peaks import arithmetic_loops, calibration
from polygym.runtime.peaks.arithmetic_loops import (
    ArithmeticLoop,
    ArithmeticStream,
    MemoryAccessKind,
    MemoryLevel,
    MemoryLoop,
)
from polygym.runtime.peaks.loop_code import THREAD_BYTES, compile_loop
from polygym.runtime.peaks.machine_peaks import (
    LevelPeak,
    OperationLatencies,
    OperationRates,
    Peaks,
    combine_peaks,
)
from polygym.runtime.worker.background_load import BackgroundLoad
from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.problem import Buffer, CompiledProgram, Problem
from polygym.runtime.worker.timing import GENEROUS_LIMIT, ONCE, MeasureOptions
from polygym.runtime.worker.worker import Worker
from tests.oracles.peaks import made_up


def test_json_there_and_back() -> None:
    peaks = made_up(2, 0.5)
    assert Peaks.from_json(json.loads(json.dumps(peaks.to_json()))) == peaks
    with pytest.raises(InputError, match="expected what polygym machine writes"):
        Peaks.from_json({"threads": 1})


def test_of_two_measurements_the_better_numbers_count() -> None:
    first = made_up(disturbed=1.0)
    slow = replace(first.levels[0], bandwidth=1.0)
    second = replace(
        made_up(),
        rates=tuple(replace(rates, divide=3e9) for rates in first.rates),
        latencies=tuple(replace(latencies, root=9.0) for latencies in first.latencies),
        levels=(slow, *first.levels[1:]),
    )
    best = combine_peaks(first, second)
    assert best.rates_of(ScalarType.DOUBLE).divide == 3e9
    assert best.rates_of(ScalarType.DOUBLE).add == 1e9
    assert best.latencies_of(ScalarType.FLOAT).root == 4e-9
    assert best.levels == first.levels
    assert best.background_load == 0.0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Keep peaks in a folder of the test's own; return for how many threads some were measured."""
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path))
    asked: list[int] = []

    def measured(threads: int) -> Peaks:
        asked.append(threads)
        return made_up(threads)

    monkeypatch.setattr(calibration, "measure_peaks", measured)
    monkeypatch.setattr(calibration, "useful_threads", lambda threads: min(threads, 4))
    return asked


def test_what_was_measured_is_kept(counted: list[int]) -> None:
    assert calibration.cached_peaks(2) is None
    assert calibration.peaks_for(2) == calibration.peaks_for(2) == calibration.cached_peaks(2)
    assert calibration.peaks_for(8).threads == 4  # more threads than cores do no more
    assert counted == [2, 4]
    calibration.remeasured_peaks(2)
    assert counted == [2, 4, 2]
    assert calibration.cached_peaks(4) is not None


def test_more_threads_do_no_less(counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    calibration.peaks_for(1)
    weak = replace(made_up(2), levels=(LevelPeak("L1", 2000, 5.0), *made_up().levels[1:]))
    monkeypatch.setattr(calibration, "measure_peaks", lambda _: weak)
    assert calibration.peaks_for(2).levels[0] == LevelPeak("L1", 2000, 1e11)
    assert calibration.peaks_for(2).timestamp == weak.timestamp


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "peaks": [1]}'])
def test_a_damaged_file_is_measured_anew(counted: list[int], text: str) -> None:
    path = calibration.peak_cache_path()
    assert path is not None
    path.write_text(text)
    assert calibration.cached_peaks(1) is None
    assert calibration.peaks_for(1) == made_up(1)
    assert calibration.cached_peaks(1) == made_up(1)


def test_nothing_is_kept_where_the_cache_is_off(
    counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    assert calibration.peaks_for(1) == made_up(1)
    assert calibration.cached_peaks(1) is None
    assert calibration.peak_cache_path() is None


def test_a_busy_machine_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is ours, and if it never is, that is kept with the peaks."""
    peaks = made_up()
    monkeypatch.setattr(
        calibration, "_measure_arithmetic", lambda *_: (peaks.rates, peaks.latencies)
    )
    monkeypatch.setattr(calibration, "_measure_levels", lambda *_: peaks.levels)
    loads = [1.5, 0.9, 0.0]

    class Watch:
        def load(self) -> BackgroundLoad:
            return BackgroundLoad(5.0, loads.pop(0), 0.0, 2)

    monkeypatch.setattr(calibration, "LoadMonitor", Watch)
    assert calibration.measure_peaks(1).background_load == 0.0
    assert not loads
    loads += [1.5, 0.9]
    assert calibration.measure_peaks(1, tries=2).background_load == 0.9


def test_what_is_found_once_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that another machine has for a while is no busy one: the numbers have to say it."""
    peaks = made_up()
    speeds = [0.5, 0.5, 1.0, 0.97]

    def rates(*_: object) -> tuple[tuple[OperationRates, ...], tuple[OperationLatencies, ...]]:
        speed = speeds.pop(0)
        return tuple(
            replace(operation_rates, any=speed * operation_rates.any)
            for operation_rates in peaks.rates
        ), peaks.latencies

    monkeypatch.setattr(calibration, "_measure_arithmetic", rates)
    monkeypatch.setattr(calibration, "_measure_levels", lambda *_: peaks.levels)
    monkeypatch.setattr(calibration, "LoadMonitor", lambda: SimpleNamespace(load=lambda: None))
    assert calibration.measure_peaks(1).rates[0].any == 0.5 * peaks.rates[0].any
    assert calibration.measure_peaks(1).rates == peaks.rates
    speeds += [0.5, 1.0, 0.97]
    assert calibration.measure_peaks(1).rates == peaks.rates
    assert not speeds


def test_levels_of_machines_that_say_little() -> None:
    memory_level, memory = arithmetic_loops.memory_levels((), 2, 2**30)
    assert (memory_level.size, memory.size) == (2 * memory_level.bytes_per_thread, 0)
    small = arithmetic_loops.memory_levels(
        ("L1 data 32K", "L1 instruction 32K", "L2 unified 512K"), 1, 1 << 20
    )
    assert [level.name for level in small] == ["L1", "L2", "memory"]
    assert small[-1].bytes_per_thread <= 1 << 20


def test_loops_run_and_take_the_time_that_they_say() -> None:
    """A loop of each form, cut short: all of the work is done, for two threads as well."""
    piece = MemoryLevel("L1", 8192, 4096)
    chain = ArithmeticStream(ArithmeticLoop.MULTIPLY_ADD, ScalarType.DOUBLE, 1, is_chained=True)
    codes = [arithmetic_loops.arithmetic_code(chain, 1)]
    codes += [
        arithmetic_loops.arithmetic_code(
            ArithmeticStream(ArithmeticLoop.ADD_AND_FLIP, ScalarType.BYTE, 16), 2
        )
    ]
    codes += [
        arithmetic_loops.memory_loop_code(MemoryLoop(piece, way), 2)
        for way in (MemoryAccessKind.COPY, MemoryAccessKind.NON_TEMPORAL_WRITE)
    ]
    buffers = (
        Buffer("ones", ScalarType.BYTE, 2 * THREAD_BYTES, compared=False),
        Buffer("from", ScalarType.LONG, 1024, compared=False, constant=True),
        Buffer("to", ScalarType.LONG, 1024, compared=False),
    )
    fill = compile_loop(arithmetic_loops.fill_ones_code(), 2, buffers=("from", "to"))
    every = (0, 1, 2)
    programs = tuple(CompiledProgram(code, every) for code in codes)
    options = MeasureOptions(time_limit=GENEROUS_LIMIT, keep_contents=True)
    with Worker() as worker:
        session = worker.open(Problem(buffers, CompiledProgram(fill, every), programs[0]), ONCE)
        outcome = session.measure(programs[0], options)
        assert isinstance(outcome, Ok)
        # No processor carries out what waits for each other in less than a tenth of a nanosecond.
        assert outcome.best > chain.operations * 1e-10
        # A chain of 1 + x·1 counts its steps.
        (value,) = memoryview(session.contents(0)).cast("d")[:1]
        assert value == 1 + chain.operations
        assert all(
            isinstance(measured, Ok) for measured in session.measure_together(programs, 1, options)
        )


def test_a_loop_that_does_not_run_is_a_limit() -> None:
    codes = [
        arithmetic_loops.arithmetic_code(
            ArithmeticStream(ArithmeticLoop.ADD, ScalarType.FLOAT, 1), 1
        ),
        b"nothing",
    ]
    buffers = (Buffer("ones", ScalarType.BYTE, THREAD_BYTES, compared=False),)
    fill = compile_loop(arithmetic_loops.fill_ones_code(), 1)
    with Worker() as worker, pytest.raises(LimitError, match="a loop did not run"):
        calibration._best_times(worker, buffers, fill, codes)
