"""A* over rewrites, as *Knossos: Compiling AI with AI* has it.

A state s with t steps left is expanded in the order of

    f(s, t) = V(s, t) + c(s₀) - c(s),

what a value function expects to be saved within t steps, and what has been saved already; equal
ones in the order in which they were found. A state is opened again when it is reached with more
steps left than before. States are expanded until at least ``batch`` new ones are there, of which V
is asked at once. Without a value function V is 0: best first, which the paper calls greedy.

Example, costs 4 → 5 → 3 in a row and beside them 4 → 3.5: with V = 0 the second is taken first and
the search goes on, since 3.5 leads nowhere; a horizon of 1 never sees the 3.
"""

from heapq import heappop, heappush
from typing import TypeVar

from polygym.search.planning import protocol
from polygym.search.planning.search_graph import SearchGraph

State = TypeVar("State")


def astar(
    system: protocol.RewriteSystem[State],
    start: State,
    plan: protocol.PlanningLimits | None = None,
    value: protocol.ValueFunction[State] | None = None,
    *,
    is_eager: bool = False,
) -> tuple[SearchGraph[State], bool]:
    """Return what was explored from a state on, and whether that is all there is in the horizon.

    An eager search ends where something has been saved, and no state that waits promises more.
    """
    plan = protocol.PlanningLimits() if plan is None else plan
    seen = SearchGraph(system, plan.horizon)
    waiting: list[tuple[float, int, int, int]] = []
    expected: list[list[float]] = []
    count = 0

    def put(number: int) -> None:
        nonlocal count
        left = seen.steps_left[number]
        if left > 0:
            saved = seen.costs[0] - seen.costs[number]
            future = expected[number][left] if value is not None else 0.0
            heappush(waiting, (-(saved + future), count, number, left))
            count += 1

    def put_new(numbers: list[int]) -> None:
        if value is not None and numbers:
            values = value([seen.states[number] for number in numbers], plan.horizon)
            expected.extend(protocol.check_values(values, len(numbers), plan.horizon).tolist())
        for number in numbers:
            put(number)

    put_new([seen.add(start, plan.horizon)])
    is_complete = True
    while waiting:
        saved = seen.costs[0] - seen.costs[seen.best]
        if is_eager and saved > 0.0 and saved >= -waiting[0][0]:
            is_complete = False
            break
        new: list[int] = []
        again: list[int] = []
        while waiting and len(new) < plan.batch:
            _, _, number, left = heappop(waiting)
            if left != seen.steps_left[number]:
                continue  # it was reached with more steps left in the meantime
            is_complete = _expand(seen, number, new, again, plan.max_states) and is_complete
            # Numbers in ``again`` may still wait for their first values: those are put below.
            if not is_complete:
                break
        put_new(new)
        for reopened in set(again) - set(new):
            put(reopened)
        if not is_complete:
            break
    return seen, is_complete


def _expand(
    seen: SearchGraph[State], number: int, new: list[int], again: list[int], most: int
) -> bool:
    """Take note of what a state can become; return False where no more may be looked at."""
    left = seen.steps_left[number] - 1
    known = seen.children.get(number)
    if known is None:
        children: list[int] = []
        key, numbers, budgets = seen.system.key, seen.numbers, seen.steps_left
        for step, state in enumerate(seen.system.successors(seen.states[number])):
            other = numbers.get(key(state))
            if other is None:
                if len(budgets) >= most:
                    seen.children[number] = tuple(children)
                    return False
                other = seen.add(state, left, number, step)
                new.append(other)
            elif budgets[other] < left:
                seen.reach(other, left, number, step)
                again.append(other)
            children.append(other)
        seen.children[number] = tuple(children)
        return True
    for step, other in enumerate(known):
        if seen.steps_left[other] < left:
            seen.reach(other, left, number, step)
            again.append(other)
    return True
