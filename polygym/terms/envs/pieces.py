"""Terms written out as arrays, put together from those of their parts.

What an agent sees of a term is the rows of its nodes in the order of their text, and which rules
apply where. A step changes the nodes on the way up to the root alone; the arrays of all other parts
are known, and those of a node are its own row and those of its children, with the numbers of rows
moved on. Identical parts and names are numbered at the end (:meth:`Pieces.rows`), for the whole
term.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import numpy as np

from polygym.episodes.tables import Array
from polygym.rewrite.term import Term
from polygym.terms.language.nodes import TRUE, binds, index_of, kind_of, name_of
from polygym.terms.language.operators import OPERATORS
from polygym.terms.rewriter import Rewriter

__all__ = ["COLUMNS", "KINDS", "Piece", "Pieces"]

KINDS = ("constant", "variable", "bound", "truth", "lam", *OPERATORS)
"""The kinds of nodes; a row has the number of its own, from 1."""

COLUMNS = ("kind", "part_of", "place", "same_as", "bound_by", "name")

_NUMBERS = {kind: number for number, kind in enumerate(KINDS, 1)}
_PART_OF, _PLACE, _SAME, _BOUND, _NAME = 1, 2, 3, 4, 5
_MOST = 200_000


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The arrays of a term.

    ``rows`` has the columns, with -1 for what is outside; ``nodes`` numbers of the nodes, equal for
    identical ones; ``offers`` a line for each rule that applies: row, rule, how many more nodes
    there are then; ``open`` are variables whose binder is outside: row and how far away.
    """

    rows: Array
    values: Array
    nodes: Array
    offers: Array
    open: tuple[tuple[int, int], ...]


class Pieces:
    """Makes the arrays of terms, and remembers those of their parts."""

    def __init__(self, rewriter: Rewriter) -> None:
        """Know nothing yet."""
        self._rewriter = rewriter
        self._known: dict[Term, Piece] = {}
        self._numbers: dict[Term, int] = {}
        self._names: dict[str, int] = {}

    def of(self, root: Term) -> Piece:
        """Return the arrays of a term, whose own row has no node above it."""
        known = self._known
        if len(known) > _MOST:
            known.clear()
        stack = [root]
        while stack:
            one = stack[-1]
            missing = [child for child in one.children if child not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if one not in known:
                known[one] = self._made(one)
        return known[root]

    def rows(self, piece: Piece) -> Array:
        """Return the rows of a whole term, with identical parts and names numbered."""
        rows = piece.rows.copy()
        _, first, inverse = np.unique(piece.nodes, return_index=True, return_inverse=True)
        rows[:, _SAME] = first[inverse]
        named = rows[:, _NAME]
        where = np.flatnonzero(named)
        if len(where):
            order: dict[int, int] = {}
            rows[where, _NAME] = [
                order.setdefault(one, len(order) + 1) for one in named[where].tolist()
            ]
        return rows

    def _made(self, one: Term) -> Piece:
        kind = kind_of(one)
        row = [_NUMBERS[kind], -1, 0, 0, -1, 0]
        number = self._numbers.setdefault(one, len(self._numbers))
        if not one.children:
            if kind == "variable":
                row[_NAME] = self._names.setdefault(name_of(one), len(self._names) + 1)
            index = index_of(one)
            return Piece(
                np.array([row], np.int32),
                np.array([_value(one, kind)], np.float32),
                np.array([number], np.int64),
                np.zeros((0, 3), np.int32),
                ((0, index),) if index >= 0 else (),
            )
        own, *links = self._rewriter.offers(one)
        rows, values, nodes = [np.array([row], np.int32)], [_NOTHING], [np.array([number])]
        offers = [(0, rule, more) for rule, more in own]
        below: list[Array] = []
        open_ones: list[tuple[int, int]] = []
        start = 1
        for at, child in enumerate(one.children):
            piece = self._known[child]
            part = piece.rows.copy()
            part[:, _PART_OF] += start
            part[0, _PART_OF], part[0, _PLACE] = 0, at
            part[:, _BOUND] += np.where(part[:, _BOUND] >= 0, start, 0)
            is_bound = binds(one, at)
            for where, index in piece.open:
                if is_bound and index == 0:
                    part[where, _BOUND] = 0
                else:
                    open_ones.append((where + start, index - is_bound))
            rows.append(part)
            values.append(piece.values)
            nodes.append(piece.nodes)
            offers += [(start, rule, more) for rule, more in links[at]]
            if len(piece.offers):
                moved = piece.offers.copy()
                moved[:, 0] += start
                below.append(moved)
            start += len(part)
        mine = np.array(offers, np.int32).reshape(-1, 3)
        return Piece(
            np.concatenate(rows),
            np.concatenate(values),
            np.concatenate(nodes),
            np.concatenate([mine, *below]) if below else mine,
            tuple(open_ones),
        )


_NOTHING = np.zeros(1, np.float32)


def _value(one: Term, kind: str) -> float:
    """Return what stands for a constant: its signed logarithm, since its size may be anything."""
    if kind == "truth":
        return float(one is TRUE)
    if not isinstance(one.head, int | float):
        return 0.0
    size = log2(1.0 + abs(float(one.head)))
    return size if one.head >= 0 else -size
