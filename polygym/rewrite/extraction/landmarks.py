"""Landmarks: sets of nodes of which every answer has one.

An integer program solved with fractions may pay for half of a class and use it twice. Let the root
be {0:[a], 0:[b]}, b = {0:[a], 10:[]} and a = {10:[]}. Half of the root through a, half through b,
and b through the same half of a: 5, where every answer costs 10. What it overlooks is a landmark:
without the node of a and the node of b that needs nothing there is no root at all, so one of the
two is chosen, and x + x′ ≥ 1 makes the fractions cost 10 as well.

A landmark is found by letting nodes in, one after the other, but for those that would let the root
be made of what is let in (:meth:`Making.minimal_cut`): those stay out, and they are a landmark,
since without them there is no root; with any single one of them let in too there would be.
Whatever the order, what comes out is one. Since making is step by step, from what needs nothing
up, this is as true where classes need each other in circles: an answer has no cycle.

:func:`find_landmarks` finds them one by one from the costs, as planners do (LM-cut; Helmert and
Domshlak, 2009): the nodes at the border of those classes from which the root is had for nothing are
a landmark. Each of its nodes then counts its cheapest less, so that another one comes next, until
the root is had for nothing. What was taken off adds up to a bound: a node's cost is taken off by
all its landmarks together at most once, and an answer pays for one node of each.

:func:`violated_landmarks` finds those that an answer in fractions does not obey.
"""

import math
import time
from collections.abc import Sequence

from polygym.rewrite.extraction.choices import ExtractionChoices
from polygym.rewrite.extraction.derivation_costs import (
    ClassUses,
    CostAggregation,
    DerivedCosts,
    derive_costs,
)

Landmark = tuple[int, ...]

_ZERO = 1e-9
"""What share of a cost counts as nothing."""
_MIN_FRACTION = 1e-6
"""How far from 0 and 1 a fraction is."""
_VIOLATION = 1e-3
"""By how much an answer must miss a landmark."""
_SEEDS = 64
"""How many landmarks are looked for at once, at most; fewer where there are many nodes."""
_MAX_AT_ONCE = 300_000
"""How many nodes are looked at for them, at most."""
_MAX_STEPS = 5_000_000
"""How many nodes are looked at for the landmarks of costs, at most; fractions tell of others."""


class ReachableClasses:
    """What can be made of which nodes."""

    def __init__(self, choices: ExtractionChoices) -> None:
        """Know who needs whom."""
        self.needing = ClassUses(choices)
        self._counts = [len(needs) for needs in choices.children]

    def minimal_cut(self, order: Sequence[int], deadline: float = math.inf) -> Landmark:
        """Return the nodes that would let the root be made when let in in this order.

        None of them if that takes longer than until a time of :func:`time.perf_counter`: a node
        that is let in may make thousands of classes that are taken back again.
        """
        owners, users = self.needing.owners, self.needing.users
        missing = self._counts[:]
        is_in, is_made = bytearray(len(owners)), bytearray(len(users))
        out: list[int] = []
        for node in order:
            is_in[node] = 1
            if missing[node] or is_made[owners[node]]:
                continue
            if time.perf_counter() >= deadline:
                return ()
            made = [owners[node]]
            is_made[made[0]] = 1
            place = 0
            while not is_made[0] and place < len(made):
                for user in users[made[place]]:
                    missing[user] -= 1
                    name = owners[user]
                    if not missing[user] and is_in[user] and not is_made[name]:
                        is_made[name] = 1
                        made.append(name)
                place += 1
            if is_made[0]:
                for name in made[:place]:
                    for user in users[name]:
                        missing[user] += 1
                for name in made:
                    is_made[name] = 0
                is_in[node] = 0
                out.append(node)
        return tuple(sorted(out))


def find_landmarks(needing: ClassUses, deadline: float) -> tuple[float, list[Landmark]]:
    """Return a bound of what the root costs, and the landmarks that it was found by."""
    left = list(needing.choices.costs)
    total, result = 0.0, []
    whole = None
    for _ in range(1 + _MAX_STEPS // (1 + len(left))):
        if time.perf_counter() >= deadline:
            break
        seen = derive_costs(needing, left, CostAggregation.DEAREST)
        whole = seen.values[0] if whole is None else whole
        if seen.values[0] <= whole * _ZERO:
            break
        border = _zero_cost_border(needing, seen, left)
        least = min(left[node] for node in border)
        for node in border:
            left[node] -= least
        total += least
        result.append(tuple(sorted(border)))
    return total, result


def _zero_cost_border(needing: ClassUses, seen: DerivedCosts, costs: Sequence[float]) -> list[int]:
    """Return the nodes at the border of the classes from which the root is had for nothing.

    Each node is looked at as a step from the dearest class that it needs to its own. Some node of
    an answer steps over the border: else the root would stand on nothing.
    """
    members, owners, last = needing.choices.members, needing.owners, seen.last
    zone = {0}
    stack = [0]
    while stack:
        for node in members[stack.pop()]:
            if costs[node] <= 0.0 and last[node] >= 0 and last[node] not in zone:
                zone.add(last[node])
                stack.append(last[node])
    steps: dict[int, list[int]] = {}
    for node, needs in enumerate(needing.choices.children):
        if last[node] >= 0 or not needs:
            steps.setdefault(last[node], []).append(node)
    border: list[int] = []
    before = {-1}
    stack = [-1]
    while stack:
        for node in steps.get(stack.pop(), ()):
            name = owners[node]
            if name in zone:
                border.append(node)
            elif name not in before:
                before.add(name)
                stack.append(name)
    return border


def violated_landmarks(
    reachable: ReachableClasses, values: Sequence[float], deadline: float = math.inf
) -> list[Landmark]:
    """Return landmarks of which an answer in fractions has less than one.

    For each fraction, the nodes that the answer has come first, that one comes behind them, and
    those that it does not have last. When time is up there are those that were found until then.
    """
    costs = reachable.needing.choices.costs
    order = sorted(range(len(costs)), key=lambda node: (-round(values[node], 6), costs[node], node))
    had = [node for node in order if values[node] > _MIN_FRACTION]
    rest = order[len(had) :]
    seeds = [node for node in had if values[node] < 1 - _MIN_FRACTION and costs[node] > 0]
    seeds.sort(key=lambda node: -costs[node] * values[node])
    result: dict[Landmark, None] = {}
    for seed in seeds[: min(_SEEDS, 1 + _MAX_AT_ONCE // (1 + len(costs)))]:
        mark = reachable.minimal_cut(
            [*(node for node in had if node != seed), seed, *rest], deadline
        )
        if not mark:
            break
        if sum(values[node] for node in mark) < 1 - _VIOLATION:
            result[mark] = None
    return list(result)
