"""Looking at processes through /proc, for the tests that count them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def children_of(parent: int) -> list[int]:
    """Return the ids of a process's children, zombies too."""
    result = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _state_and_parent(int(entry.name))[1] == parent:
            result.append(int(entry.name))
    return result


def is_running(process_id: int) -> bool:
    """Say whether a process exists and is no zombie."""
    return _state_and_parent(process_id)[0] not in ("", "Z", "X")


def wait_until(condition: Callable[[], bool], seconds: float = 2.0) -> bool:
    """Wait for a condition and return whether it came true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def descriptors(process_id: int) -> int:
    """Return the number of open file descriptors."""
    return len(os.listdir(f"/proc/{process_id}/fd"))


def mappings(process_id: int) -> int:
    """Return the number of mapped pieces of memory."""
    return len(Path(f"/proc/{process_id}/maps").read_text().splitlines())


def resident_bytes(process_id: int) -> int:
    """Return the physical memory that a process uses."""
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * os.sysconf(
        "SC_PAGE_SIZE"
    )


def _state_and_parent(process_id: int) -> tuple[str, int]:
    try:
        text = Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return "", 0
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, int(parent)
