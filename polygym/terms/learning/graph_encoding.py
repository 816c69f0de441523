"""Terms as graphs for a network: nodes of kinds, and edges of nine types.

A node is a part where it stands, so that what is there twice is two nodes. From a node to its
first, second, third and any other child goes an edge each, and one of another type back: eight
types. The ninth, *is-identical*, is between any two nodes that are the same part, in both
directions; such nodes are kept as *classes*, since the others of a node are all of its class less
the node itself.

The rows of a term are those of its children behind its own, each with the distance to the row of
the node above it: so they need not change when they are moved, and are made once for every part
that there is, however many terms have it.

Example: (mul (add x 1) (add x 1)) has seven nodes in the order of the text, with the distances 0;
1, 1, 2; 4, 1, 2; three classes have two nodes each.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygym.errors import InputError
from polygym.rewrite.term import Term, memoized_value
from polygym.terms.language.nodes import kind_of, term_facts
from polygym.terms.language.operators import OPERATORS

KINDS = (*("constant", "zero", "one", "minus one", "variable", "bound", "truth", "lam"), *OPERATORS)
"""The kinds of nodes; of constants the three that rules name are kinds of their own."""

EDGE_TYPES, IDENTICAL = 9, 8

_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_CONSTANTS = {0.0: "zero", 1.0: "one", -1.0: "minus one"}
_ROW = struct.Struct("=iiii")
_PLACES = 4
_MOST_BYTES = 1 << 28
_SMALL = 600

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TermGraphBatch:
    """Several graphs side by side.

    ``kinds`` of the nodes; ``edges`` from sources to targets by type, but for those between
    identical nodes: ``identical_nodes`` are the nodes that have such, ``classes`` the number of the
    class of each. ``graphs`` has the number of the graph that each node is of.
    """

    kinds: Numbers
    edges: tuple[tuple[Numbers, Numbers], ...]
    identical_nodes: Numbers
    classes: Numbers
    graphs: Numbers
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of a term: kind, distance to the row above, place there, number of the part."""

    kind: int
    part: int
    size: int
    below: bytes

    def at(self, distance: int, place: int) -> bytes:
        return _ROW.pack(self.kind, distance, place, self.part) + self.below


class GraphEncoder:
    """Makes graphs of terms, and remembers the rows of their parts."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Term, _Rows] = {}
        self._bytes = 0

    def batch(self, terms: Sequence[Term]) -> TermGraphBatch:
        """Return the graphs of terms side by side."""
        if self._bytes > _MOST_BYTES:
            self._known.clear()
            self._bytes = 0
        rows = [self._known.get(term) or self._rows(term) for term in terms]
        data = b"".join([row.at(0, 0) for row in rows])
        kinds, distances, places, parts = (
            np.frombuffer(data, np.int32).reshape(-1, _PLACES).T.astype(np.int64)
        )
        graphs = np.repeat(np.arange(len(terms)), [row.size for row in rows])
        parts -= parts.min()
        alike, classes = _classes(graphs * (int(parts.max()) + 1) + parts)
        return TermGraphBatch(kinds, _edges(distances, places), alike, classes, graphs, len(terms))

    def _rows(self, node: Term) -> _Rows:
        if term_facts(node).nodes <= _SMALL:
            return memoized_value(node, self._known, self._of)
        return self._large(node)

    def _large(self, root: Term) -> _Rows:
        """Return the rows of a term in one go: those of all its parts would fill memory."""
        rows: list[bytes] = []
        parts: dict[Term, int] = {}
        stack = [(root, 0, 0)]
        while stack:
            term, parent, place = stack.pop()
            here = len(rows)
            part = -1 - parts.setdefault(term, len(parts))
            rows.append(_ROW.pack(_NUMBERS[_kind(term)], here - parent, place, part))
            below = [(child, here, min(at, _PLACES - 1)) for at, child in enumerate(term.children)]
            stack.extend(reversed(below))
        return _Rows(_NUMBERS[_kind(root)], -1, len(rows), b"".join(rows[1:]))

    def _of(self, node: Term) -> _Rows:
        below, size = [], 1
        for place, child in enumerate(node.children):
            rows = self._known[child]
            below.append(rows.at(size, min(place, _PLACES - 1)))
            size += rows.size
        joined = b"".join(below)
        self._bytes += len(joined)
        return _Rows(_NUMBERS[_kind(node)], len(self._known), size, joined)


def expect_width(width: int) -> None:
    """Refuse a network that kinds do not fit into.

    Raises:
        InputError: they do not.
    """
    if width < len(KINDS):
        raise InputError(f"a network's width: expected {len(KINDS)} or more, found {width}")


def _kind(node: Term) -> str:
    if node.children or not isinstance(node.head, int | float):
        return kind_of(node)
    return _CONSTANTS.get(node.head, "constant")


def _edges(distances: Numbers, places: Numbers) -> tuple[tuple[Numbers, Numbers], ...]:
    """Return sources and targets of the types: down to the four kinds of children, and up."""
    below = [np.flatnonzero((places == place) & (distances > 0)) for place in range(_PLACES)]
    above = [nodes - distances[nodes] for nodes in below]
    down = tuple(zip(above, below, strict=True))
    return (*down, *((lower, upper) for upper, lower in down))


def _classes(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the nodes whose key others have too, class by class, and the numbers of the classes.

    >>> nodes, classes = _classes(np.array([5, 3, 5, 4, 3, 5]))
    >>> nodes.tolist(), classes.tolist()
    ([1, 4, 0, 2, 5], [0, 0, 1, 1, 1])
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    runs = np.cumsum(is_first) - 1
    many = np.bincount(runs)[runs] > 1 if len(keys) else is_first
    _, classes = np.unique(runs[many], return_inverse=True)
    return order[many], classes.astype(np.int64)
