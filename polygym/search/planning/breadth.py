"""Everything that can be reached, level by level: what other searches are compared with."""

from typing import TypeVar

from polygym.search.planning.protocol import PlanningLimits, RewriteSystem
from polygym.search.planning.search_graph import SearchGraph

State = TypeVar("State")


def breadth_first(
    system: RewriteSystem[State], start: State, plan: PlanningLimits
) -> tuple[SearchGraph[State], bool]:
    """Return all states within the horizon, and whether these are all, or there were too many."""
    seen = SearchGraph(system, plan.horizon)
    level = [seen.add(start, plan.horizon)]
    for left in range(plan.horizon - 1, -1, -1):
        following: list[int] = []
        for number in level:
            found: list[int] = []
            for step, state in enumerate(system.successors(seen.states[number])):
                other = seen.number_of(state)
                if other is None:
                    if len(seen.states) >= plan.max_states:
                        return seen, False
                    other = seen.add(state, left, number, step)
                    following.append(other)
                found.append(other)
            seen.children[number] = tuple(found)
        level = following
        if not level:
            break
    return seen, True
