"""Measuring slot of a host: a lock, so that one process measures at a time.

Ray counts slots by nodes (the resource ``measuring``). Two nodes of Ray on one host are two
programs on one machine all the same, and so are two clusters; their clocks would disturb each
other. A lock on a file settles it: the kernel gives it back when its holder ends, however it ends.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from polygym.files import try_lock

_POLL_SECONDS = 0.02


def slot_file() -> Path:
    """Return the file whose lock is the slot of this host, for this user."""
    return Path(tempfile.gettempdir()) / f"polygym-measuring-{os.getuid()}.lock"


@contextmanager
def hold_slot(is_stopped: Callable[[], bool]) -> Iterator[bool]:
    """Hold the slot, which may have to be waited for; give False where it was stopped before."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(slot_file(), flags, 0o600)
    try:
        while not (has_it := try_lock(descriptor)) and not is_stopped():
            time.sleep(_POLL_SECONDS)
        yield has_it
    finally:
        os.close(descriptor)
