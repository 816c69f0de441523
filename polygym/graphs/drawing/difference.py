"""Difference of a graph after rewriting: nodes that are gone, new, altered or moved.

A term holds all that it is computed from, so whatever comes after a change is another term, and
comparing terms alone would call nearly everything changed. Here two nodes correspond as well when
they do the same (operator, literals, tensors known ahead, shape) and

- they give a result of the same name, or
- are taken in the same place by nodes that correspond, or
- take nodes that correspond, and are alone in doing the same with them, or
- are alone in their graphs in doing the same with the same weight.

Of the others, two are one *altered* node that are alone in having the same operator with the same
weights, or with the same predecessors. *Predecessors* are the nearest nodes above that are in both
graphs, weights apart. Nodes that correspond and have other predecessors have *moved*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from polygym.graphs.ir.graph import Graph
from polygym.graphs.operators.types import TensorType
from polygym.rewrite.term import Term

_NodeKey: TypeAlias = tuple[Hashable, ...]


class NodeChange(Enum):
    """What became of a node."""

    GONE = "gone"
    NEW = "new"
    ALTERED = "altered"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """The nodes of both graphs that changed, and how."""

    before: Mapping[Term, NodeChange]
    after: Mapping[Term, NodeChange]


def graph_difference(before: Graph, after: Graph) -> GraphDifference:
    """Return what became of the nodes of a graph.

    >>> from polygym.graphs.ir.build import conv, graph_input, relu, weight
    >>> image = graph_input("x", 1, 3, 8, 8)
    >>> one = Graph.of("g", relu(conv(image, weight("w", 4, 3, 1, 1), activation="none")))
    >>> other = Graph.of("g", conv(image, weight("w", 4, 3, 1, 1), activation="relu"))
    >>> for side in (lambda found: found.before, lambda found: found.after):
    ...     print({str(node.head): change.value for node, change in
    ...            side(graph_difference(one, other)).items()})
    {'conv': 'altered', 'relu': 'gone'}
    {'conv': 'altered'}
    """
    pairs = _corresponding(before, after)
    altered: set[Term] = set()
    while found := _alike(pairs, _weights_of) or _alike(pairs, lambda _, above: above):
        for node, other in found.items():
            if pairs.left.nodes[node] == pairs.right.nodes[other]:
                pairs.add(node, other)
            elif pairs.add_altered(node, other):
                altered.add(node)
    own = pairs.partners
    survivors = _Predecessors(own), _Predecessors(set(own.values()))
    changes: list[dict[Term, NodeChange]] = [{}, {}]
    for node in pairs.left.nodes:
        if node not in own:
            changes[0][node] = NodeChange.GONE
        elif node in altered:
            changes[0][node] = changes[1][own[node]] = NodeChange.ALTERED
        elif {own[above] for above in survivors[0].of(node)} != survivors[1].of(own[node]):
            changes[0][node] = changes[1][own[node]] = NodeChange.MOVED
    known = set(own.values())
    changes[1].update((node, NodeChange.NEW) for node in pairs.right.nodes if node not in known)
    return GraphDifference(*changes)


class _Predecessors:
    """The nearest nodes above a node that are in both graphs, inputs among them."""

    def __init__(self, kept: Iterable[Term]) -> None:
        self._kept = set(kept)
        self._known: dict[Term, frozenset[Term]] = {}

    def of(self, node: Term) -> frozenset[Term]:
        """Return them; those of gone nodes stand for these."""
        waiting = [node]
        while waiting:
            last = waiting[-1]
            above = [part for part in last.children if part.children and part.head != "weight"]
            left = [
                child for child in above if child not in self._kept and child not in self._known
            ]
            if left and last not in self._known:
                waiting += left
                continue
            waiting.pop()
            self._known[last] = frozenset().union(
                *({child} if child in self._kept else self._known[child] for child in above)
            )
        return self._known[node]


def _alike(
    pairs: _Correspondence, key_of: Callable[[Term, frozenset[Term]], Hashable]
) -> dict[Term, Term]:
    """Return pairs of a gone and a new node that are alone in having an operator and a key.

    The key is of a node and its predecessors; one of nothing is none.
    """
    own = pairs.partners
    known = set(own.values())
    survivors = _Predecessors(own), _Predecessors(known)
    kinds: dict[Hashable, tuple[list[Term], list[Term]]] = defaultdict(lambda: ([], []))
    for node in (node for node in pairs.left.nodes if node not in own):
        above = frozenset(own[part] for part in survivors[0].of(node))
        if key := key_of(node, above):
            kinds[node.head, key][0].append(node)
    for node in (node for node in pairs.right.nodes if node not in known):
        if key := key_of(node, survivors[1].of(node)):
            kinds[node.head, key][1].append(node)
    return {some[0]: others[0] for some, others in kinds.values() if len(some) == len(others) == 1}


def _weights_of(node: Term, _: frozenset[Term]) -> tuple[Term, ...]:
    return tuple(child for child in node.children if child.head == "weight" and child.children)


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
    pairs = _corresponding(before, after)
    return (
        frozenset(pairs.left.nodes.keys() - pairs.partners.keys()),
        frozenset(pairs.right.nodes.keys() - set(pairs.partners.values())),
    )


def _corresponding(before: Graph, after: Graph) -> _Correspondence:
    pairs = _Correspondence(before, after)
    for (_, term), (_, other) in zip(before.outputs, after.outputs, strict=False):
        pairs.add(term, other)
    pairs.add_by_weights()
    pairs.add_by_what_is_in_both()
    return pairs


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

    def add_altered(self, one: Term, other: Term) -> bool:
        """Take two nodes for one that was altered, and go on from there; say whether they are."""
        if one in self.partners or other in self._taken:
            return False
        self.partners[one] = other
        self._taken.add(other)
        for pair in self._takers_alike(one, other):
            self.add(*pair)
        return True

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


def _node_key(graph: Graph, node: Term) -> _NodeKey:
    """Return what a node does: all but the tensors that come from inputs."""

    def is_fixed(child: Term) -> bool:
        data = graph.data(child)
        return not child.children or (isinstance(data, TensorType) and data.constant)

    fixed = tuple(child if is_fixed(child) else None for child in node.children)
    return (node.head, fixed, graph.data(node))
