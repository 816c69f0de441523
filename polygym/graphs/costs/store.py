"""Times of operators that were measured, in the user's cache folder."""

from __future__ import annotations

from polygym.tc.measured_times import MeasuredTimes, user_measured_times

__all__ = ["CostStore", "user_cost_store"]

CostStore = MeasuredTimes


def user_cost_store(threads: int) -> MeasuredTimes:
    """Return the store in the user's cache folder; without one it is kept in memory."""
    return user_measured_times("operators.sqlite", threads)
