"""Every test of comprehensions runs in memory that holds nothing useful."""

from itertools import cycle

import numpy as np
import numpy.ma  # which wraps numpy.empty when it is first imported
import pytest

_empty = np.empty

# In turn NaN, a large number and one far below zero, where the bytes are read as a float: what a
# sum would show a maximum may hide, and the other way around.
_bytes = cycle((0xFF, 0x7E, 0xFE))


def _garbage(*arguments, **options):
    """Return a new array whose bytes are all the same."""
    array = _empty(*arguments, **options)
    if not array.dtype.hasobject:
        array.reshape(-1).view(np.uint8)[...] = next(_bytes)
    return array


@pytest.fixture(autouse=True)
def new_arrays_hold_garbage(monkeypatch):
    """Let a result that relies on what new memory happens to hold be wrong."""
    monkeypatch.setattr(np, "empty", _garbage)
