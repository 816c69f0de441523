"""What a measurement costs beyond the runs themselves, as generous bounds."""

import os
import signal
import statistics
import time

import pytest

from polygym.runtime.worker.outcome import Ok
from polygym.runtime.worker.timing import MeasureOptions, Repetition, TimeLimit
from tests.runtime.worker import objects

pytestmark = pytest.mark.timing

FOUR_RUNS = MeasureOptions(repetition=Repetition(minimum=4, minimum_seconds=0.0))


def cost(session, code: bytes, pause: float) -> float:
    """Return what a measurement takes where nothing else interrupts it.

    The pause stands for the compiling before it. What others do on a shared machine only ever adds
    to a time, to some more and to some less: the quartile of the quick ones is what we ask for.
    """
    times = []
    for _ in range(40):
        time.sleep(pause)
        before = time.perf_counter()
        session.measure(objects.program(code), FOUR_RUNS)
        times.append(time.perf_counter() - before)
    return statistics.quantiles(times, n=4)[0]


def test_overhead_of_a_small_program(worker):
    assert cost(worker.open(objects.problem()), objects.doubled(), pause=0.02) < 0.005


@pytest.mark.parametrize("code", [objects.traps(), objects.exits(1)])
def test_crash_costs_no_more_than_a_tenth_of_a_second(worker, code):
    session = worker.open(objects.problem())
    times = []
    for _ in range(5):
        before = time.perf_counter()
        session.measure(objects.program(code))
        assert isinstance(session.measure(objects.program(objects.doubled()), FOUR_RUNS), Ok)
        times.append(time.perf_counter() - before)
    assert statistics.median(times) < 0.1


def test_busy_machine_does_not_cut_off_short_runs(worker):
    """Four processes a core compete for it, so a run may wait longer than its limit allows."""
    session = worker.open(objects.problem())
    program = objects.program(objects.spins(8_000_000))
    quiet = session.measure(program, MeasureOptions(time_limit=TimeLimit(floor=10.0)))
    assert isinstance(quiet, Ok)
    limited = MeasureOptions(time_limit=TimeLimit(floor=5 * quiet.best))
    competitors = []
    for _ in range(4 * (os.cpu_count() or 1)):
        if (child := os.fork()) == 0:
            while True:
                pass
        competitors.append(child)
    try:
        for _ in range(20):
            assert isinstance(session.measure(program, limited), Ok)
    finally:
        for child in competitors:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
