"""Regions of a graph that stay as they are, drawn as one box each.

A node joins the regions of its operands unless a path would then leave a region and come back: the
graph of boxes has no circle. What changed, its neighbours, inputs and results stay boxes of their
own::

    a → b → d        b and d are one region, with c only if c is none that changed:
    a → c → d        else d would come before and after c
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from polygym.rewrite.term import Term

_MIN_NODES = 3
"""Nodes from which on a region is one box."""


def equal_regions(nodes: Sequence[Term], kept: Collection[Term]) -> list[tuple[Term, ...]]:
    """Return the regions among nodes, which come children first, without those that are kept.

    >>> from polygym.graphs.ir.build import graph_input, relu, tanh
    >>> x = graph_input("x", 2)
    >>> chain = [x, relu(x), tanh(relu(x)), relu(tanh(relu(x)))]
    >>> [[str(node.head) for node in region] for region in equal_regions(chain, {x})]
    [['relu', 'tanh', 'relu']]
    """
    contracted = _ContractedGraph()
    alone = set(kept)
    for node in nodes:
        contracted.add(node)
        if node in alone:
            continue
        for child in node.children:
            if child in contracted.group and child not in alone:
                contracted.merge(child, node)
    return [
        tuple(members)
        for members in contracted.members.values()
        if len(members) >= _MIN_NODES and members[0] not in alone
    ]


class _ContractedGraph:
    """Groups of nodes by number, and the groups that each takes operands from."""

    def __init__(self) -> None:
        self.group: dict[Term, int] = {}
        self.members: dict[int, list[Term]] = {}
        self._above: dict[int, set[int]] = {}
        self._below: dict[int, set[int]] = {}

    def add(self, node: Term) -> None:
        """Add a node, in a group of its own, below its operands."""
        number = len(self.group)
        self.group[node], self.members[number] = number, [node]
        self._above[number] = {self.group[part] for part in node.children if part in self.group}
        self._below[number] = set()
        for other in self._above[number]:
            self._below[other].add(number)

    def merge(self, node: Term, other: Term) -> None:
        """Make the groups of two nodes one, unless that makes a circle."""
        one, two = self.group[node], self.group[other]
        if one == two or self._is_around(one, two) or self._is_around(two, one):
            return
        for member in self.members[two]:
            self.group[member] = one
        self.members[one] += self.members.pop(two)
        for links, back in ((self._above, self._below), (self._below, self._above)):
            for third in links.pop(two):
                back[third].discard(two)
                if third != one:
                    links[one].add(third)
                    back[third].add(one)

    def _is_around(self, one: int, two: int) -> bool:
        """Whether a path leads from a group to another through a third one."""
        waiting = [group for group in self._above[two] if group != one]
        seen = set(waiting)
        while waiting:
            group = waiting.pop()
            if group == one:
                return True
            new = self._above[group] - seen
            seen |= new
            waiting += new
        return False


def with_neighbours(nodes: Sequence[Term], chosen: Collection[Term]) -> set[Term]:
    """Return chosen nodes, and what is one edge away from them."""
    known, result = set(nodes), set(chosen)
    for node in nodes:
        for child in node.children:
            if child in known and (node in chosen or child in chosen):
                result |= {node, child}
    return result


def region_lines(region: Sequence[Term]) -> list[str]:
    """Return what a region has: how many nodes, and the most frequent operators.

    >>> from polygym.graphs.ir.build import graph_input, relu, tanh
    >>> region_lines([relu(graph_input("x", 2)), tanh(graph_input("x", 2))])
    ['2 equal nodes', '1 relu, 1 tanh']
    """
    counts = Counter(str(node.head) for node in region).most_common()
    words = [f"{count} {head}" for head, count in counts[:3]]
    more = sum(count for _, count in counts[3:])
    if more:
        words.append(f"{more} more")
    return [f"{len(region)} equal nodes", ", ".join(words)]
