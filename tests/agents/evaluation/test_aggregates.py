"""Interquartile means, their intervals, and probabilities of improvement, by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from polygym.agents.evaluation.aggregates import (
    estimate_of,
    interquartile_mean,
    probability_of_improvement,
)

NUMBERS = st.floats(-100, 100, allow_nan=False).map(lambda number: round(number, 3))


def by_repetition(scores: Any) -> float:
    """Return the mean of the middle half of a list that has each score four times."""
    repeated = np.sort(np.repeat(scores, 4))
    count = np.size(scores)
    return float(np.mean(repeated[count : 3 * count]))


@given(st.lists(NUMBERS, min_size=1, max_size=13))
def test_interquartile_mean_is_that_of_the_middle_half(numbers: list[float]) -> None:
    mean = interquartile_mean(np.array(numbers))
    assert mean == pytest.approx(by_repetition(numbers), abs=1e-9)


def test_interquartile_mean_as_scipy_has_it() -> None:
    scores = np.random.default_rng(0).normal(size=(4, 10))
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))


def test_a_score_far_away_does_not_decide() -> None:
    assert interquartile_mean(np.array([1.0, 1.0, 1.0, 1e9])) == 1.0


def test_interval_holds_the_truth_nine_times_of_ten() -> None:
    generator = np.random.default_rng(1)
    inside = 0
    for number in range(100):
        estimate = estimate_of(generator.normal(size=(10, 6)), np.mean, seed=number)
        assert estimate.low <= estimate.value <= estimate.high
        inside += estimate.low <= 0.0 <= estimate.high
    assert 75 <= inside <= 98


def test_programs_are_drawn_by_themselves() -> None:
    """Seeds that agree on every program leave no doubt, however far the programs are apart."""
    scores = np.tile([1.0, 5.0, 90.0], (5, 1))
    estimate = estimate_of(scores)
    assert estimate.low == estimate.value == estimate.high


@given(
    st.lists(st.integers(0, 3), min_size=6, max_size=6),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_improvement_counts_pairs(left: list[int], right: list[int]) -> None:
    scores = np.array(left, float).reshape(3, 2)
    others = np.array(right, float).reshape(2, 2)
    pairs = [
        1.0 if scores[i, k] > others[j, k] else 0.5 if scores[i, k] == others[j, k] else 0.0
        for i in range(3)
        for j in range(2)
        for k in range(2)
    ]
    estimate = probability_of_improvement(scores, others)
    assert estimate.value == pytest.approx(np.mean(pairs))
    assert 0 <= estimate.low <= estimate.high <= 1


def test_text_of_an_estimate() -> None:
    assert str(estimate_of(np.full((2, 2), 1.5))) == "1.50 (1.50 to 1.50)"
