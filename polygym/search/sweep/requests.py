"""Requests to the processes of a sweep."""

from dataclasses import dataclass
from typing import TypeAlias


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
