"""A beam: of all that comes next the best few are kept, level by level."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TypeVar

from polygym.search.planning.protocol import (
    PlanningLimits,
    RewriteSystem,
    ValueFunction,
    check_values,
)
from polygym.search.planning.search_graph import SearchGraph

State = TypeVar("State")
Item = TypeVar("Item")


def levels(
    start: Sequence[Item],
    children: Callable[[Item], Iterable[Item]],
    worth: Callable[[Item], float],
    width: int,
) -> Iterator[list[Item]]:
    """Yield the ``width`` children that are worth most, of equal ones the first, level by level.

    The others are let go of as soon as there are enough that are worth more.

    >>> list(levels([1], lambda n: [2 * n, 2 * n + 1] if n < 8 else [], lambda n: -n, 2))
    [[2, 3], [4, 5], [8, 9]]
    """
    kept = list(start)
    while True:
        every = (child for one in kept for child in children(one))
        found = nlargest(width, every, key=worth)
        if not found:
            return
        kept = found
        yield kept


def beam(
    system: RewriteSystem[State],
    start: State,
    plan: PlanningLimits,
    width: int = 16,
    value: ValueFunction[State] | None = None,
) -> SearchGraph[State]:
    """Return what was explored; a level keeps the states with the least cost less their value."""
    seen = SearchGraph(system, plan.horizon)
    hoped: dict[int, float] = {}

    def children(number: int) -> list[int]:
        left = seen.steps_left[number] - 1
        if left < 0:
            return []
        new: list[int] = []
        found: list[int] = []
        for step, state in enumerate(system.successors(seen.states[number])):
            other = seen.number_of(state)
            if other is None:
                if len(seen.states) >= plan.max_states:
                    break
                other = seen.add(state, left, number, step)
                new.append(other)
            found.append(other)
        seen.children[number] = tuple(found)
        future = [0.0] * len(new)
        if value is not None and new:
            states = [seen.states[one] for one in new]
            future = check_values(value(states, plan.horizon), len(new), plan.horizon)[
                :, left
            ].tolist()
        for one, more in zip(new, future, strict=True):
            hoped[one] = more - seen.costs[one]
        return new

    for _ in levels([seen.add(start, plan.horizon)], children, hoped.__getitem__, width):
        pass
    return seen
