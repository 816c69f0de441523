"""Work that has a time limit is done here and now, instead of in a copy of the tests' process.

:mod:`polygym.runtime.evaluation.forked_timeout` copies the process that asks, which takes a command
some milliseconds. The processes of tests are ten times as large, with PyTorch and all modules of
tests in them: to make a copy and to clear it away takes 60 ms, more than most of the work, and
tests ask three thousand times. What comes of it still goes through a pickle, as it would from a
copy, and so does what is raised. Tests of the limits, and of copies, have real ones.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from polygym.runtime.evaluation import time_limits
from polygym.runtime.evaluation.forked_timeout import _pickled_result


def _here(_purpose: str, work: Callable[[], Any], *_limits: object, **_more: object) -> Any:
    """Return what comes of the work, or raise what it raises, as another process would send it."""
    is_fine, result = pickle.loads(_pickled_result(work))
    if not is_fine:
        raise result
    return result


@contextmanager
def without_copies() -> Iterator[None]:
    """Inside, nothing is done in copies of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_limits, "run_forked", _here)
        yield
