"""The loops of a candidate as a tree of numbers: what a network reads that walks over loops.

A planned tree's loops are the tree's nodes, statements its leaves; a loop around several statements
is one node. So for y = Ax, in its original order ::

    for i                    nodes    0: for i   1: S   2: for i   3: for j   4: T
      S: y[i] = 0            parents  -1         0      -1         2          3
    for i                    levels   0          1      0          1          2
      for j
        T: y[i] += ...

(here in the order of the text; the heaviest statement and its loops really come first). A loop's
row is its context (:func:`polygym.cost.features.loops.column_names.context_rows`, AutoTVM's
appendix A.2) in the loops of the heaviest statement under it; a statement's row is what the
compiler knows of it (:mod:`polygym.cost.features.candidates.nest_vectors`). Each kind of node has
columns of its own, which are 0 in the other's rows.

What things are called, and the order of statements and arrays, change nothing but the order of the
nodes: statements come by their cycles, arrays with equally many accesses by what is touched of
them. A tree has no more than :data:`MAX_NODES` nodes; the lightest statements of larger ones are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from polygym.codegen.tree.ir import Band, Leaf, Tree
from polygym.codegen.tree.ir import SequenceNode as Branches
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.cost.features.loops.column_names import CONTEXT_COLUMNS, NestFootprint, context_rows
from polygym.cost.features.loops.nests import Floats
from polygym.pickling import pickle_by_name

NODE_COLUMNS = (*CONTEXT_COLUMNS, "statement", *NEST_COLUMNS)
"""What the columns of :attr:`LoopTree.rows` are: a loop's, and from "statement" on a leaf's."""

MAX_NODES = 128
"""Nodes of a tree."""

_FIRST_LEAF_COLUMN = len(CONTEXT_COLUMNS)
_CYCLES = NEST_COLUMNS.index("cycles")

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class StatementLeaf:
    """What is known of a statement of a planned tree."""

    name: str
    footprint: NestFootprint
    nest_columns: Floats


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class LoopTree:
    """A row for every node; its parent (-1 for none) stands before it, its level is how deep."""

    rows: NDArray[np.float32]
    parents: Numbers
    levels: Numbers

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return len(self.parents)


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class LoopForest:
    """The trees of many candidates, in one row of nodes; those of tree k begin at ``starts[k]``.

    Parents are counted within their tree.
    """

    rows: NDArray[np.float32]
    parents: Numbers
    levels: Numbers
    starts: Numbers

    @staticmethod
    def of(trees: Sequence[LoopTree]) -> LoopForest:
        """Put trees side by side."""
        if not trees:
            none = np.zeros(0, dtype=np.int64)
            return LoopForest(
                np.zeros((0, len(NODE_COLUMNS)), np.float32), none, none, np.zeros(1, np.int64)
            )
        return LoopForest(
            np.concatenate([loop_tree.rows for loop_tree in trees]),
            np.concatenate([tree.parents for tree in trees]),
            np.concatenate([tree.levels for tree in trees]),
            np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.int64),
        )

    def __len__(self) -> int:
        """Return how many trees there are."""
        return len(self.starts) - 1

    def __getitem__(self, chosen: NDArray[np.int64]) -> LoopForest:
        """Return some of the trees, any as often as it is named."""
        counts = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        nodes = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], counts)
        return LoopForest(self.rows[nodes], self.parents[nodes], self.levels[nodes], starts)

    @property
    def candidates(self) -> Numbers:
        """The number of the tree to which each node belongs."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def build_loop_tree(tree: Tree, statements: Sequence[StatementLeaf]) -> LoopTree:
    """Return the loops of a planned tree, given what is known of its statements."""
    around = dict(
        _loop_numbers(
            tree,
            tuple(statement_leaf.name for statement_leaf in statements),
            (),
            iter(range(1 << 30)),
        )
    )
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
    for leaf in sorted(statements, key=_statement_order, reverse=True):
        loops = around[leaf.name]
        if rows and len(rows) + 1 + sum(loop not in node_of for loop in loops) > MAX_NODES:
            continue
        parent = -1
        for level, (loop, row) in enumerate(zip(loops, _loop_rows(leaf.footprint), strict=True)):
            if loop not in node_of:
                node_of[loop] = add(row, parent, level)
            parent = node_of[loop]
        add(_leaf_row(leaf), parent, len(loops))
    return LoopTree(
        np.array(rows, dtype=np.float32),
        np.array(parents, dtype=np.int64),
        np.array(levels, dtype=np.int64),
    )


def _loop_numbers(
    tree: Tree, statements: tuple[str, ...], around: tuple[int, ...], fresh: Iterator[int]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield every statement with the numbers of the loops around it, outermost first."""
    match tree:
        case Leaf():
            yield from ((name, around) for name in statements)
        case Band(own, members, child):
            yield from _loop_numbers(child, own, (*around, *(next(fresh) for _ in members)), fresh)
        case Branches(branches):
            for branch in branches:
                yield from _loop_numbers(branch.child, branch.statements, around, fresh)
        case _:
            assert_never(tree)


def _statement_order(leaf: StatementLeaf) -> tuple[float, ...]:
    """Return by what statements are ordered: their cycles, then all else that is known of them.

    Sums over arrays differ in their last bits with the arrays' order, which is to say nothing.
    """
    known = leaf.nest_columns.round(9)
    rows = _loop_rows(leaf.footprint).round(9)
    return (float(known[_CYCLES]), *known.tolist(), *rows.ravel().tolist())


def _leaf_row(leaf: StatementLeaf) -> Floats:
    row = np.zeros(len(NODE_COLUMNS))
    row[_FIRST_LEAF_COLUMN] = 1.0
    row[_FIRST_LEAF_COLUMN + 1 :] = leaf.nest_columns
    return row


@lru_cache(maxsize=4096)
def _loop_rows(seen: NestFootprint) -> Floats:
    """Return the rows of the loops around a statement."""
    rows = np.zeros((len(seen.nest.lengths), len(NODE_COLUMNS)))
    rows[:, :_FIRST_LEAF_COLUMN] = context_rows(seen)
    return rows
