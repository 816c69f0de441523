"""Difference of a graph after rewriting: the nodes that only one of the two graphs has.

A term holds all that it is computed from, so whatever comes after a change is another term, and
comparing terms alone would call nearly everything changed. Here two nodes correspond as well when
they do the same (operator, literals, tensors known ahead, shape) and

- they give a result of the same name, or
- are taken in the same place by nodes that correspond, or
- take nodes that correspond, and are alone in doing the same with them, or
- are alone in their graphs in doing the same with the same weight.
"""

from collections import defaultdict
from collections.abc import Hashable
from typing import TypeAlias

from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Term

_NodeKey: TypeAlias = tuple[Hashable, ...]


def changed_nodes(before: Graph, after: Graph) -> tuple[frozenset[Term], frozenset[Term]]:
    """Return the nodes of one graph that nothing in the other corresponds to, of each.

    >>> from polygym.graphs.ir.build import concat, graph_input, matmul, relu, split, tanh, weight
    >>> x, v, w = graph_input("x", 2, 3), weight("v", 3, 4), weight("w", 3, 5)
    >>> first, second = split(1, 4, matmul(x, concat(1, [v, w])))
    >>> one = Graph.of("g", relu(matmul(x, v)), tanh(matmul(x, w)))
    >>> other = Graph.of("g", relu(first), tanh(second))
    >>> for nodes in changed_nodes(one, other):
    ...     print(*sorted(str(node.head) for node in nodes))
    matmul matmul
    concat2 matmul split split0 split1
    """
    pairs = _Correspondence(before, after)
    for (_, term), (_, other) in zip(before.outputs, after.outputs, strict=False):
        pairs.add(term, other)
    pairs.add_by_weights()
    pairs.add_by_what_is_in_both()
    return (
        frozenset(pairs.left.nodes.keys() - pairs.partners.keys()),
        frozenset(pairs.right.nodes.keys() - set(pairs.partners.values())),
    )


class _GraphIndex:
    """A graph, what its nodes do, and what takes them."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = {node: _node_key(graph, node) for node in graph.nodes()}
        self.takers: dict[Term, list[Term]] = defaultdict(list)
        for term in self.nodes:
            for child in dict.fromkeys(term.children):
                self.takers[child].append(term)


class _Correspondence:
    """Nodes of two graphs that correspond."""

    def __init__(self, before: Graph, after: Graph) -> None:
        self.left, self.right = _GraphIndex(before), _GraphIndex(after)
        self.partners = {term: term for term in self.left.nodes if term in self.right.nodes}
        self._taken = set(self.partners)

    def add(self, one: Term, other: Term) -> None:
        """Take two nodes for the same if they do the same, and go on from there."""
        waiting = [(one, other)]
        while waiting:
            one, other = waiting.pop()
            if one in self.partners or other in self._taken:
                continue
            if self.left.nodes.get(one) is None or self.left.nodes[one] != self.right.nodes.get(
                other
            ):
                continue
            self.partners[one] = other
            self._taken.add(other)
            waiting.extend(zip(one.children, other.children, strict=True))
            waiting.extend(self._takers_alike(one, other))

    def add_by_weights(self) -> None:
        """Take nodes for the same that do what nothing else does with a weight."""
        left, right = (self._by_weights(side) for side in (self.left, self.right))
        for kind, nodes in left.items():
            others = right.get(kind, [])
            if len(nodes) == len(others) == 1:
                self.add(nodes[0], others[0])

    def add_by_what_is_in_both(self) -> None:
        """Take nodes for the same that are alone in what they do with one and the same node."""
        for term in [one for one, other in self.partners.items() if one is other]:
            for pair in self._takers_alike(term, term):
                self.add(*pair)

    def _takers_alike(self, one: Term, other: Term) -> list[tuple[Term, Term]]:
        kinds: dict[_NodeKey, tuple[list[Term], list[Term]]] = defaultdict(lambda: ([], []))
        for taker in self.left.takers[one]:
            if taker not in self.partners:
                kinds[self.left.nodes[taker]][0].append(taker)
        for taker in self.right.takers[other]:
            if taker not in self._taken:
                kinds[self.right.nodes[taker]][1].append(taker)
        return [
            (some[0], others[0]) for some, others in kinds.values() if len(some) == len(others) == 1
        ]

    def _by_weights(self, side: _GraphIndex) -> dict[_NodeKey, list[Term]]:
        terms: dict[_NodeKey, list[Term]] = defaultdict(list)
        for term, kind in side.nodes.items():
            if any(child.head == "weight" for child in term.children):
                terms[kind].append(term)
        return terms


def _node_key(graph: Graph, one: Term) -> _NodeKey:
    """Return what a node does: all but the tensors that come from inputs."""

    def is_fixed(child: Term) -> bool:
        data = graph.data(child)
        return not child.children or (isinstance(data, TensorType) and data.constant)

    fixed = tuple(child if is_fixed(child) else None for child in one.children)
    return (one.head, fixed, graph.data(one))
