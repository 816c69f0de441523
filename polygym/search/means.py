"""Means of ratios: speedups are averaged so that twice and half are once."""

import math
from collections.abc import Iterable


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean of positive numbers, None of none.

    >>> round(geometric_mean([2, 8]), 6)
    4.0
    """
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None
