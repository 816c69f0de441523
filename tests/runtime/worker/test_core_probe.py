"""Runs that count where another guest of the machine may be using the core."""

import os
import subprocess
import sys
import time
from math import inf
from pathlib import Path

import pytest

from polygym.foreign import libc
from polygym.runtime.worker import core_probe
from polygym.runtime.worker.core_probe import LONGEST_PROBED_SECONDS, CoreProbe, QuietRuns
from polygym.runtime.worker.measurement_turn import FILE_VARIABLE
from polygym.runtime.worker.outcome import Ok, WrongOutput
from polygym.runtime.worker.timing import MeasureOptions, Repetition
from polygym.runtime.worker.worker import Worker
from tests.runtime.worker import objects

SHORT, LONG = 1e-6, 2 * LONGEST_PROBED_SECONDS


class _ScriptedProbe(CoreProbe):
    """Answers as a test says, the last answer for ever."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked = 0

    def is_undisturbed(self) -> bool:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture(autouse=True)
def _own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "turns"))


def shared(tmp_path: Path) -> Path:
    return tmp_path / "turns-probe"


def test_undisturbed_run_counts():
    quiet = QuietRuns(_ScriptedProbe(True), 1.0)
    quiet.begin(SHORT)
    assert quiet.counts(SHORT)


def test_disturbed_before_is_waited_for():
    probe = _ScriptedProbe(False, False, False, True)
    quiet = QuietRuns(probe, 1.0)
    quiet.begin(SHORT)
    assert probe.asked == 4
    assert quiet.counts(SHORT)


def test_disturbed_behind_does_not_count():
    quiet = QuietRuns(_ScriptedProbe(True, False, True), 1.0)
    quiet.begin(SHORT)
    assert not quiet.counts(SHORT)
    quiet.begin(SHORT)
    assert quiet.counts(SHORT)


def test_patience_ends():
    quiet = QuietRuns(_ScriptedProbe(False), 0.02)
    begun = time.monotonic()
    quiet.begin(SHORT)
    assert 0.02 <= time.monotonic() - begun < 5
    assert quiet.counts(SHORT)


def test_runs_that_do_not_count_cost_patience():
    quiet = QuietRuns(_ScriptedProbe(True, False, True, False, True, False), 0.0013)
    counted = []
    for _ in range(3):
        quiet.begin(SHORT)
        counted.append(quiet.counts(0.0007))
    assert counted == [False, False, True]


def test_all_runs_count_where_the_probe_is_off(monkeypatch):
    monkeypatch.setenv(core_probe.PROBE_VARIABLE, "off")
    probe = _ScriptedProbe(False)
    quiet = QuietRuns(probe, 1.0)
    quiet.begin(SHORT)
    assert quiet.counts(SHORT)
    assert probe.asked == 0


def test_long_runs_are_not_waited_for():
    probe = _ScriptedProbe(False)
    quiet = QuietRuns(probe, 1.0)
    quiet.begin(LONG)
    assert quiet.counts(LONG)
    assert probe.asked == 0


def test_best_time_of_another_process(tmp_path):
    shared(tmp_path).write_text("1000")
    assert core_probe._read_shared() == 1000.0


@pytest.mark.parametrize("text", ["", "no number", "0", "-5", "nan"])
def test_unusable_file_is_as_none(tmp_path, text):
    shared(tmp_path).write_text(text)
    assert core_probe._read_shared() == inf


def test_old_file_is_as_none(tmp_path):
    shared(tmp_path).write_text("1000")
    long_ago = time.time() - 3600
    os.utime(shared(tmp_path), (long_ago, long_ago))
    assert core_probe._read_shared() == inf


def test_no_file_without_turns(monkeypatch, tmp_path):
    monkeypatch.setenv(FILE_VARIABLE, "off")
    CoreProbe().refresh()
    assert list(tmp_path.iterdir()) == []


def test_best_time_is_written_and_replaced(tmp_path):
    shared(tmp_path).write_text("999999999999")
    probe = CoreProbe()
    probe.refresh()
    mine = core_probe._read_shared()
    assert 10 < mine < 1e8
    assert mine == probe._recent


def test_probe_forgets(monkeypatch):
    probe = CoreProbe()
    probe._recent = probe._shared = 1.0
    assert not probe.is_undisturbed()
    monkeypatch.setattr(core_probe, "_MEMORY_SECONDS", 0.0)
    probe.refresh()
    probe.refresh()
    assert probe._older > 1.0
    assert probe._recent > 1.0


def test_probe_is_longer_where_the_library_is_faster(monkeypatch):
    assert len(CoreProbe()._zeros) >= core_probe._FEWEST_ZEROS
    monkeypatch.setattr(core_probe, "_checksum_time", lambda data: len(data) // 20)
    assert len(CoreProbe()._zeros) == 1 << 15  # 1,638 ns; half of it takes 819
    monkeypatch.setattr(core_probe, "_checksum_time", lambda _: 1)
    assert len(CoreProbe()._zeros) == core_probe._MOST_ZEROS


def test_worker_answers_where_nothing_is_undisturbed(tmp_path):
    """The best time of all, a nanosecond, is out of reach."""
    shared(tmp_path).write_text("1")
    with Worker() as worker:
        session = worker.open(objects.problem())
        rule = MeasureOptions(repetition=Repetition(minimum=5, minimum_seconds=0.0))
        outcome = session.measure(objects.program(objects.doubled_by_adding()), rule)
        assert isinstance(outcome, Ok)
        assert len(outcome.samples) == 5
        wrong = session.measure(objects.program(objects.scaled(3.0)), rule)
        assert isinstance(wrong, WrongOutput)


def test_programs_in_turn_have_all_their_samples(worker):
    session = worker.open(objects.problem())
    programs = [objects.program(code) for code in (objects.doubled(), objects.scaled(3.0))]
    good, bad = session.measure_together(programs, 15)
    assert isinstance(good, Ok)
    assert len(good.samples) == 15
    assert isinstance(bad, WrongOutput)


_MAPS = "print([line for line in open('/proc/self/maps') if 'stack' in line or 'libc' in line])"


def in_a_new_process(text: str) -> str:
    return subprocess.run(
        [sys.executable, "-S", "-c", text], capture_output=True, text=True, check=True
    ).stdout


def test_fixed_addresses():
    before = libc._library.personality(0xFFFFFFFF)
    with libc.fixed_addresses():
        if libc._library.personality(0xFFFFFFFF) == before:
            pytest.skip("addresses are fixed already, or this container forbids to fix them")
        first, second = in_a_new_process(_MAPS), in_a_new_process(_MAPS)
    assert first == second
    assert libc._library.personality(0xFFFFFFFF) == before


def test_supervisor_has_fixed_addresses(worker):
    """Two workers' supervisors have their stacks at the same place."""
    with libc.fixed_addresses():
        if not libc._library.personality(0xFFFFFFFF) & 0x0040000:
            pytest.skip("this container forbids to fix addresses")
    worker.open(objects.problem())
    with Worker() as other:
        other.open(objects.problem())
        stacks: list[str] = []
        for member in (worker, other):
            lines = Path(f"/proc/{member.process_id}/maps").read_text().splitlines()
            stacks += [line.split("-")[1].split()[0] for line in lines if line.endswith("[stack]")]
    assert len(stacks) == 2
    assert stacks[0] == stacks[1]
