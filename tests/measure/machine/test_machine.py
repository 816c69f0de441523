"""Peaks of a machine: how they are put together, kept, and measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from polygym.compiler.ir.types import ScalarType
from polygym.errors import InputError, LimitError
from polygym.measure.machine import arithmetic, calibrating, kept, moving
from polygym.measure.machine.arithmetic import Loop, Stream
from polygym.measure.machine.code import OWN, compiled
from polygym.measure.machine.moving import Move, Piece, Way
from polygym.measure.machine.peaks import Latencies, Level, Peaks, Rates, best_of
from polygym.measure.worker.foreign_load import ForeignLoad
from polygym.measure.worker.options import MeasureOptions
from polygym.measure.worker.outcome import Ok
from polygym.measure.worker.problem import Buffer, CompiledProgram, Problem
from polygym.measure.worker.timing import ONCE, PATIENT
from polygym.measure.worker.worker import Worker
from tests.oracles.peaks import made_up


def test_json_there_and_back() -> None:
    found = made_up(2, 0.5)
    assert Peaks.from_json(json.loads(json.dumps(found.to_json()))) == found
    with pytest.raises(InputError, match="expected what polygym machine writes"):
        Peaks.from_json({"threads": 1})


def test_of_two_measurements_the_better_numbers_count() -> None:
    first = made_up(disturbed=1.0)
    slow = replace(first.levels[0], bandwidth=1.0)
    second = replace(
        made_up(),
        rates=tuple(replace(one, divide=3e9) for one in first.rates),
        latencies=tuple(replace(one, root=9.0) for one in first.latencies),
        levels=(slow, *first.levels[1:]),
    )
    best = best_of(first, second)
    assert best.rates_of(ScalarType.DOUBLE).divide == 3e9
    assert best.rates_of(ScalarType.DOUBLE).add == 1e9
    assert best.latencies_of(ScalarType.FLOAT).root == 4e-9
    assert best.levels == first.levels
    assert best.disturbed == 0.0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Keep peaks in a folder of the test's own; return for how many threads some were measured."""
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path))
    asked: list[int] = []

    def measured(threads: int) -> Peaks:
        asked.append(threads)
        return made_up(threads)

    monkeypatch.setattr(kept, "calibrated", measured)
    monkeypatch.setattr(kept, "useful", lambda threads: min(threads, 4))
    return asked


def test_what_was_measured_is_kept(counted: list[int]) -> None:
    assert kept.known_peaks(2) is None
    assert kept.peaks_of(2) == kept.peaks_of(2) == kept.known_peaks(2)
    assert kept.peaks_of(8).threads == 4  # more threads than cores do no more
    assert counted == [2, 4]
    kept.measured_again(2)
    assert counted == [2, 4, 2]
    assert kept.known_peaks(4) is not None


def test_more_threads_do_no_less(counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    kept.peaks_of(1)
    weak = replace(made_up(2), levels=(Level("L1", 2000, 5.0), *made_up().levels[1:]))
    monkeypatch.setattr(kept, "calibrated", lambda _: weak)
    assert kept.peaks_of(2).levels[0] == Level("L1", 2000, 1e11)
    assert kept.peaks_of(2).moment == weak.moment


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "peaks": [1]}'])
def test_a_damaged_file_is_measured_anew(counted: list[int], text: str) -> None:
    path = kept.place()
    assert path is not None
    path.write_text(text)
    assert kept.known_peaks(1) is None
    assert kept.peaks_of(1) == made_up(1)
    assert kept.known_peaks(1) == made_up(1)


def test_nothing_is_kept_where_the_cache_is_off(
    counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", "off")
    assert kept.peaks_of(1) == made_up(1)
    assert kept.known_peaks(1) is None
    assert kept.place() is None


def test_a_busy_machine_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is ours, and if it never is, that is kept with the peaks."""
    found = made_up()
    monkeypatch.setattr(calibrating, "_arithmetic", lambda *_: (found.rates, found.latencies))
    monkeypatch.setattr(calibrating, "_levels", lambda *_: found.levels)
    loads = [1.5, 0.9, 0.0]

    class Watch:
        def load(self) -> ForeignLoad:
            return ForeignLoad(5.0, loads.pop(0), 0.0, 2)

    monkeypatch.setattr(calibrating, "LoadWatch", Watch)
    assert calibrating.calibrated(1).disturbed == 0.0
    assert not loads
    loads += [1.5, 0.9]
    assert calibrating.calibrated(1, tries=2).disturbed == 0.9


def test_what_is_found_once_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that another machine has for a while is no busy one: the numbers have to say it."""
    found = made_up()
    speeds = [0.5, 0.5, 1.0, 0.97]

    def rates(*_: object) -> tuple[tuple[Rates, ...], tuple[Latencies, ...]]:
        speed = speeds.pop(0)
        return tuple(replace(one, any=speed * one.any) for one in found.rates), found.latencies

    monkeypatch.setattr(calibrating, "_arithmetic", rates)
    monkeypatch.setattr(calibrating, "_levels", lambda *_: found.levels)
    monkeypatch.setattr(calibrating, "LoadWatch", lambda: SimpleNamespace(load=lambda: None))
    assert calibrating.calibrated(1).rates[0].any == 0.5 * found.rates[0].any
    assert calibrating.calibrated(1).rates == found.rates
    speeds += [0.5, 1.0, 0.97]
    assert calibrating.calibrated(1).rates == found.rates
    assert not speeds


def test_levels_of_machines_that_say_little() -> None:
    one, memory = moving.pieces((), 2, 2**30)
    assert (one.size, memory.size) == (2 * one.piece, 0)
    small = moving.pieces(("L1 data 32K", "L1 instruction 32K", "L2 unified 512K"), 1, 1 << 20)
    assert [level.name for level in small] == ["L1", "L2", "memory"]
    assert small[-1].piece <= 1 << 20


def test_loops_run_and_take_the_time_that_they_say() -> None:
    """A loop of each form, cut short: all of the work is done, for two threads as well."""
    piece = Piece("L1", 8192, 4096)
    chain = Stream(Loop.MULTIPLY_ADD, ScalarType.DOUBLE, 1, chained=True)
    codes = [arithmetic.code_of(chain, 1)]
    codes += [arithmetic.code_of(Stream(Loop.FLIP, ScalarType.BYTE, 16), 2)]
    codes += [moving.code_of(Move(piece, way), 2) for way in (Way.COPY, Way.PAST)]
    buffers = (
        Buffer("ones", ScalarType.BYTE, 2 * OWN, compared=False),
        Buffer("from", ScalarType.LONG, 1024, compared=False, constant=True),
        Buffer("to", ScalarType.LONG, 1024, compared=False),
    )
    fill = compiled(arithmetic.ones(), 2, buffers=("from", "to"))
    every = (0, 1, 2)
    programs = tuple(CompiledProgram(code, every) for code in codes)
    options = MeasureOptions(time_limit=PATIENT, keep_contents=True)
    with Worker() as worker:
        session = worker.open(Problem(buffers, CompiledProgram(fill, every), programs[0]), ONCE)
        outcome = session.measure(programs[0], options)
        assert isinstance(outcome, Ok)
        # No processor carries out what waits for each other in less than a tenth of a nanosecond.
        assert outcome.best > chain.operations * 1e-10
        # A chain of 1 + x·1 counts its steps.
        (value,) = memoryview(session.contents(0)).cast("d")[:1]
        assert value == 1 + chain.operations
        assert all(isinstance(one, Ok) for one in session.measure_together(programs, 1, options))


def test_a_loop_that_does_not_run_is_a_limit() -> None:
    codes = [arithmetic.code_of(Stream(Loop.ADD, ScalarType.FLOAT, 1), 1), b"nothing"]
    buffers = (Buffer("ones", ScalarType.BYTE, OWN, compared=False),)
    fill = compiled(arithmetic.ones(), 1)
    with Worker() as worker, pytest.raises(LimitError, match="a loop did not run"):
        calibrating._times(worker, buffers, fill, codes)
