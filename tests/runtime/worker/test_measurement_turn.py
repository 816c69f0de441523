"""Turns of measuring: one at a time on a core, in order, and over when a process ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.runtime.worker import measurement_turn as module
from polygym.runtime.worker.measurement_turn import core_sets, measurement_turn

# Says on its output when it waits, has its turn, and has given it back; ends when its input does.
_MEMBER = """
import sys
from polygym.runtime.worker.measurement_turn import measurement_turn
print("waits", flush=True)
with measurement_turn() as cores:
    print("has", *cores, flush=True)
    sys.stdin.readline()
print("gave", flush=True)
"""

_LOOP = """
import sys, time
from polygym.runtime.worker.measurement_turn import measurement_turn
for _ in range(40):
    with measurement_turn():
        begin = time.monotonic_ns()
        time.sleep(0.001)
        print(begin, time.monotonic_ns())
"""


@pytest.fixture(autouse=True)
def _own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep these turns apart from those of the machine."""
    monkeypatch.setenv(module.FILE_VARIABLE, str(tmp_path / "turns"))
    monkeypatch.delenv(module.CORES_VARIABLE, raising=False)


class _Member:
    """A process that asks for a turn."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _MEMBER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.says() == "waits"

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def give_back(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def member() -> Iterator[Callable[[], _Member]]:
    """Return what makes members; all end with the test."""
    members: list[_Member] = []

    def make() -> _Member:
        members.append(_Member())
        return members[-1]

    yield make
    for item in members:
        with suppress(OSError, ValueError):
            item.kill()


def _wait_until_blocked(process: subprocess.Popen[str]) -> None:
    """Wait until a process sleeps in the kernel's wait for a lock."""
    for _ in range(1000):
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        if any("->" in line and f" {process.pid} " in line for line in lines):
            return
        time.sleep(0.01)
    raise AssertionError("the process does not wait for a lock")


def test_never_two_at_once() -> None:
    loops = [
        subprocess.Popen([sys.executable, "-c", _LOOP], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    spans = []
    for loop in loops:
        output, _ = loop.communicate(timeout=60)
        spans += [tuple(map(int, line.split())) for line in output.splitlines()]
    assert len(spans) == 160
    spans.sort()
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_in_the_order_in_which_they_came(member: Callable[[], _Member]) -> None:
    first = member()
    assert first.says().startswith("has")
    others = []
    for _ in range(4):
        others.append(member())
        _wait_until_blocked(others[-1].process)
    before = first
    for other in others:
        before.give_back()
        assert before.says() == "gave"
        assert other.says().startswith("has")
        before = other


def test_a_process_that_is_killed_has_no_turn_any_more(member: Callable[[], _Member]) -> None:
    holder = member()
    assert holder.says().startswith("has")
    waiting = member()
    _wait_until_blocked(waiting.process)
    holder.kill()
    assert waiting.says().startswith("has")


def test_behind_one_that_is_killed_while_it_waits(member: Callable[[], _Member]) -> None:
    holder, middle = member(), member()
    assert holder.says().startswith("has")
    _wait_until_blocked(middle.process)
    last = member()
    _wait_until_blocked(last.process)
    middle.kill()
    _wait_until_blocked(last.process)  # now for the holder itself
    time.sleep(0.05)
    holder.give_back()
    assert holder.says() == "gave"
    assert last.says().startswith("has")


def test_interrupted_while_it_waits(member: Callable[[], _Member]) -> None:
    holder, waiting = member(), member()
    assert holder.says().startswith("has")
    _wait_until_blocked(waiting.process)
    waiting.process.send_signal(signal.SIGINT)
    assert waiting.process.wait(10) != 0
    holder.give_back()
    assert member().says().startswith("has")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_disjoint_cores_at_once(
    member: Callable[[], _Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.CORES_VARIABLE, "1")
    first, second = member(), member()
    cores = [first.says(), second.says()]
    assert len(set(cores)) == 2
    monkeypatch.delenv(module.CORES_VARIABLE)
    whole = member()
    _wait_until_blocked(whole.process)
    first.give_back()
    second.give_back()
    assert len(whole.says().split()) == 1 + len(os.sched_getaffinity(0))


def test_threads_take_turns_and_a_turn_inside_a_turn_is_the_same() -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with measurement_turn() as outer, measurement_turn() as inner:
                assert outer == inner == tuple(sorted(os.sched_getaffinity(0)))
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_child_does_not_inherit_the_turn(member: Callable[[], _Member]) -> None:
    with measurement_turn():
        process_id = os.fork()
        if process_id == 0:
            with measurement_turn():
                os._exit(0)
        time.sleep(0.1)
        assert os.waitpid(process_id, os.WNOHANG) == (0, 0)  # it waits for this process
    assert os.waitpid(process_id, 0)[1] == 0
    assert member().says().startswith("has")


def test_off_and_files_that_cannot_be_made(
    member: Callable[[], _Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    with measurement_turn():
        for path in ("off", "/nowhere/turns"):
            monkeypatch.setenv(module.FILE_VARIABLE, path)
            assert member().says().startswith("has")


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "9999999"])
def test_bad_numbers_of_cores(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.CORES_VARIABLE, text)
    with pytest.raises(InputError, match="POLYGYM_TURN_CORES"), measurement_turn():
        pass


def test_who_waits_long_is_told(
    member: Callable[[], _Member],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "_NOTICE_SECONDS", 0.05)
    holder = member()
    assert holder.says().startswith("has")
    with _later(0.5, holder.give_back), measurement_turn():
        pass
    assert f"another process ({holder.process.pid})" in capsys.readouterr().err


@contextmanager
def _later(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    timer = threading.Timer(seconds, action)
    timer.start()
    yield
    timer.join()


def test_sets_of_cores_are_disjoint() -> None:
    for count in range(1, 9):
        for size in range(1, 10):
            sets = core_sets(range(count), size)
            every = [core for cores in sets for core in cores]
            assert len(set(every)) == len(every)
            assert sets
            assert all(len(cores) == min(size, count) for cores in sets)
