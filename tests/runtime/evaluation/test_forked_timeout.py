"""Work in a copy of the process: results and exceptions come back, and nothing is left of it."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

import polygym.runtime.evaluation.forked_timeout as apart_module
from polygym.errors import InternalError, LimitError, LongWaitWarning, SourceError, SourceLocation
from polygym.runtime.evaluation.forked_timeout import StoppedError, run_forked

LONG = 60.0


def done(work: Callable[[], Any], seconds: float = LONG) -> Any:
    return run_forked("counting", work, seconds, "count less")


def stuck() -> None:
    """Keep the interpreter's lock as a call into isl does: no handler and no thread gets a turn."""
    ctypes.PyDLL(None).sleep(1000)


def children() -> set[str]:
    return set(Path("/proc/self/task", str(os.getpid()), "children").read_text().split())


@pytest.mark.parametrize("result", [None, 7, "x" * 3_000_000, {"a": (1, 2)}])
def test_results_come_back(result: object) -> None:
    before = children()
    assert done(lambda: result) == result
    assert children() == before


def test_the_copy_knows_what_is_known_and_changes_nothing() -> None:
    known = [1]
    assert done(lambda: (known.append(2), known)[1]) == [1, 2]
    assert known == [1]


def test_who_waits_long_is_told_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart_module, "_LONG_WAIT_SECONDS", 0.3)
    said = "^counting takes longer than 0.3 s; it is given up after 2 s of computing$"
    with pytest.warns(LongWaitWarning, match=said) as heard, pytest.raises(LimitError):
        done(stuck, 2.0)
    assert len(heard) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LimitError):
            done(stuck, 0.3)  # it ends before there is anything to say


def test_exceptions_come_back() -> None:
    def refuse() -> NoReturn:
        raise LimitError("too many")

    with pytest.raises(LimitError, match=r"^too many$"):
        done(refuse)


def test_exceptions_that_stand_no_pickle_come_back_as_sentences() -> None:
    def refuse() -> NoReturn:
        raise SourceError(SourceLocation("a.c", 3, 5), "what is this?")

    with pytest.raises(InternalError, match=r"SourceError: a\.c:3:5: error: what is this"):
        done(refuse)


def test_results_that_stand_no_pickle() -> None:
    with pytest.raises((TypeError, AttributeError), match="pickle"):
        done(lambda: threading.Lock())


def test_what_takes_too_long_is_ended() -> None:
    before, start = children(), time.monotonic()
    with pytest.raises(LimitError, match=r"^counting: gave up after 0\.3 s; count less$"):
        done(stuck, 0.3)
    assert time.monotonic() - start < LONG / 2
    assert children() == before


def test_the_limit_counts_computing() -> None:
    """So a result does not depend on what else the machine does."""

    def compute() -> NoReturn:
        while True:
            pass

    def wait() -> int:
        time.sleep(0.6)
        return 3

    assert done(wait, 0.4) == 3
    with pytest.raises(LimitError, match=r"gave up after 0\.4 s"):
        done(compute, 0.4)


def test_what_is_stopped_is_ended() -> None:
    before, start = children(), time.monotonic()
    with pytest.raises(StoppedError):
        run_forked("counting", stuck, LONG, "", lambda: time.monotonic() > start + 0.3)
    assert time.monotonic() - start < LONG / 2
    assert children() == before


def test_a_crash_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="counting: the process that was at it ended"):
        done(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_an_exception_of_a_handler_ends_the_copy_too() -> None:
    before = children()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        done(stuck)
    timer.join()
    assert children() == before


def test_several_threads() -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda number=number: results.append(done(lambda: number)))  # type: ignore[misc]
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]


def test_the_copy_ends_with_its_process(tmp_path: Path) -> None:
    """A copy that is at work does not outlive a process that is killed."""
    script = (
        "import ctypes, os, sys\n"
        "from polygym.runtime.evaluation.forked_timeout import run_forked\n"
        "def work():\n"
        "    print(os.getpid(), flush=True)\n"
        "    ctypes.PyDLL(None).sleep(1000)\n"
        "run_forked('counting', work, 60, '')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        copy = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + LONG
    while _is_running(copy) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _is_running(copy)


def _is_running(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def test_memory_is_limited() -> None:
    """Beyond what there was before; Python and C++ say differently that they were refused."""

    def greedy() -> int:
        return len(bytearray(2**30))

    def refused() -> None:
        os.abort()

    assert run_forked("counting", lambda: len(bytearray(2**27)), LONG, "", memory=2**29) == 2**27
    for work in (greedy, refused):
        with pytest.raises(LimitError, match="counting: took more than 512 MiB of memory; less"):
            run_forked("counting", work, LONG, "less", memory=2**29)
    with pytest.raises(InternalError, match="ended without an answer"):
        run_forked("counting", refused, LONG, "less")
