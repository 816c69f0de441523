"""Shares of a sweep's time among its programs.

There are ``total`` seconds of searching for all. A program that has been searched to its end took
what it took; the others have equal shares of the rest, so that what a short one leaves goes to
those that come later. What a program has used of its share before counts, also in an earlier run of
the same sweep::

    share = (total - what the finished ones used) / the number of unfinished ones
    limit = share - what this one used
"""

from collections.abc import Collection, Mapping

# To go on for less than this is not worth opening a program again.
MIN_SECONDS = 5.0


def limit_of(
    kernel: str, total: float, used: Mapping[str, float], finished: Collection[str]
) -> float:
    """Return for how many more seconds an unfinished program may be searched.

    >>> limit_of("c", 90, {"a": 10, "b": 30, "c": 5}, {"a"})
    35.0
    """
    rest = total - sum(used[name] for name in finished)
    return rest / (len(used) - len(finished)) - used[kernel]


def is_due(kernel: str, total: float, used: Mapping[str, float], finished: Collection[str]) -> bool:
    """Say whether an unfinished program should be searched (on): always a first time."""
    return not used[kernel] or limit_of(kernel, total, used, finished) >= MIN_SECONDS
