"""Whose a machine was: counters that are written here, and processes that are really busy."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.runtime.worker import background_load
from polygym.runtime.worker.background_load import BackgroundLoad, LoadMonitor

TICKS = os.sysconf("SC_CLK_TCK")
SPIN = "import time\nwhile time.process_time() < 0.5: pass"


class Machine:
    """A folder that looks like /proc; times are in seconds."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.now = folder, 100.0
        monkeypatch.setattr(background_load.time, "monotonic", lambda: self.now)

    def count(self, busy: float, stolen: float = 0.0) -> None:
        user, system = round(busy * TICKS) - 3, 3
        line = f"cpu  {user} 0 {system} 987654 4321 0 0 {round(stolen * TICKS)} 0 0\ncpu0 1 2 3\n"
        (self.folder / "stat").write_text(line)

    def process(
        self, pid: int, parent: int, seconds: float, ended: float = 0.0, name: str = "python"
    ) -> None:
        (self.folder / str(pid)).mkdir(exist_ok=True)
        own, children = round(seconds * TICKS), round(ended * TICKS)
        line = f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 9 9 9 9 {own} 0 0 {children} 20 0 1\n"
        (self.folder / str(pid) / "stat").write_text(line)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_what_is_not_ours_is_others(machine: Machine) -> None:
    me = os.getpid()
    machine.count(busy=50)
    machine.process(1, 0, 20)
    machine.process(me, 1, 5)
    watch = LoadMonitor(machine.folder)
    # A child, with a name that has brackets, a grandchild, one that has ended; and a stranger.
    machine.process(me, 1, 6, ended=1)
    machine.process(2_000_001, me, 3, name="a) S 1 (b")
    machine.process(2_000_002, 2_000_001, 2)
    machine.process(2_000_003, 1, 9)
    machine.count(busy=50 + 7 + 9, stolen=2.5)
    machine.now += 10
    load = watch.load()
    assert load is not None
    assert load.seconds == pytest.approx(10)
    assert load.other_cores == pytest.approx(0.9, abs=0.01)
    assert load.stolen_cores == pytest.approx(0.25, abs=0.01)
    assert load.is_notable


def test_our_own_work_is_no_foreign_load(machine: Machine) -> None:
    machine.count(busy=10)
    machine.process(os.getpid(), 1, 1)
    watch = LoadMonitor(machine.folder)
    machine.process(os.getpid(), 1, 20)
    machine.count(busy=29)
    machine.now += 10
    load = watch.load()
    assert load is not None
    assert load.other_cores == pytest.approx(0.0, abs=0.01)
    assert not load.is_notable


def test_looks_are_kept_now_and_then(machine: Machine) -> None:
    machine.count(busy=10)
    machine.process(os.getpid(), 1, 1)
    watch = LoadMonitor(machine.folder)
    watch.update()
    assert watch.last_load is None
    for seconds, others in ((4.0, 2.0), (1.0, 0.0), (5.0, 4.0)):
        machine.now += seconds
        machine.count(busy=10 + others)
        watch.update()
    assert watch.last_load is not None
    assert (watch.last_load.seconds, watch.last_load.other_cores) == pytest.approx(
        (10.0, 0.4), abs=0.01
    )
    machine.now += 1.0
    (machine.folder / "stat").unlink()
    watch.update()
    assert watch.last_load.seconds == pytest.approx(10.0)


@pytest.mark.parametrize("text", ["", "cpu 1 2", "cpu x y z 1 2 3 4 5 6", None])
def test_a_system_that_does_not_say(machine: Machine, text: str | None) -> None:
    if text is not None:
        (machine.folder / "stat").write_text(text)
    assert LoadMonitor(machine.folder).load() is None


def test_a_moment_says_nothing() -> None:
    assert not BackgroundLoad(0.1, 2.0, 0.0, 2).is_notable
    assert BackgroundLoad(1.0, 0.1, 0.1, 2).is_notable


def busy_seconds(watch: LoadMonitor) -> float:
    load = watch.load()
    assert load is not None
    return load.other_cores * load.seconds


def test_a_process_that_is_really_busy_is_ours_or_is_not() -> None:
    ours = background_load._own_ticks(background_load._PROC, os.getpid())
    watch = LoadMonitor()
    subprocess.run([sys.executable, "-c", SPIN], check=True)
    more = background_load._own_ticks(background_load._PROC, os.getpid())
    assert more - ours >= 0.45 * TICKS
    # One that nobody waits for belongs to init.
    orphan = f"import os, sys\nif os.fork(): os._exit(0)\n{SPIN}\nsys.stdout.close()"
    before = busy_seconds(watch)
    with subprocess.Popen([sys.executable, "-c", orphan], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()  # until both have closed it
    time.sleep(0.05)
    assert busy_seconds(watch) - before >= 0.3
    assert background_load._own_ticks(background_load._PROC, os.getpid()) - more < 0.4 * TICKS
