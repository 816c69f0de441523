"""How the command ends: by signals, by a pipe that nobody reads; nothing of it is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "polygym", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(process: int) -> list[int]:
    """Return the processes below one."""
    result = []
    for task in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = task.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            result += [int(task.parent.name), *children_of(int(task.parent.name))]
    return result


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_no_process(number: signal.Signals) -> None:
    process = start("bench", "seidel-2d", "--dataset", "large", "--repeat", "3")
    deadline = time.monotonic() + 30
    below: list[int] = []
    while time.monotonic() < deadline and len(below) < 2:
        below = children_of(process.pid)
        time.sleep(0.05)
    assert len(below) >= 2, "the worker never started"
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "Traceback" not in err
    if number is signal.SIGINT:
        assert process.returncode == 130
        assert "PROGRAM" in out
    deadline = time.monotonic() + 5
    while any(alive(child) for child in below) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(child) for child in below)


def test_a_closed_pipe_is_no_error() -> None:
    process = start("kernels", "blas")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait(timeout=30)
    process.stderr.close()
