"""Simple searches: beam, breadth first, random walks.

A beam: of all that comes next the best few are kept, level by level.

Everything that can be reached, level by level: what other searches are compared with.

Random walks: from the start on any step, until the horizon, and from the start again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from typing import TypeVar

import numpy as np

from polygym.search.planning import protocol
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
        every = (child for parent in kept for child in children(parent))
        best = nlargest(width, every, key=worth)
        if not best:
            return
        kept = best
        yield kept


def beam(
    system: protocol.RewriteSystem[State],
    start: State,
    plan: protocol.PlanningLimits,
    width: int = 16,
    value: protocol.ValueFunction[State] | None = None,
) -> SearchGraph[State]:
    """Return what was explored; a level keeps the states with the least cost less their value."""
    seen = SearchGraph(system, plan.horizon)
    hoped: dict[int, float] = {}

    def children(number: int) -> list[int]:
        left = seen.steps_left[number] - 1
        if left < 0:
            return []
        new, _ = seen.expand(number, left, plan.max_states)
        future = [0.0] * len(new)
        if value is not None and new:
            states = [seen.states[child] for child in new]
            values = protocol.check_values(value(states, plan.horizon), len(new), plan.horizon)
            future = values[:, left].tolist()
        hoped.update(
            (child, more - seen.costs[child]) for child, more in zip(new, future, strict=True)
        )
        return new

    for _ in levels([seen.add(start, plan.horizon)], children, hoped.__getitem__, width):
        pass
    return seen


def breadth_first(
    system: protocol.RewriteSystem[State], start: State, plan: protocol.PlanningLimits
) -> tuple[SearchGraph[State], bool]:
    """Return all states within the horizon, and whether these are all, or there were too many."""
    seen = SearchGraph(system, plan.horizon)
    level = [seen.add(start, plan.horizon)]
    for left in range(plan.horizon - 1, -1, -1):
        following: list[int] = []
        for number in level:
            new, is_whole = seen.expand(number, left, plan.max_states)
            if not is_whole:
                del seen.children[number]
                return seen, False
            following += new
        level = following
        if not level:
            break
    return seen, True


def random_walks(
    system: protocol.RewriteSystem[State],
    start: State,
    plan: protocol.PlanningLimits,
    rng: np.random.Generator,
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
