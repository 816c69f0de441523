"""Scores of several seeds on several programs as one number, with an interval of 90 %.

The method of Agarwal et al. (2021, "Deep Reinforcement Learning at the Edge of the Statistical
Precipice") for few seeds. A table of scores has a row for each seed, a column for each program.

- The *interquartile mean* is the mean of the middle half of all scores: a program on which an agent
  is far better or worse does not decide alone, and it varies less than a median.
- Its *interval* draws, for every program by itself, as many seeds as there are, with replacement,
  2,000 times (a stratified bootstrap), and cuts off the 5 % at each end.
- The *probability of improvement* of X over Y is how often a score of X exceeds one of Y on the
  same program, ties counting half, averaged over programs.

Example: the scores 1, 2, 3 and 100 have the interquartile mean (2 + 3) / 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Scores: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

_RESAMPLES = 2000
_PERCENT_OUTSIDE = 10.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, and the ends of its interval of 90 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def interquartile_mean(scores: Scores) -> float:
    """Return the mean of the middle half; of a part of a score at its ends, that part.

    >>> interquartile_mean(np.array([[1.0, 2.0], [3.0, 100.0]]))
    2.5
    >>> interquartile_mean(np.array([1.0, 2.0, 4.0]))
    2.1666666666666665
    """
    ordered = np.sort(scores, axis=None)
    quarter = ordered.size / 4
    # The weight of a score is how much of it lies between the first quarter and the third.
    ends = np.clip(np.arange(ordered.size + 1), quarter, 3 * quarter)
    return float(np.average(ordered, weights=np.diff(ends)))


def estimate_of(
    scores: Scores, statistic: Callable[[Scores], float] = interquartile_mean, seed: int = 0
) -> Estimate:
    """Return a statistic of scores, seeds by programs, with its interval.

    >>> estimate_of(np.ones((5, 3)))
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    return _with_interval(statistic, (scores,), seed)


def probability_of_improvement(scores: Scores, others: Scores, seed: int = 0) -> Estimate:
    """Return how often scores exceed others on the same program, with the interval of that.

    >>> probability_of_improvement(np.array([[2.0], [3.0]]), np.array([[1.0], [3.0]])).value
    0.625
    """
    return _with_interval(_improvement, (scores, others), seed)


def _with_interval(
    statistic: Callable[..., float], tables: tuple[Scores, ...], seed: int
) -> Estimate:
    """Return a statistic of tables of scores, with the interval of what resampled ones give."""
    generator = np.random.default_rng(seed)
    drawn = [
        statistic(*(_resampled(scores, generator) for scores in tables)) for _ in range(_RESAMPLES)
    ]
    low, high = np.percentile(drawn, [_PERCENT_OUTSIDE / 2, 100 - _PERCENT_OUTSIDE / 2])
    return Estimate(statistic(*tables), float(low), float(high))


def _improvement(scores: Scores, others: Scores) -> float:
    """Return the share of pairs of seeds in which the first is more, ties as a half."""
    left, right = scores[:, None, :], others[None, :, :]
    return float(np.mean((left > right) + 0.5 * (left == right)))


def _resampled(scores: Scores, generator: np.random.Generator) -> Scores:
    """Draw seeds with replacement, for each program by itself."""
    seeds, programs = scores.shape
    rows = generator.integers(seeds, size=scores.shape)
    drawn: Scores = scores[rows, np.arange(programs)]
    return drawn
