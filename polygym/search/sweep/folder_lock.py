"""A sweep's folder belongs to one sweep at a time."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polygym.errors import InputError
from polygym.files import try_lock

LOCK_FILE = "sweep.lock"

# How long the processes of a sweep that was killed may take to end.
_RETRY_SECONDS = 3.0


@contextmanager
def lock_folder(folder: Path) -> Iterator[int]:
    """Hold a sweep's folder: inside, no other sweep works there.

    The lock is on a file, whose descriptor is given: processes that inherit it hold the lock as
    long as they live. Those of a sweep that was killed end by themselves, which may take a moment.

    Raises:
        InputError: another sweep is at work there.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + _RETRY_SECONDS
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise InputError(
                    f"{folder}: expected nobody else to write it, found another sweep at work"
                )
            time.sleep(0.05)
        yield descriptor
    finally:
        os.close(descriptor)
