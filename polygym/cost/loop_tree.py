"""The loops of a candidate as a tree of numbers: what a network reads that walks over loops.

A planned tree's loops are the tree's nodes, statements its leaves; a loop around several statements
is one node. So for y = Ax, in its original order ::

    for i                    nodes    0: for i   1: S   2: for i   3: for j   4: T
      S: y[i] = 0            parents  -1         0      -1         2          3
    for i                    levels   0          1      0          1          2
      for j
        T: y[i] += ...

(here in the order of the text; the heaviest statement and its loops really come first). A loop's
row is its context (:func:`polygym.cost.columns.context`, AutoTVM's appendix A.2) in the loops of
the heaviest statement under it; a statement's row is what the compiler knows of it
(:mod:`polygym.cost.nest_columns`). Each kind of node has columns of its own, which are 0 in
the other's rows.

What things are called, and the order of statements and arrays, change nothing but the order of the
nodes: statements come by their cycles, arrays with equally many accesses by what is touched of
them. A tree has no more than :data:`MOST` nodes; the lightest statements of larger ones are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from polygym.compiler.codegen.trees.tree import Band, Leaf, Tree
from polygym.compiler.codegen.trees.tree import Sequence as Branches
from polygym.cost.columns import CONTEXT, KNOWLEDGE, Touched, context
from polygym.cost.nests import Floats
from polygym.pickles import pickled_by_name

COLUMNS = (*CONTEXT, "statement", *KNOWLEDGE)
"""What the columns of :attr:`LoopTree.rows` are: a loop's, and from "statement" on a leaf's."""

MOST = 128
"""Nodes of a tree."""

_LEAF = len(CONTEXT)
_CYCLES = KNOWLEDGE.index("cycles")

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """What is known of a statement of a planned tree."""

    name: str
    touched: Touched
    knowledge: Floats


@pickled_by_name
@dataclass(frozen=True, slots=True, eq=False)
class LoopTree:
    """A row for every node; its parent (-1 for none) stands before it, its level is how deep."""

    rows: NDArray[np.float32]
    parents: Numbers
    levels: Numbers

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return len(self.parents)


@pickled_by_name
@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The trees of many candidates, in one row of nodes; those of tree k begin at ``starts[k]``.

    Parents are counted within their tree.
    """

    rows: NDArray[np.float32]
    parents: Numbers
    levels: Numbers
    starts: Numbers

    @staticmethod
    def of(trees: Sequence[LoopTree]) -> Forest:
        """Put trees side by side."""
        if not trees:
            none = np.zeros(0, dtype=np.int64)
            return Forest(
                np.zeros((0, len(COLUMNS)), np.float32), none, none, np.zeros(1, np.int64)
            )
        return Forest(
            np.concatenate([one.rows for one in trees]),
            np.concatenate([one.parents for one in trees]),
            np.concatenate([one.levels for one in trees]),
            np.concatenate([[0], np.cumsum([len(one) for one in trees])]).astype(np.int64),
        )

    def __len__(self) -> int:
        """Return how many trees there are."""
        return len(self.starts) - 1

    def __getitem__(self, chosen: NDArray[np.int64]) -> Forest:
        """Return some of the trees, any as often as it is named."""
        counts = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        nodes = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], counts)
        return Forest(self.rows[nodes], self.parents[nodes], self.levels[nodes], starts)

    @property
    def candidates(self) -> Numbers:
        """The number of the tree to which each node belongs."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def loop_tree(tree: Tree, statements: Sequence[Statement]) -> LoopTree:
    """Return the loops of a planned tree, given what is known of its statements."""
    around = dict(_loops(tree, tuple(one.name for one in statements), (), iter(range(1 << 30))))
    rows: list[Floats] = []
    parents: list[int] = []
    levels: list[int] = []
    node_of: dict[int, int] = {}

    def add(row: Floats, parent: int, level: int) -> int:
        rows.append(row)
        parents.append(parent)
        levels.append(level)
        return len(rows) - 1

    # Who is heavier comes first, so that the first one under a loop is the heaviest under it.
    for one in sorted(statements, key=_weight, reverse=True):
        loops = around[one.name]
        if rows and len(rows) + 1 + sum(loop not in node_of for loop in loops) > MOST:
            continue
        parent = -1
        for level, (loop, row) in enumerate(zip(loops, _rows(one.touched), strict=True)):
            if loop not in node_of:
                node_of[loop] = add(row, parent, level)
            parent = node_of[loop]
        add(_leaf(one), parent, len(loops))
    return LoopTree(
        np.array(rows, dtype=np.float32),
        np.array(parents, dtype=np.int64),
        np.array(levels, dtype=np.int64),
    )


def _loops(
    tree: Tree, statements: tuple[str, ...], around: tuple[int, ...], fresh: Iterator[int]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield every statement with the numbers of the loops around it, outermost first."""
    match tree:
        case Leaf():
            yield from ((name, around) for name in statements)
        case Band(own, members, child):
            yield from _loops(child, own, (*around, *(next(fresh) for _ in members)), fresh)
        case Branches(branches):
            for branch in branches:
                yield from _loops(branch.child, branch.statements, around, fresh)
        case _:
            assert_never(tree)


def _weight(one: Statement) -> tuple[float, ...]:
    """Return by what statements are ordered: their cycles, then all else that is known of them.

    Sums over arrays differ in their last bits with the arrays' order, which is to say nothing.
    """
    known = one.knowledge.round(9)
    rows = _rows(one.touched).round(9)
    return (float(known[_CYCLES]), *known.tolist(), *rows.ravel().tolist())


def _leaf(one: Statement) -> Floats:
    row = np.zeros(len(COLUMNS))
    row[_LEAF] = 1.0
    row[_LEAF + 1 :] = one.knowledge
    return row


@lru_cache(maxsize=4096)
def _rows(seen: Touched) -> Floats:
    """Return the rows of the loops around a statement."""
    rows = np.zeros((len(seen.nest.lengths), len(COLUMNS)))
    rows[:, :_LEAF] = context(seen)
    return rows


__all__ = ["COLUMNS", "MOST", "Forest", "LoopTree", "Statement", "loop_tree"]
