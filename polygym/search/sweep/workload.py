"""Workload of a sweep: programs, strategies, budget, requests, and shares of the time.

There are ``total`` seconds of searching for all. A program that has been searched to its end took
what it took; the others have equal shares of the rest, so that what a short one leaves goes to
those that come later. What a program has used of its share before counts, also in an earlier run of
the same sweep::

    share = (total - what the finished ones used) / the number of unfinished ones
    limit = share - what this one used
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SweepWorkload:
    """How much is explored and confirmed.

    ``time_limit`` is the time of searching, all jobs together, None without limit; ``against`` are
    other compilers, measured beside the schedules. ``model`` is the file of the model that a policy
    asks, empty for the one that comes with polygym.
    """

    programs: tuple[str, ...]
    policies: tuple[str, ...]
    budget: int
    confirm_count: int
    time_limit: float | None = None
    jobs: int = 1
    against: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Explore every policy from episode ``first`` up to ``budget``, for ``time_limit`` at most.

    ``against`` names other compilers, as it does in a :class:`ConfirmRequest`; ``model`` is a file,
    and empty for the model that comes with polygym.
    """

    policies: tuple[str, ...]
    budget: int
    time_limit: float | None
    against: tuple[str, ...] = ()
    model: str = ""
    first: int = 0


@dataclass(frozen=True, slots=True)
class ConfirmRequest:
    """Measure the ``count`` best again."""

    count: int
    against: tuple[str, ...] = ()


Request: TypeAlias = SearchRequest | ConfirmRequest


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
