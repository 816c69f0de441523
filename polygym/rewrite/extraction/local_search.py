"""Local search on a choice: moves that make it cheaper, one after the other.

Greedy's choice counts a part as often as it is used, so that it never sees what two classes gain by
one node that both could be had from (the halves of a merged product). Two moves do:

- *share*: for a class d, all classes of the choice that have a node which needs d choose it;
- *switch*: one class chooses another of its nodes.

A move that makes the choice cheaper, and closes no cycle, is kept. After all moves were tried, the
classes that the root does not need choose anew: the cheapest tree in which what the root needs
costs nothing. The search ends when no move is kept, or when time is up. The answer is where the
integer program starts from, and what is returned where that ends without one; it proves nothing.

Each class counts the chosen nodes that need it, so that a move costs what it changes: a class whose
count falls to 0 gives back what it needs. Invariant: no choice of all classes has a cycle; so after
a move a cycle has a class that moved.
"""

import math
import time
from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from polygym.rewrite.extraction.choices import ClassUses, ExtractionChoices, strong_components

_MIN_GAIN = 1e-9
"""By how much a cost must be less to be less, relative to it."""
_MAX_PATH = 5000
"""How many classes are looked at for a cycle, at most; a move that needs more is not made."""


def improve_choice(
    choices: ExtractionChoices, chosen: Mapping[int, int], deadline: float
) -> dict[int, int]:
    """Return a choice that is no dearer; ``chosen`` has no cycle below the root."""
    if not choices.members or time.perf_counter() >= deadline:
        return dict(chosen)
    search = _LocalSearch(choices, chosen)
    is_better = True
    while is_better and time.perf_counter() < deadline:
        search.choose_unused()
        is_better = search.try_all_moves(deadline)
    return {name: node for name, node in enumerate(search.chosen) if node >= 0}


class _LocalSearch:
    """A choice, how often each class is needed in it, and its cost."""

    def __init__(self, choices: ExtractionChoices, chosen: Mapping[int, int]) -> None:
        self._needing = ClassUses(choices)
        self._choices = choices
        members, children = choices.members, choices.children
        edges = [sorted({child for node in nodes for child in children[node]}) for nodes in members]
        self._component = strong_components(edges)
        self._cheapest_users = self._nodes_by_need()
        self.chosen = [-1] * len(members)
        """Class: its node, -1 if it has none yet."""
        self._counts = [0] * len(members)
        for name in choices.reached(chosen):
            self.chosen[name] = chosen[name]
        self._cost = 0.0
        self._take(0)

    def choose_unused(self) -> None:
        """Choose the cheapest trees for the classes that the root does not need."""
        children, costs, owners = self._choices.children, self._choices.costs, self._needing.owners
        values = [0.0 if count else math.inf for count in self._counts]
        is_done = [count > 0 for count in self._counts]
        waiting = [sum(not is_done[child] for child in needs) for needs in children]
        heap = [
            (costs[node], node)
            for node, count in enumerate(waiting)
            if not count and not is_done[owners[node]]
        ]
        heapify(heap)
        while heap:
            value, node = heappop(heap)
            name = owners[node]
            if is_done[name]:
                continue
            is_done[name], values[name], self.chosen[name] = True, value, node
            for user in self._needing.users[name]:
                waiting[user] -= 1
                if not waiting[user] and not is_done[owners[user]]:
                    below = sum([values[child] for child in children[user]])
                    heappush(heap, (costs[user] + below, user))

    def try_all_moves(self, deadline: float) -> bool:
        """Try every move once; return whether one was kept."""
        chosen, costs = self.chosen, self._choices.costs
        self._cost = math.fsum(costs[chosen[name]] for name, n in enumerate(self._counts) if n)
        is_better = False
        for name, nodes in enumerate(self._choices.members):
            if time.perf_counter() >= deadline:
                break
            users = [
                (user, node) for user, node in self._cheapest_users[name] if self._counts[user]
            ]
            if len(users) > 1:
                is_better |= self._keep(users)
            for node in nodes:
                if not self._counts[name]:
                    break
                is_better |= self._keep([(name, node)])
        return is_better

    def _keep(self, move: list[tuple[int, int]]) -> bool:
        """Make a move, and take it back unless it makes the choice cheaper without a cycle."""
        before = [(name, self.chosen[name]) for name, node in move if self.chosen[name] != node]
        if not before or not all(self._is_possible(node) for _, node in move):
            return False
        cost = self._cost
        for name, node in move:
            self._switch(name, node)
        is_better = self._cost < cost * (1 - _MIN_GAIN)
        if is_better and not any(self._closes_cycle(name) for name, _ in move):
            return True
        for name, node in reversed(before):
            self._switch(name, node)
        self._cost = cost
        return False

    def _is_possible(self, node: int) -> bool:
        """Whether there is a node for each class that a node needs."""
        return all(self.chosen[child] >= 0 for child in self._choices.children[node])

    def _switch(self, name: int, node: int) -> None:
        """Have a class choose another node; what was needed before is given back last."""
        before = self.chosen[name]
        if node == before:
            return
        if not self._counts[name]:
            self.chosen[name] = node
            return
        children, costs = self._choices.children, self._choices.costs
        for child in children[node]:
            self._take(child)
        self._cost += costs[node] - costs[before]
        self.chosen[name] = node
        for child in children[before]:
            self._give_back(child)

    def _take(self, name: int) -> None:
        stack = [name]
        while stack:
            current = stack.pop()
            self._counts[current] += 1
            if self._counts[current] == 1:
                node = self.chosen[current]
                self._cost += self._choices.costs[node]
                stack += self._choices.children[node]

    def _give_back(self, name: int) -> None:
        stack = [name]
        while stack:
            current = stack.pop()
            self._counts[current] -= 1
            if not self._counts[current]:
                node = self.chosen[current]
                self._cost -= self._choices.costs[node]
                stack += self._choices.children[node]

    def _closes_cycle(self, name: int) -> bool:
        """Whether a class needs itself, or that takes too long to say."""
        children, chosen, component = self._choices.children, self.chosen, self._component
        stack, seen = [name], {name}
        while stack:
            for child in children[chosen[stack.pop()]]:
                if child == name:
                    return True
                if component[child] == component[name] and child not in seen:
                    seen.add(child)
                    stack.append(child)
            if len(seen) > _MAX_PATH:
                return True
        return False

    def _nodes_by_need(self) -> list[list[tuple[int, int]]]:
        """Return for each class the classes that can need it, with the cheapest node that does."""
        costs, children = self._choices.costs, self._choices.children
        result: list[list[tuple[int, int]]] = [[] for _ in self._choices.members]
        for name, nodes in enumerate(self._choices.members):
            for node in sorted(nodes, key=lambda member: costs[member]):
                for child in children[node]:
                    if not result[child] or result[child][-1][0] != name:
                        result[child].append((name, node))
        return result
