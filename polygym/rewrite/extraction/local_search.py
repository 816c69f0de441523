"""Local search on a choice: parts that several classes could share are tried, one after the other.

Greedy's choice counts a part as often as it is used, so that it never sees what two classes gain by
one node that both could be had from (the halves of a merged product). Two moves do:

- *share*: for a class d, all classes of the choice that have a node which needs d choose it;
- *switch*: one class chooses another of its nodes.

A move that makes the choice cheaper, and closes no cycle, is kept; the search ends when no move is,
or when time is up. The answer is where the integer program starts from, and what is returned where
that ends without one; it proves nothing.
"""

from __future__ import annotations

import math
import time

from polygym.rewrite.extraction.choices import ExtractionChoices

__all__ = ["improve_choice"]

_MIN_GAIN = 1e-9
"""By how much a cost must be less to be less, relative to it."""


def improve_choice(
    choices: ExtractionChoices, chosen: dict[int, int], deadline: float
) -> dict[int, int]:
    """Return a choice that is no dearer; ``chosen`` has a node for every class and no cycle."""
    members, children = choices.members, choices.children
    needing: list[list[tuple[int, int]]] = [[] for _ in members]
    for name, nodes in enumerate(members):
        for node in sorted(nodes, key=lambda one: choices.costs[one]):
            for child in children[node]:
                if all(user != name for user, _ in needing[child][-1:]):
                    needing[child].append((name, node))
    best = dict(chosen)
    least = _choice_cost(choices, best)
    reached = set(choices.reached(best))
    is_better = True
    while is_better and time.perf_counter() < deadline:
        is_better = False
        for name in range(len(members)):
            if time.perf_counter() >= deadline:
                break
            users = {one: node for one, node in needing[name] if one in reached}
            moves = [users] if len(users) > 1 else []
            if name in reached:
                moves += [{name: node} for node in members[name] if node != best[name]]
            for move in moves:
                if all(best[one] == node for one, node in move.items()):
                    continue
                tried = {**best, **move}
                cost = _choice_cost(choices, tried)
                if cost < least * (1 - _MIN_GAIN):
                    best, least, is_better = tried, cost, True
                    reached = set(choices.reached(best))
    return best


def _choice_cost(choices: ExtractionChoices, chosen: dict[int, int]) -> float:
    """Return what a choice costs, infinity if it has a cycle."""
    children, costs = choices.children, choices.costs
    total = 0.0
    state = bytearray(len(choices.members))  # 1: on the path, 2: done
    stack = [0]
    while stack:
        name = stack[-1]
        if state[name] == 2:
            stack.pop()
            continue
        node = chosen[name]
        if state[name] == 1:
            state[name] = 2
            stack.pop()
            continue
        state[name] = 1
        total += costs[node]
        for child in children[node]:
            if state[child] == 1:
                return math.inf
            if state[child] == 0:
                stack.append(child)
    return total
