"""The measuring rule: limits, looks, and when a schedule is left at one."""

from math import inf

import pytest

from polygym.runtime.evaluation.measurement_rule import (
    SCREENING,
    MeasurementRule,
    comparison_rounds,
    is_excluded,
    is_outdated,
    is_rejected,
    rounds_within,
)
from polygym.runtime.worker.outcome import Crash, Ok, Outcome, Timeout
from polygym.runtime.worker.timing import ONCE

ORIGINAL = 0.002
"""Seconds of the original order in the example of the module."""


def ok(*samples: float) -> Outcome:
    return Ok(samples)


def test_the_example() -> None:
    look = MeasurementRule(10.0, ORIGINAL).screening_options()
    assert look.repetition == SCREENING
    assert look.time_limit.seconds(ORIGINAL) == 0.05
    assert is_rejected(ok(0.0040, 0.0031), ORIGINAL, None)
    assert not is_rejected(ok(0.0040, 0.0029), ORIGINAL, None)
    assert comparison_rounds(ORIGINAL) == 9


@pytest.mark.parametrize(
    ("baseline", "best_so_far", "limit"),
    [
        (2.0, None, 20.0),
        (2.0, 1.0, 5.0),  # five times the best so far
        (2.0, 8.0, 20.0),  # which is no more than the user gives
        (2.0, inf, 20.0),  # nor is it where there is no best yet
        (2.0, 1e-9, 0.05),  # threads may wake up late
        (0.0, 1.0, 0.05),  # an original without any work
    ],
)
def test_runs_are_cut_off(baseline: float, best_so_far: float | None, limit: float) -> None:
    look = MeasurementRule(10.0, baseline).screening_options(best_so_far)
    assert look.time_limit.seconds(baseline) == pytest.approx(limit)


def test_a_glance_is_one_run_with_the_limit_of_a_look() -> None:
    rule = MeasurementRule(7.0, 1.0)
    assert rule.preliminary_options().repetition == ONCE
    assert rule.preliminary_options().time_limit == rule.screening_options().time_limit


@pytest.mark.parametrize("failed", [Timeout(1.0), Crash(11, "SIGSEGV")])
def test_what_fails_is_left_at_that(failed: Outcome) -> None:
    assert is_rejected(failed, ORIGINAL, None)
    assert is_excluded(failed, ORIGINAL)


@pytest.mark.parametrize(
    ("seconds", "original", "best_so_far", "is_left"),
    [
        (0.0029, 0.002, 0.002, False),
        (0.0029, 0.002, 0.001, True),  # fast enough for the original, not for the best
        (0.0029, 0.002, 9.0, False),  # the original is to be beaten anyway
        (0.0031, 0.002, inf, True),
        (0.01, 0.2, inf, True),  # the original takes long, and only the best counts
        (0.01, 0.2, None, False),
    ],
)
def test_where_only_the_best_counts(
    seconds: float, original: float, best_so_far: float | None, is_left: bool
) -> None:
    assert is_rejected(ok(seconds), original, best_so_far) is is_left


@pytest.mark.parametrize(
    ("seconds", "original", "is_left"),
    [(0.09, 0.001, False), (0.11, 0.001, True), (1.4, 1.0, False), (1.6, 1.0, True)],
)
def test_of_several_the_slow_and_long_are_left_out(
    seconds: float, original: float, is_left: bool
) -> None:
    assert is_excluded(ok(seconds), original) is is_left


def test_a_comparison_takes_some_hundredths_of_a_second() -> None:
    assert [comparison_rounds(seconds) for seconds in (0.0, 0.004, 0.006, 5.0)] == [9, 8, 5, 3]
    assert rounds_within(1.0, 0.3, 1, 99) == 4, "not less than was asked for"


def test_the_original_s_time_is_taken_again() -> None:
    assert [is_outdated(age, 0.002) for age in (29.0, 31.0)] == [False, True]
    assert [is_outdated(age, 10.0) for age in (31.0, 299.0, 301.0)] == [False, False, True]
