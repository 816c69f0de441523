"""Searches for the least cost over any system of states and steps: terms, graphs, schedules.

``protocol`` says what a system is, ``searches`` calls them by name: ``astar`` (with a value
function, or greedy without), ``mcts``, ``beam``, random ``walks``, ``breadth`` first. What each saw
is ``explored``, of which value functions learn. ``episodes`` has environments searched; ``memory``
keeps Python's collector from looking at all of it again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.search.planning.explored import Explored
    from polygym.search.planning.protocol import Found, Plan, RewriteSystem, ValueFunction
    from polygym.search.planning.searches import SEARCHES, explore, search
else:
    __getattr__ = lazily(
        __name__,
        {
            "explored": ("Explored",),
            "protocol": ("Found", "Plan", "RewriteSystem", "ValueFunction"),
            "searches": ("SEARCHES", "explore", "search"),
        },
    )

__all__ = [
    "SEARCHES",
    "Explored",
    "Found",
    "Plan",
    "RewriteSystem",
    "ValueFunction",
    "explore",
    "search",
]
