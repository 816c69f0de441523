"""Every test of comprehensions runs in memory that holds nothing useful."""

import numpy as np
import numpy.ma  # which wraps numpy.empty when it is first imported
import pytest

_empty = np.empty


def _garbage(*arguments, **options):
    """Return a new array whose bytes are all ones: NaN where it is read as a float."""
    array = _empty(*arguments, **options)
    if not array.dtype.hasobject:
        array.reshape(-1).view(np.uint8)[...] = 255
    return array


@pytest.fixture(autouse=True)
def new_arrays_hold_garbage(monkeypatch):
    """Let a result that relies on what new memory happens to hold be wrong."""
    monkeypatch.setattr(np, "empty", _garbage)
