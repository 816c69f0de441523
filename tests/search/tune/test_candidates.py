"""The schedules that a search begins with."""

import time

import pytest

from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly import baselines
from polygym.compiler.poly.strategy import ORIGINAL
from polygym.measure.evaluation.patience import PATIENCE_VARIABLE
from polygym.search.tune.candidates import schedules_of
from tests.measure.evaluation.test_patience import TEXT


def test_strategies_that_take_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "lifted", lambda _: None)
    monkeypatch.setenv(PATIENCE_VARIABLE, "0.7")
    start = time.monotonic()
    assert list(schedules_of(parse_text(TEXT))) == [ORIGINAL]
    assert time.monotonic() - start < 30
