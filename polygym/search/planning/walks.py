"""Random walks: from the start on any step, until the horizon, and from the start again."""

from typing import TypeVar

import numpy as np

from polygym.search.planning.protocol import PlanningLimits, RewriteSystem
from polygym.search.planning.search_graph import SearchGraph

State = TypeVar("State")


def random_walks(
    system: RewriteSystem[State], start: State, plan: PlanningLimits, rng: np.random.Generator
) -> SearchGraph[State]:
    """Return what walks from a state came through, as many steps in all as states may be seen."""
    seen = SearchGraph(system, plan.horizon)
    seen.add(start, plan.horizon)
    steps = plan.max_states - 1
    while steps > 0:
        number = 0
        for left in range(plan.horizon - 1, -1, -1):
            successors = system.successors(seen.states[number])
            if not successors or steps <= 0:
                break
            steps -= 1
            step = int(rng.integers(len(successors)))
            other = seen.number_of(successors[step])
            if other is None:
                other = seen.add(successors[step], left, number, step)
            elif seen.steps_left[other] < left:
                seen.reach(other, left, number, step)
            seen.children[number] = (*seen.children.get(number, ()), other)
            number = other
        else:
            continue
        if number == 0:
            break
    return seen
