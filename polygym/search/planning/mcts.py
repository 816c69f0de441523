"""Monte Carlo tree search, as Algorithm 3 of *Knossos: Compiling AI with AI* has it.

A simulation goes down from the start along

    argmax over s' of  X(s') / n(s') + β √(ln n(s) / (n(s') + 1)),

as long as states have been visited and steps are left; from there it goes on at random, s' being
drawn with the weight exp(α (c(s) - c(s') + V(s'))), V what a value function expects behind s' (0
without one). What it found is c(s₀) less the least cost on the way that was drawn, and is added to
X of every state on the way down, whose visits n grow by one. States are shared: one that is reached
in two ways has one X and one n. Of states that were never visited, X / n is 0.

Example, α = 0 and no value function: both parts are those of UCT with random play-outs.
"""

from math import log, sqrt
from typing import Generic, TypeVar

import numpy as np

from polygym.search.planning import protocol
from polygym.search.planning.search_graph import SearchGraph

State = TypeVar("State")

_IDLE = 200
"""How many simulations that see nothing new end the search."""


def mcts(
    system: protocol.RewriteSystem[State],
    start: State,
    plan: protocol.PlanningLimits,
    rng: np.random.Generator,
    value: protocol.ValueFunction[State] | None = None,
    *,
    alpha: float = 5.0,
    beta: float = 0.5,
) -> SearchGraph[State]:
    """Return what was explored."""
    tree: _Tree[State] = _Tree(system, plan, rng, value, alpha, beta)
    root = tree.seen.add(start, plan.horizon)
    tree.note_values([root])
    idle = 0
    while len(tree.seen.states) < plan.max_states and idle < _IDLE:
        before = len(tree.seen.states)
        tree.simulate(root)
        idle = idle + 1 if len(tree.seen.states) == before else 0
    return tree.seen


class _Tree(Generic[State]):
    def __init__(
        self,
        system: protocol.RewriteSystem[State],
        plan: protocol.PlanningLimits,
        rng: np.random.Generator,
        value: protocol.ValueFunction[State] | None,
        alpha: float,
        beta: float,
    ) -> None:
        self.seen: SearchGraph[State] = SearchGraph(system, plan.horizon)
        self._plan, self._dice, self._value = plan, rng, value
        self._alpha, self._beta = alpha, beta
        self._sums: dict[int, float] = {}
        self._visits: dict[int, int] = {}
        self._expected: dict[int, list[float]] = {}

    def note_values(self, numbers: list[int]) -> None:
        """Ask the value function of new states."""
        if self._value is not None and numbers:
            states = [self.seen.states[number] for number in numbers]
            horizon = self._plan.horizon
            values = protocol.check_values(self._value(states, horizon), len(numbers), horizon)
            self._expected.update(zip(numbers, values.tolist(), strict=True))

    def simulate(self, root: int) -> None:
        """Go down, go on at random, and tell the states on the way down what was found."""
        seen, left = self.seen, self._plan.horizon
        way, at = [root], root
        while left > 0 and self._visits.get(at, 0) > 0:
            children = self._children(at, left)
            if not children:
                break
            at = self._chosen(at, children)
            way.append(at)
            left -= 1
        least = seen.costs[at]
        while left > 0:
            children = self._children(at, left)
            if not children:
                break
            at = self._drawn(at, children, left - 1)
            least = min(least, seen.costs[at])
            left -= 1
        saved = seen.costs[root] - least
        for number in way:
            self._sums[number] = self._sums.get(number, 0.0) + saved
            self._visits[number] = self._visits.get(number, 0) + 1

    def _children(self, number: int, left: int) -> tuple[int, ...]:
        seen = self.seen
        if number not in seen.children:
            new, _ = seen.expand(number, left - 1, self._plan.max_states)
            self.note_values(new)
        for step, other in enumerate(seen.children[number]):
            if seen.steps_left[other] < left - 1:
                seen.reach(other, left - 1, number, step)
        return seen.children[number]

    def _chosen(self, number: int, children: tuple[int, ...]) -> int:
        eager = log(self._visits[number])
        scores = []
        for child in children:
            visits = self._visits.get(child, 0)
            mean = self._sums[child] / visits if visits else 0.0
            scores.append(mean + self._beta * sqrt(eager / (visits + 1)))
        best = max(scores)
        return children[int(self._dice.choice([i for i, s in enumerate(scores) if s == best]))]

    def _drawn(self, number: int, children: tuple[int, ...], left: int) -> int:
        seen = self.seen
        has_value, cost = self._value is not None, seen.costs[number]
        futures = [self._expected[child][left] if has_value else 0.0 for child in children]
        pairs = zip(children, futures, strict=True)
        hopes = np.array([cost - seen.costs[child] + future for child, future in pairs])
        weights = np.exp(self._alpha * (hopes - hopes.max()))
        return children[int(self._dice.choice(len(children), p=weights / weights.sum()))]
