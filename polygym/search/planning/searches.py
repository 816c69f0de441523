"""The searches by name, one call for all of them."""

from typing import TypeVar

import numpy as np

from polygym.errors import InputError
from polygym.search.planning import protocol
from polygym.search.planning.astar import astar
from polygym.search.planning.gc_thresholds import reduced_gc
from polygym.search.planning.mcts import mcts
from polygym.search.planning.search_graph import SearchGraph
from polygym.search.planning.simple_searches import beam, breadth_first, random_walks

State = TypeVar("State")

ALGORITHMS = {
    "astar": "the best sum of what is saved and what a value function expects, first",
    "mcts": "a tree of simulations, with random ends",
    "greedy": "the least cost first",
    "random": "random walks",
    "beam": "the best few of every level",
    "breadth": "everything, level by level",
}


def explore(
    name: str,
    system: protocol.RewriteSystem[State],
    start: State,
    plan: protocol.PlanningLimits | None = None,
    value: protocol.ValueFunction[State] | None = None,
    seed: int = 0,
) -> tuple[SearchGraph[State], bool]:
    """Return what a search explored, and whether there was nothing else within the horizon.

    Raises:
        InputError: there is no such search.
    """
    plan, rng = plan or protocol.PlanningLimits(), np.random.default_rng(seed)
    with reduced_gc():
        match name:
            case "astar":
                return astar(system, start, plan, value)
            case "greedy":
                return astar(system, start, plan)
            case "mcts":
                return mcts(system, start, plan, rng, value), False
            case "random":
                return random_walks(system, start, plan, rng), False
            case "beam":
                return beam(system, start, plan, value=value), False
            case "breadth":
                return breadth_first(system, start, plan)
    raise InputError(f"a search: expected one of {', '.join(ALGORITHMS)}, found {name!r}")


def search(
    name: str,
    system: protocol.RewriteSystem[State],
    start: State,
    plan: protocol.PlanningLimits | None = None,
    value: protocol.ValueFunction[State] | None = None,
    seed: int = 0,
) -> protocol.PlanningResult[State]:
    """Return the best state that a search found, and the way there."""
    seen, is_complete = explore(name, system, start, plan, value, seed)
    return seen.result(is_complete=is_complete)
