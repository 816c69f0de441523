"""The loops around a statement: how long each is, and what it moves.

Those of a planned tree are for :mod:`polygym.cost.features.loops.planned_nests` to find; here they
are values, and those of rows without tiles are found.

What accesses touch inside the loops is for :mod:`polygym.cost.features.loops.cache_lines` to say.
Two accesses of one array are one reference where they move alike; A[i][k] and A[j][k] are two.

Arrays that statements may read packed copies of, with the elements of vectors side by side.

What is asked here depends on a schedule's parts and on the sizes, not on how loops are mapped:
:mod:`polygym.cost.features.candidates.pack_estimates` says for the loops of a plan which of these
copies are made.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from polygym.codegen.common.loop_annotation import LoopAnnotation, SequentialLoop
from polygym.codegen.common.packing_candidates import PackingCandidates
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.cost.features.statements.row_steps import Factors, row_step
from polygym.cost.features.statements.statement_work import StatementAccess, StatementWork
from polygym.ir.scop import Statement
from polygym.poly.innermost import independent_rows


@dataclass(frozen=True, slots=True)
class PackableArrays:
    """The arrays of which a statement may read copies.

    Of those in ``whole_arrays`` there may be a copy of the whole array, of those in ``tile_copies``
    one of a tile, since nothing in this part of the program writes them. In tiles in which nothing
    that is read is written, and nowhere else, there may be copies of those in
    ``disjoint_tile_copies``, too.
    """

    whole_arrays: frozenset[str] = frozenset()
    tile_copies: frozenset[str] = frozenset()
    disjoint_tile_copies: frozenset[str] = frozenset()


NO_PACKABLE_ARRAYS = PackableArrays()
"""No copies at all."""

PackableByStatement = dict[tuple[str, bool], PackableArrays]
"""What each statement may read, in tiles in which nothing waits but for sums, and elsewhere."""


def packable_arrays(packing: PackingCandidates | None) -> PackableByStatement:
    """Return what may be packed, by statement and whether its tiles are free."""
    if packing is None:
        return {}
    by_statement: PackableByStatement = {}
    steady = PackingCandidates(packing.scop, packing.sizes, packing.parts, is_read_only=True)
    for statement in packing.scop.statements:
        beside = frozenset().union(*(part for part in packing.parts if statement.name in part))
        written = {packing.scop.statement(name).write.array for name in beside}
        whole, tiles, own = _readable_copies(packing, statement), frozenset[str](), frozenset[str]()
        if not any(access.gathered for access in statement.reads):
            tiles = _transposable_arrays(packing, statement).difference(written)
            own = _readable_copies(steady, statement).intersection(written)
        by_statement[statement.name, False] = PackableArrays(whole, tiles)
        by_statement[statement.name, True] = PackableArrays(whole, tiles, own)
    return by_statement


def _readable_copies(packing: PackingCandidates, statement: Statement) -> frozenset[str]:
    """Return the arrays of which some read may go to a copy."""
    reads = statement.reads
    return frozenset(access.array for access in reads if packing.allows(statement, access))


def _transposable_arrays(packing: PackingCandidates, statement: Statement) -> frozenset[str]:
    """Return the arrays that a statement reads and that may be turned: matrices, and more."""
    names = {access.array for access in statement.reads}
    return frozenset(name for name in names if packing.scop.array(name).rank > 1)


def statements_in_independent_tiles(tree: Tree) -> frozenset[str]:
    """Return the statements whose last branch is for tiles in which nothing waits but for sums.

    These are the loops that :func:`polygym.codegen.tree.ir.loop_paths` says last.
    """
    match tree:
        case Leaf():
            return frozenset()
        case Band(_, _, child):
            return statements_in_independent_tiles(child)
        case SequenceNode(branches):
            result: frozenset[str] = frozenset()
            for branch in branches:
                is_free = branch.predicate is not None and not branch.predicate.is_complement
                own: Iterable[str] = (
                    branch.statements if is_free else statements_in_independent_tiles(branch.child)
                )
                result = result.difference(branch.statements).union(own)
            return result
        case _:
            assert_never(tree)


Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""What comes out of an inverse is 0 if it is less."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayReference:
    """Accesses of one array that move alike, as A[i - 1] and A[i + 1] do.

    ``access_strides`` has a row for every subscript and a column for every loop; ``spread`` says
    how far apart the accesses are in every subscript, ``granularity`` what all its values are
    multiples of, but for the first. ``unbounded`` are subscripts that may be anything. All
    instances together touch ``max_elements`` elements.
    """

    array: str
    bytes: int
    reads: int
    writes: int
    access_strides: Floats
    spread: tuple[int, ...]
    granularity: tuple[int, ...]
    extents: tuple[int, ...]
    unbounded: tuple[bool, ...]
    max_elements: float

    @property
    def stride(self) -> Floats:
        """By how many elements one iteration of each loop moves in memory."""
        if not self.extents:
            return np.zeros(self.access_strides.shape[1])
        steps = np.cumprod([1, *self.extents[:0:-1]], dtype=np.float64)[::-1]
        return np.asarray(steps @ self.access_strides)


@dataclass(frozen=True, eq=False)
class StatementNest:
    """The loops around a statement, outermost first.

    ``directions`` has a column for each: by what the iterators move in one of its steps.
    ``points`` has how many values lie between the ends of the rows of its loops over points, None
    for tiles and for rows that follow from others. ``point_loops`` has for every loop the one over
    the points of its row, itself where there is none. Of the arrays in ``packable`` there may be
    copies.
    """

    work: StatementWork
    lengths: Floats
    annotations: tuple[LoopAnnotation, ...]
    tiled: tuple[bool, ...]
    directions: Floats
    points: tuple[int | None, ...] = ()
    point_loops: tuple[int, ...] = ()
    packable: PackableArrays = NO_PACKABLE_ARRAYS

    @property
    def spans(self) -> tuple[int, ...]:
        """How many values lie between the ends of the rows of points, 1 for other loops."""
        return tuple([1 if point is None else point for point in self.points])

    @property
    def is_box(self) -> bool:
        """Whether the instances are all points between the ends of their rows."""
        return math.prod(self.spans) == self.work.instances

    @cached_property
    def references(self) -> tuple[ArrayReference, ...]:
        """The accesses, those that move alike together."""
        return array_references(self.work, self.directions)

    @cached_property
    def outer_iterations(self) -> Floats:
        """For every loop the product of the lengths of the loops around it (topdown)."""
        return np.asarray(np.concatenate([[1.0], np.cumprod(self.lengths)[:-1]]))

    @cached_property
    def inner_instances(self) -> Floats:
        """For every loop how many instances one of its executions has at most (bottomup)."""
        return np.asarray(np.minimum(self.box, max(1.0, float(self.work.instances))))

    @property
    def box(self) -> Floats:
        """For every loop how many instances one of its executions has in the box of the rows.

        The loops over a row, tiles and points, have no more iterations together than it has values.
        """
        runs = self.lengths.tolist()
        if not self.point_loops:
            return np.asarray(np.cumprod(runs[::-1])[::-1])
        most = [math.inf if span is None else float(span) for span in self.points]
        values, result = [1.0] * len(runs), list(runs)
        for place in range(len(runs) - 1, -1, -1):
            row = self.point_loops[place]
            values[row] = min(values[row] * runs[place], most[row])
            result[place] = math.prod(values)
        return np.array(result)


def untiled_nest(
    work: StatementWork, rows: Sequence[tuple[int, ...]], plane: Sequence[tuple[int, ...]] = ()
) -> StatementNest:
    """Return the loops of a statement that count independent rows, one after the other.

    ``plane`` are the equations of a domain that lies in a plane of its own: no loop leaves it.
    """
    steps = [row_step(work.domain_holes, row, rows[:place]) for place, row in enumerate(rows)]
    lengths = [work.value_count(row, by) for row, by in zip(rows, steps, strict=True)]
    _, inverse = row_basis((*plane, *rows), work.depth)
    return StatementNest(
        work,
        np.array(lengths, dtype=np.float64),
        (SequentialLoop(),) * len(rows),
        (False,) * len(rows),
        inverse[:, len(plane) :] * np.array(steps, dtype=np.float64),
    )


def snap_to_zero(moves: Floats) -> Floats:
    """Return moves with 0 for what comes out of an inverse as nearly 0."""
    return np.where(np.abs(moves) < TOLERANCE, 0.0, moves)


@lru_cache(maxsize=4096)
def row_basis(
    rows: tuple[tuple[int, ...], ...], depth: int
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Return which rows are independent of those before, and the (pseudo-)inverse of them."""
    places = independent_rows(rows)
    if not places:
        return places, np.zeros((depth, 0))
    return places, np.linalg.pinv(np.array([rows[place] for place in places], dtype=np.float64))


def array_references(work: StatementWork, directions: Floats) -> tuple[ArrayReference, ...]:
    """Return the accesses of a statement, those that move alike together."""
    groups: dict[tuple[str, tuple[tuple[int, ...] | None, ...]], list[StatementAccess]] = {}
    for touch in work.accesses:
        groups.setdefault((touch.array, touch.subscripts), []).append(touch)
    result = []
    for (array, subscripts), group in groups.items():
        matrix = np.array(
            [row if row is not None else (0,) * directions.shape[0] for row in subscripts],
            dtype=np.float64,
        ).reshape(len(subscripts), directions.shape[0])
        offsets = list(zip(*(touch.offsets for touch in group), strict=True))
        result.append(
            ArrayReference(
                array,
                group[0].bytes,
                sum(not touch.writes for touch in group),
                sum(touch.writes for touch in group),
                snap_to_zero(matrix @ directions),
                tuple(max(values) - min(values) for values in offsets),
                tuple(
                    _subscript_granularity(work, row, values)
                    for row, values in zip(subscripts, offsets, strict=True)
                ),
                group[0].extents,
                tuple(row is None for row in subscripts),
                float(max(1, work.footprints.get((array, subscripts), math.inf))),
            )
        )
    return tuple(result)


def _subscript_granularity(work: StatementWork, row: Factors | None, offsets: Sequence[int]) -> int:
    """Return what the values of a subscript, and of those that move alike, are multiples of.

    That is but for the first of them. Example: A[2i], A[2i + 4] take every second element, A[2i]
    and A[2i + 1] all.
    """
    if row is None:
        return 1
    apart = math.gcd(*(value - offsets[0] for value in offsets))
    return math.gcd(row_step(work.domain_holes, row) if any(row) else 0, apart) or 1
