"""Seconds for what may take hours: who shares them, what the environment says, what is given up."""

import os
import time
from pathlib import Path

import pytest

from polygym.errors import InputError, LimitError
from polygym.frontend.c import parse_text
from polygym.poly.scheduling import baselines
from polygym.poly.scheduling.strategy import ISL, ORIGINAL
from polygym.runtime.evaluation.time_limits import (
    TIME_LIMIT_VARIABLE,
    SchedulerBudget,
    allowed_seconds,
    check_within,
    schedule_within,
    space_within,
)
from tests.c_programs import kernel_scop
from tests.poly.scheduling.test_symbolic_sizes import HEAT

TEXT = f"#define N 40L\n#define T 9L\n{HEAT}"
"""A program for which isl's scheduler takes hours, where it gets the numbers as they stand."""


@pytest.fixture
def _numbers_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "with_symbolic_sizes", lambda _: None)


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")


@pytest.mark.usefixtures("_numbers_stand")
def test_strategies_share_their_seconds() -> None:
    scop = parse_text(TEXT)
    before, start = children(), time.monotonic()
    patience = SchedulerBudget(0.2)
    for _ in range(2):
        with pytest.raises(LimitError, match=r"gave up after 0\.2? s"):
            patience.schedule(ISL, scop)
    assert patience.schedule(ORIGINAL, scop) == baselines.original_schedule(scop), (
        "it takes none of them"
    )
    assert time.monotonic() - start < 30
    assert children() == before


@pytest.mark.parametrize("numbers", [True, False])
def test_parameters_are_advised_where_sizes_are_numbers(
    monkeypatch: pytest.MonkeyPatch, numbers: bool
) -> None:
    advice = []

    def apart(what: str, work: object, seconds: float, otherwise: str, *_: object) -> None:
        advice.append(otherwise)

    monkeypatch.setattr("polygym.runtime.evaluation.time_limits.run_forked", apart)
    text = TEXT if numbers else HEAT.replace("heat(", "heat(long N, long T, ")
    schedule_within(ISL, parse_text(text))
    assert advice[0].startswith(
        "it may find one with sizes as parameters instead of numbers, or told otherwise ('isl "
        if numbers
        else "it may find one told otherwise ('isl fusion=minimum', say); `original` is"
    )


def test_the_least_of_what_is_usual_and_what_is_given_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "7")
    assert [SchedulerBudget(most).seconds for most in (None, 5.0, 9.0)] == [7.0, 5.0, 7.0]


def test_what_is_found_is_what_the_pure_function_finds() -> None:
    scop = kernel_scop("mvt")
    assert schedule_within(ISL, scop) == baselines.isl_schedule(scop)
    assert schedule_within(ORIGINAL, scop) == baselines.original_schedule(scop)
    assert check_within(lambda: 7) == 7


def test_what_is_raised_is_what_the_work_raises() -> None:
    def fails() -> None:
        raise InputError("no such row")

    with pytest.raises(InputError, match="no such row"):
        check_within(fails)


def test_a_space_has_the_seconds_of_twenty_polyhedra_unless_the_environment_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = []

    def apart(what: str, work: object, seconds: float, otherwise: str) -> None:
        given.append(seconds)

    monkeypatch.setattr("polygym.runtime.evaluation.time_limits.run_forked", apart)
    monkeypatch.delenv(TIME_LIMIT_VARIABLE, raising=False)
    for seconds in (1.0, 100.0):
        space_within(lambda: None, seconds)
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, "3")
    space_within(lambda: None, 100.0)
    assert given == [300.0, 2000.0, 3.0]


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "1e9"])
def test_patience_is_a_number_of_seconds(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, text)
    with pytest.raises(InputError, match="POLYGYM_PATIENCE: expected a number of seconds"):
        allowed_seconds(1.0)


@pytest.mark.parametrize(("text", "seconds"), [("", 1.0), (" 2.5 ", 2.5)])
def test_a_silent_environment_leaves_the_usual(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: float
) -> None:
    monkeypatch.setenv(TIME_LIMIT_VARIABLE, text)
    assert allowed_seconds(1.0) == seconds
