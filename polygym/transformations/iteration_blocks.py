"""Legality of steps that run some iterations of a loop together, exact for their number.

Unroll-and-jam by c runs blocks of c iterations of a loop inside the loops in it, and a vector of c
lanes is such a block too. Two instances change places only if they are in one block. So the order
that the step asks for (:mod:`polygym.transformations.mapping_steps`) must respect only the pairs

    δ = 0 along the loops around,   0 < δ < c·s along the loop,

where s is the distance of two neighbouring iterations, 2 for a counter 2i. Blocks may begin
anywhere: such a pair is in one block for some beginning. Example, A[i][j] = A[i - 4][j + 1] with
the distance (4, -1)::

    unroll_jam L1 4    no pair is in one block            legal
    unroll_jam L1 8    the pair runs at j - 1 before j    illegal

The generators of a dependence decide most questions: a vertex is a pair, and where every vertex has
δ ≥ c·s no pair is in a block. isl decides the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import partial

from polygym.errors import LimitError
from polygym.lru_cache import LruCache
from polygym.poly.counter_bounds import LoopRows, counter_stride
from polygym.poly.dependences import Dependence
from polygym.poly.distance import DependencePairs, all_pairs
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import Violation, first_violation
from polygym.transformations.legality import (
    Array,
    DependenceGenerators,
    LegalityTables,
    is_between,
)
from polygym.transformations.loop_tree import Loop, LoopTree

_MOST_BLOCKS = 256


@dataclass(frozen=True, slots=True)
class IterationBlock:
    """So many iterations of a loop, wherever they begin."""

    loop: str
    count: int


class BlockLegality:
    """The pairs of a program's dependences in blocks, and whether an order breaks one."""

    def __init__(self, tables: LegalityTables) -> None:
        self._tables = tables
        self._strides: LruCache[object, int] = LruCache(_MOST_BLOCKS)
        self._known: LruCache[object, DependencePairs] = LruCache(_MOST_BLOCKS)

    def is_legal(self, tree: LoopTree, block: IterationBlock, order: LoopTree) -> bool:
        """Whether an order of instances respects all pairs of a block; False if unknown."""
        try:
            span, loop = self._span(tree, block), _loop(tree, block)
            undecided = set()
            for table in self._tables.tables:
                if is_between(table.dependence, loop):
                    verdict = _decided(table, tree.paths[block.loop], loop, span, order)
                    if verdict is False:
                        return False
                    if verdict is None:
                        undecided.add(table.dependence)
            return first_violation(self._pairs(tree, block, undecided), order.schedule) is None
        except LimitError:
            return False

    def violation(self, tree: LoopTree, block: IterationBlock, order: LoopTree) -> Violation | None:
        """Return a pair of a block that an order breaks.

        Raises:
            LimitError: isl would take too long.
        """
        every = {table.dependence for table in self._tables.tables}
        return first_violation(self._pairs(tree, block, every), order.schedule)

    def _pairs(
        self, tree: LoopTree, block: IterationBlock, wanted: Set[Dependence]
    ) -> Iterator[DependencePairs]:
        """Yield the pairs of some dependences that are in one block."""
        span, loop = self._span(tree, block), _loop(tree, block)
        around = tree.paths[block.loop]
        for pair in all_pairs(self._tables.scop):
            if pair.dependence in wanted and is_between(pair.dependence, loop):
                key = (pair, _rows_of(around, loop), span)
                yield self._known.get(key, partial(_in_block, pair, tree, loop, span))

    def _span(self, tree: LoopTree, block: IterationBlock) -> int:
        """Return the distance along the loop from which on two iterations share no block."""
        rows = _rows_of(tree.paths[block.loop], _loop(tree, block))
        stride = self._strides.get(rows, lambda: counter_stride(self._tables.scop, rows))
        return block.count * stride


def _loop(tree: LoopTree, block: IterationBlock) -> Loop:
    loop = tree.nodes[block.loop]
    assert isinstance(loop, Loop)
    return loop


def _rows_of(around: tuple[Loop, ...], loop: Loop) -> LoopRows:
    """Return what decides which iterations a loop has: for each statement, outer and own rows."""
    return tuple(
        (name, tuple(outer.row(name) for outer in around), loop.row(name))
        for name in loop.statements
    )


def _decided(
    table: DependenceGenerators, around: tuple[Loop, ...], loop: Loop, span: int, order: LoopTree
) -> bool | None:
    """Decide one dependence by its generators: None where they do not tell."""
    if not table.is_exact:
        return None
    alive = table.unordered_by(around)
    along = table.along(loop)
    vertices, here = along[: table.vertices], alive[: table.vertices]
    # Distances along the loop are nowhere negative on what is left: the tree is legal.
    if (vertices[here] >= span).all() or not along[alive].any():
        return True
    inside = here & (vertices > 0) & (vertices < span)
    return False if _is_broken(table, inside, order) else None


def _is_broken(table: DependenceGenerators, asked: Array, order: LoopTree) -> bool:
    """Whether an order runs one of some vertices backwards."""
    source, sink = order.rows[table.dependence.source], order.rows[table.dependence.sink]
    undecided = asked
    for before, behind in zip(source, sink, strict=False):
        distances = table.between(before, behind)[: table.vertices]
        if (undecided & (distances < 0)).any():
            return True
        undecided = undecided & (distances == 0)
    return False


def _in_block(pair: DependencePairs, tree: LoopTree, loop: Loop, span: int) -> DependencePairs:
    """Return the pairs of a dependence that are in one block."""
    source, sink = pair.dependence.source, pair.dependence.sink
    with bounded_operations("finding the pairs of a block"):
        for outer in tree.paths[loop.name]:
            along = pair.distance(outer.row(source), outer.row(sink), tree.parameters)
            pair = pair.unordered_by(along)
        along = pair.distance(loop.row(source), loop.row(sink), tree.parameters)
        pair = pair.carried_by(along)
        return pair.reversed_by(replace(along, constant=along.constant - span))
