"""Classes settled from the cheapest on, as Dijkstra settles places.

A node's value is its cost and those of the classes that it needs, added up (what a tree costs) or
the dearest of them (what it costs at least, whatever is shared); a class has the least value of its
nodes. Both are the least solution of these equations, found in one pass (Knuth's generalisation of
Dijkstra's algorithm), also where classes need each other: a class is only ever had by classes that
were settled before it.

A node of 1 over classes of 3 and 5: the tree costs 9, and no answer costs less than 6.

What any choice costs at least, without a solver.

A node needs all its children, each of which is paid for at least once; but two children may share
everything they need. So it costs at least the node and the dearest of its children's bounds; a
class costs at least the least of its nodes' (:mod:`polygym.rewrite.extraction.derivation_costs`).

Two children of 3 and 5 under a node of 1: at least 6. Both together cost 9 if they share nothing,
and 6 if the dear one contains the cheap one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush

from polygym.rewrite.extraction.choices import ExtractionChoices


class CostAggregation(Enum):
    """What becomes of the classes that a node needs."""

    SUM = "sum"
    DEAREST = "dearest"


class ClassUses:
    """Who belongs to which class and who needs it: what passes over a choice have in common."""

    def __init__(self, choices: ExtractionChoices) -> None:
        """Look through the choices once."""
        self.choices = choices
        self.owners = [0] * len(choices.costs)
        """Node: its class."""
        for name, nodes in enumerate(choices.members):
            for node in nodes:
                self.owners[node] = name
        self.users: list[list[int]] = [[] for _ in choices.members]
        """Class: the nodes that need it."""
        for node, needs in enumerate(choices.children):
            for child in needs:
                self.users[child].append(node)


@dataclass(frozen=True, slots=True)
class DerivedCosts:
    """What came out."""

    values: list[float]
    """Class: its value, infinite for those that nothing settles."""
    nodes: list[int]
    """Class: the node that it was settled by, -1 if none."""
    last: list[int]
    """Node: the dearest class that it needs, -1 if it needs none or one that was not settled."""


def derive_costs(
    needing: ClassUses, costs: Sequence[float], value: CostAggregation
) -> DerivedCosts:
    """Return the values of all classes under costs of nodes."""
    children, owners, users = needing.choices.children, needing.owners, needing.users
    waiting = [len(needs) for needs in children]
    values = [math.inf] * len(users)
    chosen = [-1] * len(users)
    last = [-1] * len(children)
    is_sum = value is CostAggregation.SUM
    heap = [(costs[node], node) for node, count in enumerate(waiting) if not count]
    heapify(heap)
    while heap:
        least, node = heappop(heap)
        name = owners[node]
        if chosen[name] >= 0:
            continue
        chosen[name], values[name] = node, least
        for user in users[name]:
            waiting[user] -= 1
            if not waiting[user]:  # the class that came last is the dearest
                last[user] = name
                below = sum([values[child] for child in children[user]]) if is_sum else least
                heappush(heap, (costs[user] + below, user))
    return DerivedCosts(values, chosen, last)


def cost_lower_bound(choices: ExtractionChoices) -> float:
    """Return what the root costs at least."""
    if not choices.members:
        return 0.0
    least = derive_costs(ClassUses(choices), choices.costs, CostAggregation.DEAREST).values[0]
    return 0.0 if least == math.inf else least
