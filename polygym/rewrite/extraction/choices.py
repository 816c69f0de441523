"""Choices of extraction, without those that cannot matter.

Left out, without a loss for the cheapest term:

- nodes that no term of the root has, that cost infinitely much, or that need their own class;
- whatever is below a class that can be had for nothing: its cheapest tree is chosen, which needs
  nothing but such classes and so closes no cycle with the others;
- a node beside one that costs no more and needs no class that it does not need itself.

Classes settled from the cheapest on, as Dijkstra settles places.

A node's value is its cost and those of the classes that it needs, added up (what a tree costs) or
the dearest of them (what it costs at least, whatever is shared); a class has the least value of its
nodes. Both are the least solution of these equations, found in one pass (Knuth's generalisation of
Dijkstra's algorithm), also where classes need each other: a class is only ever had by classes that
were settled before it.

A node of 1 over classes of 3 and 5: the tree costs 9, and no answer costs less than 6.

What any choice costs at least, without a solver.

A node needs all its children, each of which is paid for at least once; but two children may share
everything they need. So it costs at least the node and the dearest of its children's bounds; a
class costs at least the least of its nodes' (:mod:`polygym.rewrite.extraction.choices`).

Two children of 3 and 5 under a node of 1: at least 6. Both together cost 9 if they share nothing,
and 6 if the dear one contains the cheap one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush

from polygym.rewrite.extraction.costs import NodeClasses


@dataclass(frozen=True, slots=True)
class ExtractionChoices:
    """Classes and nodes, both numbered from 0; the root is class 0."""

    nodes: tuple[int, ...]
    """The node of the e-graph."""
    costs: tuple[float, ...]
    """Node: its cost."""
    children: tuple[tuple[int, ...], ...]
    """Node: the different classes that it needs."""
    members: tuple[tuple[int, ...], ...]
    """Class: its nodes; at least one."""
    names: tuple[int, ...]
    """Class: its name in the e-graph."""
    free: Mapping[int, int]
    """The nodes of the classes that can be had for nothing, by names in the e-graph."""

    def reached(self, chosen: Mapping[int, int]) -> list[int]:
        """Return the classes that the root needs where a node is chosen for each class."""
        seen = {0: None} if self.members else {}
        stack = [*seen]
        while stack:
            for child in self.children[chosen[stack.pop()]]:
                if child not in seen:
                    seen[child] = None
                    stack.append(child)
        return list(seen)

    def cost(self, chosen: Mapping[int, int]) -> float:
        """Return what a choice costs."""
        return math.fsum(self.costs[chosen[name]] for name in self.reached(chosen))

    def of_graph(self, graph: NodeClasses, chosen: Mapping[int, int]) -> dict[int, int]:
        """Return a choice that is given by names; for what was left out, what is as good."""
        order = {name: place for place, name in enumerate(self.names)}
        places = {node: place for place, node in enumerate(self.nodes)}
        answer: dict[int, int] = {}
        for name, nodes in enumerate(self.members):
            node = chosen[self.names[name]]
            if node in places:
                answer[name] = places[node]
            else:
                needs = {order.get(child, -1) for child in graph.children_of(node)}
                answer[name] = min(
                    (node for node in nodes if needs.issuperset(self.children[node])),
                    key=lambda member: self.costs[member],
                )
        return answer

    def in_graph(self, chosen: Mapping[int, int]) -> dict[int, int]:
        """Return a choice by names in the e-graph, with what can be had for nothing."""
        named = {self.names[name]: self.nodes[node] for name, node in chosen.items()}
        return {**self.free, **named}


def extraction_choices(
    graph: NodeClasses,
    root: int,
    costs: Sequence[float],
    chosen: dict[int, int],
    trees: dict[int, float],
) -> ExtractionChoices:
    """Return what there is to choose, given the cheapest trees; the root must have one."""
    keys, find, members = graph.keys, graph.find, graph.members
    free = {name: chosen[name] for name, cost in trees.items() if cost == 0.0}
    root = find(root)
    kept: dict[int, list[tuple[int, frozenset[int]]]] = {}
    stack = [] if root in free else [root]
    while stack:
        name = stack.pop()
        if name in kept:
            continue
        rows: list[tuple[int, frozenset[int]]] = []
        for node in members[name]:
            if costs[node] != math.inf:
                needs = frozenset(keys[node][1:])
                if name not in needs and all(child in trees for child in needs):
                    rows.append((node, needs.difference(free)))
        kept[name] = _undominated_nodes(rows, costs, chosen[name])
        for _, needs in kept[name]:
            stack.extend(sorted((need for need in needs if need not in kept), reverse=True))
    order = {name: place for place, name in enumerate(kept)}
    nodes = [node for rows in kept.values() for node, _ in rows]
    children = [
        tuple(sorted(order[child] for child in needs))
        for rows in kept.values()
        for _, needs in rows
    ]
    numbers = iter(range(len(nodes)))
    return ExtractionChoices(
        tuple(nodes),
        tuple(costs[node] for node in nodes),
        tuple(children),
        tuple(tuple(next(numbers) for _ in rows) for rows in kept.values()),
        tuple(kept),
        free,
    )


def strong_components(edges: list[list[int]]) -> list[int]:
    """Return the number of the strongly connected component of each place of a graph.

    >>> strong_components([[1], [0, 2], []])
    [1, 1, 0]
    """
    count = len(edges)
    result = [-1] * count
    order = [-1] * count
    low = [0] * count
    path: list[int] = []
    time = components_found = 0
    for start in range(count):
        if order[start] >= 0:
            continue
        stack = [(start, 0)]
        while stack:
            place, at = stack.pop()
            if at == 0:
                order[place] = low[place] = time
                time += 1
                path.append(place)
            elif result[edges[place][at - 1]] < 0:
                low[place] = min(low[place], low[edges[place][at - 1]])
            ahead = edges[place]
            while at < len(ahead):
                child = ahead[at]
                at += 1
                if order[child] < 0:
                    stack += [(place, at), (child, 0)]
                    break
                if result[child] < 0:
                    low[place] = min(low[place], order[child])
            else:
                if low[place] == order[place]:
                    while True:
                        member = path.pop()
                        result[member] = components_found
                        if member == place:
                            break
                    components_found += 1
    return result


def _undominated_nodes(
    rows: list[tuple[int, frozenset[int]]], costs: Sequence[float], chosen: int
) -> list[tuple[int, frozenset[int]]]:
    """Return the nodes beside which no other is at least as good; of equals the chosen one.

    Nodes are kept under the least class that they need, so that those of one class in tens of
    thousands are not all compared.
    """
    kept: list[tuple[int, frozenset[int]]] = []
    by_least: dict[int, list[frozenset[int]]] = {}
    for node, needs in sorted(
        rows, key=lambda row: (costs[row[0]], len(row[1]), row[0] != chosen, row[0])
    ):
        if any(other <= needs for name in (-1, *needs) for other in by_least.get(name, ())):
            continue
        kept.append((node, needs))
        by_least.setdefault(min(needs, default=-1), []).append(needs)
    return sorted(kept, key=lambda row: row[0])


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
