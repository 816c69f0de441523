"""When a runner is over its limit, seen from the page that it shares."""

import os
import time

import pytest

from polygym.foreign.libc import processor_clock
from polygym.runtime.worker import runner_progress as module
from polygym.runtime.worker.runner_progress import (
    _PHASE,
    _PROCESSOR,
    _SINCE,
    RunnerPhase,
    RunnerProgress,
)

CLOCK = processor_clock(os.getpid())


def test_phase_and_program_are_seen_after_a_fork():
    progress = RunnerProgress()
    child = os.fork()
    if child == 0:
        progress.enter(RunnerPhase.LOADING, 7)
        os._exit(0)
    os.waitpid(child, 0)
    assert (progress.phase, progress.program) == (RunnerPhase.LOADING, 7)


def test_preparation_has_its_own_limit():
    progress = RunnerProgress()
    progress.enter(RunnerPhase.PREPARING, 0)
    assert 0 < progress.remaining(0.5, 60.0, CLOCK) <= 0.5
    time.sleep(0.02)
    assert progress.remaining(0.5, 0.01, CLOCK) <= 0


def test_run_that_computes_is_over_at_its_limit():
    progress = RunnerProgress()
    progress.enter(RunnerPhase.RUNNING, 0)
    assert 0 < progress.remaining(60.0, 60.0, CLOCK) <= 60.0
    while time.process_time_ns() - progress._page[_PROCESSOR] < 20_000_000:
        pass
    assert progress.remaining(0.01, 60.0, CLOCK) <= 0


def test_run_that_waits_has_a_second_more(monkeypatch):
    progress = RunnerProgress()
    progress.enter(RunnerPhase.RUNNING, 0)
    time.sleep(0.05)
    assert 0 < progress.remaining(0.04, 60.0, CLOCK) <= 0.04
    monkeypatch.setattr(module, "_GRACE_SECONDS", 0.005)
    assert progress.remaining(0.04, 60.0, CLOCK) <= 0


def test_overwritten_page_is_over_any_limit():
    progress = RunnerProgress()
    progress.enter(RunnerPhase.RUNNING, 0)
    progress._page[_PHASE] = 99
    assert progress.phase is RunnerPhase.RUNNING
    progress._page[_SINCE] = time.monotonic_ns() + 10**12
    assert progress.remaining(60.0, 60.0, CLOCK) < 0


def test_clock_of_no_process():
    with pytest.raises(OSError, match="No such process"):
        processor_clock(2**22 + 1)
