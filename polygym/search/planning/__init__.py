"""Searches for the least cost over any system of states and steps: terms, graphs, schedules.

``protocol`` says what a system is, ``searches`` calls them by name: ``astar`` (with a value
function, or greedy without), ``mcts``, and the ``simple_searches``: beam, breadth first, random
walks. What each saw is a ``search_graph``, of which value functions learn. ``episode_system`` has
environments searched; ``gc_thresholds`` keeps Python's collector from looking at all of it again
and again.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.search.planning.protocol import (
        PlanningLimits,
        PlanningResult,
        RewriteSystem,
        ValueFunction,
    )
    from polygym.search.planning.search_graph import SearchGraph
    from polygym.search.planning.searches import ALGORITHMS, explore, search
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "ALGORITHMS",
    "PlanningLimits",
    "PlanningResult",
    "RewriteSystem",
    "SearchGraph",
    "ValueFunction",
    "explore",
    "search",
]
