"""Terms as graphs for a network: nodes of kinds, and edges of nine types.

A node is a part where it stands, so that what is there twice is two nodes; between identical ones
there are edges too. From a node to its first, second, third and any other child goes an edge each,
and one of another type back: eight types, and *is-identical* is the ninth, in both directions,
between a part and the first one that is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygym.rewrite.term import Term
from polygym.terms.language.nodes import kind_of
from polygym.terms.language.operators import OPERATORS

__all__ = ["EDGE_TYPES", "KINDS", "Batch", "Graphs"]

KINDS = ("constant", "variable", "bound", "truth", "lam", *OPERATORS)
EDGE_TYPES = 9

_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_IDENTICAL = 8
_MOST = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Several graphs side by side.

    ``kinds`` of the nodes; ``types``, ``sources`` and ``targets`` of the edges; ``graphs`` has the
    number of the graph that each node is of.
    """

    kinds: NDArray[np.int64]
    types: NDArray[np.int64]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    graphs: NDArray[np.int64]
    count: int


class Graphs:
    """Makes graphs of terms, and remembers them."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Term, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}

    def batch(self, terms: Sequence[Term]) -> Batch:
        """Return the graphs of terms side by side."""
        kinds, edges, graphs, start = [], [], [], 0
        for number, one in enumerate(terms):
            mine, its = self._of(one)
            kinds.append(mine)
            moved = its.copy()
            moved[1:] += start
            edges.append(moved)
            graphs.append(np.full(len(mine), number, np.int64))
            start += len(mine)
        types, sources, targets = np.concatenate(edges, axis=1)
        return Batch(
            np.concatenate(kinds), types, sources, targets, np.concatenate(graphs), len(terms)
        )

    def _of(self, root: Term) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        found = self._known.get(root)
        if found is None:
            if len(self._known) > _MOST:
                self._known.clear()
            found = self._known[root] = _graph(root)
        return found


def _graph(root: Term) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    kinds: list[int] = []
    edges: list[tuple[int, int, int]] = []
    first: dict[Term, int] = {}
    stack: list[tuple[Term, int, int]] = [(root, -1, 0)]
    while stack:
        one, parent, at = stack.pop()
        here = len(kinds)
        kinds.append(_NUMBERS[kind_of(one)])
        if parent >= 0:
            place = min(at, 3)
            edges += [(place, parent, here), (4 + place, here, parent)]
        same = first.setdefault(one, here)
        if same != here:
            edges += [(_IDENTICAL, same, here), (_IDENTICAL, here, same)]
        stack.extend((child, here, place) for place, child in enumerate(one.children))
    return np.array(kinds), np.array(edges, np.int64).reshape(-1, 3).T
