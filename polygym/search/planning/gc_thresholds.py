"""The collector of cycles looks less often while a search runs.

A search makes states by the hundred thousand and keeps them; none is part of a cycle. Python's
collector looks at all of them again and again, which is half of the time of a search over terms,
and a fifth of that of chains over mappings. While a search runs it waits for a hundred times as
many new objects as it does by itself. The setting is of the whole process: the last search to end
puts it back.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 100, 100)
_LOCK = threading.Lock()
_RUNNING: list[tuple[int, int, int]] = []


@contextmanager
def reduced_gc() -> Iterator[None]:
    """Have the collector look less often, unless it has been told to wait longer, or to stop."""
    with _LOCK:
        before = gc.get_threshold()
        _RUNNING.append(_RUNNING[0] if _RUNNING else before)
        if 0 < before[0] < _THRESHOLDS[0]:
            gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        with _LOCK:
            first = _RUNNING.pop()
            if not _RUNNING and gc.get_threshold() == _THRESHOLDS:
                gc.set_threshold(*first)
