"""The command ignores Ctrl-C once it has its answer; the tests' own process goes on."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _interrupts_stay_as_they_are() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)
