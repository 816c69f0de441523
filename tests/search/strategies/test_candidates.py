"""The schedules that a search begins with."""

import time

import pytest

from polygym.frontend.c import parse_text
from polygym.poly.scheduling import baselines
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.runtime.evaluation.time_limits import TIME_LIMIT_VARIABLE
from polygym.search.strategies.candidates import schedules_of
from tests.runtime.evaluation.test_time_limits import TEXT


def test_strategies_that_take_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "with_symbolic_sizes", lambda _: None)
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "0.7")
    start = time.monotonic()
    assert list(schedules_of(parse_text(TEXT))) == [ORIGINAL]
    assert time.monotonic() - start < 30
