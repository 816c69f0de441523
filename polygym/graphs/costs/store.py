"""Times of operators that were measured, in the user's cache folder."""

from __future__ import annotations

from polygym.tc.times import TimeStore, user_times

__all__ = ["CostStore", "user_store"]

CostStore = TimeStore


def user_store(threads: int) -> TimeStore:
    """Return the store in the user's cache folder; without one it is kept in memory."""
    return user_times("operators.sqlite", threads)
