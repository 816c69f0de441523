"""Search: the fastest schedule and mapping of a program of given sizes.

``loop`` asks a strategy, has its proposals measured by a runner, and tells it the outcomes; the
``plan`` names the strategy, the ``start`` has the initial candidates, the ``result`` the outcomes
so far and the best. ``strategies`` are behind ask and tell in a registry; a ``runner`` measures on
this machine or on a cluster. ``folder`` and ``journal`` write a search down, so that one that was
ended goes on; ``settings`` are all that determines it, under ``conditions`` that a sweep has too.
A ``storage_trial`` decides by measurements which storage variant of a program is searched.
``sweep`` searches many programs, ``corpus`` collects measurements to learn from, ``planning``
searches states of decision processes.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.loop import SearchProgress, run_search, tune
    from polygym.search.plan import SearchPlan
    from polygym.search.result import SearchResult, read_choice
    from polygym.search.strategies.candidates import Candidate
    from polygym.search.strategies.registry import strategy_names
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "Candidate",
    "SearchPlan",
    "SearchProgress",
    "SearchResult",
    "read_choice",
    "run_search",
    "strategy_names",
    "tune",
]
