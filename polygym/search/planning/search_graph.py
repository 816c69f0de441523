"""The states that a search has seen, as a graph, and what could have been reached from each.

The targets that a value function learns are read off it by dynamic programming. Let b(s, t) be the
least cost that was seen within t steps of s:

    b(s, 0) = c(s),    b(s, t) = min(b(s, t-1), min over successors s' that were seen of b(s',
    t-1)),

and the target is c(s) - b(s, t), a lower bound of the best reduction that there is.

Example: costs 4 → 5 → 3 in a row have the targets (0, 0, 1), (0, 2, 2), (0, 0, 0) for t = 0, 1, 2.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from polygym.search.planning.protocol import PlanningResult, RewriteSystem, Values

State = TypeVar("State")


@dataclass(slots=True)
class SearchGraph(Generic[State]):
    """States by number, with costs, how they were reached first, and with how many steps left."""

    system: RewriteSystem[State]
    horizon: int
    states: list[State] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    steps_left: list[int] = field(default_factory=list)
    parents: list[tuple[int, int]] = field(default_factory=list)
    children: dict[int, tuple[int, ...]] = field(default_factory=dict)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    best: int = 0

    def number_of(self, state: State) -> int | None:
        """Return the number of a state, None if it is new."""
        return self.numbers.get(self.system.key(state))

    def add(self, state: State, left: int, parent: int = -1, step: int = -1) -> int:
        """Take note of a new state, and return its number."""
        number = len(self.states)
        self.numbers[self.system.key(state)] = number
        self.states.append(state)
        self.costs.append(self.system.cost(state))
        self.steps_left.append(left)
        self.parents.append((parent, step))
        self._compare(number)
        return number

    def reach(self, number: int, left: int, parent: int, step: int) -> None:
        """Take note of a shorter way to a state."""
        self.steps_left[number] = left
        self.parents[number] = parent, step
        self._compare(number)

    def expand(self, number: int, left: int, most: int) -> tuple[list[int], bool]:
        """Take note of what a state can become, ``most`` states in all.

        Return the new states, which have so many steps left, and whether there was room for all.
        """
        new: list[int] = []
        children: list[int] = []
        is_whole = True
        for step, state in enumerate(self.system.successors(self.states[number])):
            other = self.number_of(state)
            if other is None:
                if len(self.states) >= most:
                    is_whole = False
                    break
                other = self.add(state, left, number, step)
                new.append(other)
            children.append(other)
        self.children[number] = tuple(children)
        return new, is_whole

    def _compare(self, number: int) -> None:
        mine, its = self.costs[number], self.costs[self.best]
        if mine < its or (mine == its and self.steps_left[number] > self.steps_left[self.best]):
            self.best = number

    def result(self, *, is_complete: bool = False) -> PlanningResult[State]:
        """Return the way to the best state."""
        states, steps = [self.states[self.best]], list[int]()
        at = self.best
        while self.parents[at][0] >= 0:
            at, step = self.parents[at]
            states.append(self.states[at])
            steps.append(step)
        return PlanningResult(
            tuple(reversed(states)),
            tuple(reversed(steps)),
            self.costs[0],
            self.costs[self.best],
            len(self.states),
            len(self.children),
            is_complete,
        )

    def targets(self) -> Values:
        """Return what a value function should have said: a row a state, a column for each t."""
        costs = np.array(self.costs)
        numbers = np.fromiter(self.children, np.int64, len(self.children))
        sources = np.repeat(numbers, [len(children) for children in self.children.values()])
        ends = np.array(
            [child for children in self.children.values() for child in children], np.int64
        )
        least = costs.copy()
        columns = [np.zeros_like(costs)]
        for _ in range(self.horizon):
            below = least.copy()
            if len(ends):
                np.minimum.at(below, sources, least[ends])
            least = below
            columns.append(costs - least)
        return np.stack(columns, axis=1)
