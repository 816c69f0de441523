"""Columns of nests as the compiler plans them, for many statements of many candidates at once.

A step of annealing looks at a hundred candidates; one after the other, numbers of a few loops each,
they would take most of the time of a step. Here they are arrays with a row for every nest (N), or
for every reference of one (R), and a column for each of the W loops that there are at most; what a
nest does not have is filled up with loops that run once. The rows of :data:`NEST` are the columns:
a new feature is one row.

How a statement runs is in the annotations of its loops: one of them takes vectors, some are jammed,
one or none is shared out among threads. Cycles are those of an operation: as many as it waits for
loads and stores, or for the term before it in a sum, or half of one; over lanes and threads.

Example: C[i][j] += A[i][k] * B[k][j] with 2 vectors of 8 along j and 4 copies of i, C held. In one
step of k a block of 4 · 2 vectors loads B twice and broadcasts A four times; these are 6 accesses
for 2 · 8 operations, 0.375, so a vector of 8 elements takes the half cycle that it takes at least.

What vectors read from copies in which it lies side by side
(:mod:`polygym.cost.features.candidates.pack_estimates`) is no gather: in C[i][j] += A[i][k] *
B[j][k] that is B, and for each operation as many elements are copied as all its copies have, over
all operations. *Turned* is a nest whose rows or diagonals run in lanes through turned or skewed
tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polygym.codegen.common import loop_annotation
from polygym.cost.features.candidates.pack_estimates import PackedReferences, estimate_packs
from polygym.cost.features.loops import column_names
from polygym.cost.features.loops.footprints import (
    StackedLoops,
    cache_traffic,
    relation_features,
    stacked_footprints,
    traffic_and_length_columns,
    working_sets,
)
from polygym.cost.features.loops.nests import Floats, StatementNest, snap_to_zero
from polygym.cost.features.loops.stacked_statements import Flags, Integers, StackedReferences
from polygym.cost.features.statements.statement_work import StatementWork


@dataclass(frozen=True, slots=True, eq=False)
class StatementArrays:
    """What statements do wherever they stand."""

    operations: Floats
    instances: Floats
    is_reduction: Flags
    references: StackedReferences

    @staticmethod
    def of(works: Sequence[StatementWork]) -> StatementArrays:
        """Put statements on top of each other."""
        return StatementArrays(
            np.array([work.operations for work in works], dtype=np.float64),
            np.array([work.instances for work in works], dtype=np.float64),
            np.array([work.is_reduction for work in works], dtype=np.bool_),
            StackedReferences.of(works),
        )

    def select(self, chosen: Sequence[int]) -> StatementArrays:
        """Return some of them, any as often as it is named."""
        places = np.array(chosen, dtype=np.int64)
        return StatementArrays(
            self.operations[places],
            self.instances[places],
            self.is_reduction[places],
            self.references.of_statements(places),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _VectorBlocks:
    """What is worked on at once: lanes of vectors, copies of them, sums that are held.

    ``vector`` is the loop that runs in vectors, ``parallel`` the one that is shared out, -1 where
    there is none; ``jam`` are copies of loops, N·W. Those that are ``is_recurrence_lanes`` have
    rows or diagonals that run in lanes.
    """

    vector: Integers
    bits: Floats
    vectors: Floats
    jam: Floats
    is_promoted: Flags
    is_recurrence_lanes: Flags
    parallel: Integers

    @staticmethod
    def of(nests: Sequence[StatementNest], width: int) -> _VectorBlocks:
        """Look at the annotations of nests."""
        count = len(nests)
        turned = np.zeros(count, dtype=np.bool_)
        vector, parallel = np.full(count, -1), np.full(count, -1)
        bits, vectors = np.zeros(count), np.ones(count)
        jam, held = np.zeros((count, width)), np.zeros(count, dtype=np.bool_)
        for row, nest in enumerate(nests):
            for place, annotation in enumerate(nest.annotations):
                match annotation:
                    case (
                        loop_annotation.UnrollAndJam(copies)
                        | loop_annotation.LaneRows(copies=copies)
                        | loop_annotation.DiagonalLoop(copies=copies)
                    ):
                        jam[row, place] = copies
                        turned[row] |= not isinstance(annotation, loop_annotation.UnrollAndJam)
                    case loop_annotation.VectorLoop(wide, number):
                        vector[row], bits[row], vectors[row] = place, wide, number
                    case loop_annotation.ScalarReplacement(statements):
                        held[row] |= nest.work.name in statements
                    case loop_annotation.ParallelLoop() if parallel[row] < 0:
                        parallel[row] = place
                    case _:
                        pass
        return _VectorBlocks(vector, bits, vectors, jam, held, turned, parallel)


@dataclass(frozen=True, slots=True, eq=False)
class _ThreadShares:
    """Threads of nests; ``is_inside_loops``: loops surround the parallel one."""

    threads: Floats
    per_thread: Floats
    starts: Floats
    imbalance: Floats
    is_inside_loops: Flags


def nest_columns(
    statements: StatementArrays, nests: Sequence[StatementNest], threads: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return what is known of nests, N·K, and their relation features.

    Each is of the statement with its number, and may use so many threads. What comes out of a nest
    does not depend on the others, to the last bit.
    """
    loops = _stacked_loops(nests, statements.references)
    seen = stacked_footprints(statements.references, loops)
    working = working_sets(statements.references, seen)
    alone = traffic_and_length_columns(
        statements.operations,
        statements.instances,
        loops.counts,
        loops.lengths,
        working,
        cache_traffic(statements.references, loops, seen, working),
    )
    blocks = _VectorBlocks.of(nests, loops.lengths.shape[1])
    lanes, jams = _vector_lanes(statements, blocks), _jam_factors(loops, blocks)
    copies = estimate_packs(nests, blocks.vector, statements.references, loops)
    accesses = _accesses_per_operation(statements, loops, blocks, lanes, jams, copies)
    chain = _chain_cycles(statements, loops, blocks, jams)
    sharing = _thread_shares(statements, loops, blocks, np.array(threads, dtype=np.float64))
    filled = _lane_utilization(loops, blocks, lanes)
    needed = np.maximum(0.5, np.maximum(accesses[:, 0], chain))
    at = _NestNumbers(
        alone,
        blocks,
        sharing,
        lanes=filled,
        copies=jams * blocks.vectors,
        accesses=accesses,
        copied=_copied_per_operation(statements, copies),
        chain=chain,
        unit_strides=_unit_strides(statements.references, loops),
        cycles=alone["operations"] / filled * needed / sharing.threads * sharing.imbalance,
    )
    known = np.asarray(np.stack([column.number(at) for column in NEST], axis=1), np.float64)
    known = np.asarray(np.where(_IS_SCALED, column_names.signed_log(known), known))
    return known, relation_features(statements.references, statements.instances, loops, seen)


@dataclass(frozen=True, slots=True, eq=False)
class _NestNumbers:
    """The numbers of many nests that their columns are made from."""

    alone: dict[str, Floats]
    blocks: _VectorBlocks
    sharing: _ThreadShares
    lanes: Floats
    copies: Floats
    accesses: Floats
    copied: Floats
    chain: Floats
    unit_strides: Floats
    cycles: Floats


@dataclass(frozen=True, slots=True, eq=False)
class NestColumn:
    """A column of nests: its name, its meaning, its function; large numbers are ``is_scaled``."""

    name: str
    doc: str
    number: Callable[[_NestNumbers], Floats | Flags]
    is_scaled: bool = False


def _alone(name: str, doc: str, *, is_scaled: bool = True) -> NestColumn:
    """Return a column that the loops alone decide."""
    return NestColumn(name, doc, lambda at: at.alone[name], is_scaled)


def _per_operation(place: int, what: str, doc: str) -> NestColumn:
    return NestColumn(f"{what}_per_operation", doc, lambda at: at.accesses[:, place])


NEST = (
    _alone("operations", "operations of all instances"),
    _alone("instances", "instances of the statement"),
    _alone("share", "16 times the share of the box of the loops that is run"),
    _alone("depth", "loops", is_scaled=False),
    NestColumn("lanes", "lanes of a vector with work, on average", lambda at: at.lanes, True),
    NestColumn("copies", "vectors and jammed iterations together", lambda at: at.copies, True),
    NestColumn("held", "1: a sum stays in a register", lambda at: at.blocks.is_promoted),
    NestColumn("turned", "1: recurrence in lanes", lambda at: at.blocks.is_recurrence_lanes),
    NestColumn("threads", "threads with work", lambda at: at.sharing.threads),
    NestColumn(
        "per_thread", "instances of a thread at a time", lambda at: at.sharing.per_thread, True
    ),
    NestColumn("starts", "starts of the parallel loop", lambda at: at.sharing.starts, True),
    NestColumn("imbalance", "longest over average share", lambda at: at.sharing.imbalance),
    NestColumn("waves", "1: loops around the parallel one", lambda at: at.sharing.is_inside_loops),
    _alone("innermost_length", "trip count of the innermost loop"),
    _alone("inner_two_length", "trip counts of the two innermost loops"),
    _per_operation(0, "memory", "loads and stores"),
    _per_operation(1, "gathers", "loads that are gathered"),
    _per_operation(2, "broadcasts", "loads that are broadcast"),
    _per_operation(3, "stores", "stores"),
    _per_operation(4, "packed", "loads from packed copies"),
    NestColumn("copied_per_operation", "elements copied", lambda at: at.copied),
    NestColumn("chain", "cycles of waiting for the term before", lambda at: at.chain),
    NestColumn(
        "unit_strides", "share of references that stay or move by one", lambda at: at.unit_strides
    ),
    _alone("footprint", "bytes that the nest touches"),
    *(_alone(name, "bytes that come into a cache") for name in column_names.TRAFFIC_COLUMNS),
    *(_alone(name, "these over all operations") for name in column_names.BOUND_COLUMNS),
    NestColumn("cycles", "estimated cycles of a thread", lambda at: at.cycles, True),
    NestColumn(
        "loop_overhead",
        "starts of the innermost loop in a thread",
        lambda at: at.alone["loop_overhead"] / at.sharing.threads,
        True,
    ),
)
"""The columns of a nest; models know them by their names, in this order."""

NEST_COLUMNS = tuple(column.name for column in NEST)
_IS_SCALED = np.array([column.is_scaled for column in NEST])


def _stacked_loops(nests: Sequence[StatementNest], references: StackedReferences) -> StackedLoops:
    """Return the loops of nests, with how each reference moves along them."""
    counts = np.array([len(nest.lengths) for nest in nests], dtype=np.int64)
    width = max(1, int(counts.max()))
    lengths, box = np.ones((len(nests), width)), np.ones((len(nests), width))
    directions = np.zeros((len(nests), references.access_strides.shape[2], width))
    for place, nest in enumerate(nests):
        depth, count = nest.directions.shape
        lengths[place, :count], box[place, :count] = nest.lengths, nest.box
        directions[place, :depth, :count] = nest.directions
    moves = snap_to_zero(_subscript_strides(references, directions))
    return StackedLoops(counts, lengths, box, moves, _element_strides(references, moves))


def _subscript_strides(references: StackedReferences, directions: Floats) -> Floats:
    """Return how subscripts move: a product of matrices, term by term.

    (Libraries add in another order where there is more to add, and what is known of a nest would
    depend on which others stand beside it.)
    """
    array = np.zeros((*references.access_strides.shape[:2], directions.shape[2]))
    for place in range(directions.shape[1]):
        array += (
            references.access_strides[:, :, place, None]
            * directions[references.owners, None, place, :]
        )
    return array


def _element_strides(references: StackedReferences, moves: Floats) -> Floats:
    """Return by how many elements references move in memory."""
    array = np.zeros((moves.shape[0], moves.shape[2]))
    for place in range(moves.shape[1]):
        array += references.strides[:, place, None] * moves[:, place]
    return array


def _vector_lanes(statements: StatementArrays, blocks: _VectorBlocks) -> Floats:
    """Return how many of the widest elements of a nest a vector has, 1 without vectors."""
    references = statements.references
    widest = np.maximum.reduceat(references.bytes, references.starts)
    return np.asarray(np.where(blocks.vector < 0, 1.0, np.maximum(1.0, blocks.bits / (8 * widest))))


def _jam_factors(loops: StackedLoops, blocks: _VectorBlocks) -> Floats:
    """Return how many iterations of jammed loops run together, no more than there are."""
    copies = np.where(blocks.jam > 0, np.minimum(blocks.jam, loops.lengths), 1.0)
    return np.asarray(copies.prod(axis=1))


def _lane_utilization(loops: StackedLoops, blocks: _VectorBlocks, lanes: Floats) -> Floats:
    """Return how many lanes have something to do, on average: the last vector may be short."""
    length = loops.lengths[np.arange(len(lanes)), blocks.vector]
    return np.asarray(np.where(blocks.vector < 0, lanes, length / np.ceil(length / lanes)))


def _accesses_per_operation(
    statements: StatementArrays,
    loops: StackedLoops,
    blocks: _VectorBlocks,
    lanes: Floats,
    jams: Floats,
    copies: PackedReferences,
) -> Floats:
    """Return loads and stores of a block of copies for each operation, N·5.

    All of them, then those that are gathered, broadcast, stored, and read from copies.
    """
    references = statements.references
    owners = references.owners
    has_vector = (blocks.vector >= 0)[owners]
    along = np.abs(loops.strides[np.arange(len(owners)), blocks.vector[owners]])
    along = np.where(has_vector, along, 0.0)
    across = ((loops.strides != 0.0) & (blocks.jam > 0)[owners]).any(axis=1)
    times = np.where(across, jams[owners], 1.0) * np.where(along > 0, blocks.vectors[owners], 1.0)
    held = blocks.is_promoted[owners] & references.writes
    reads = np.where(held, 0.0, references.reads) * times
    is_far, is_still = along > 1.0, has_vector & (along == 0.0)
    apart = np.where(is_far, lanes[owners], 1.0)
    gathers = np.where(is_far & ~copies.reads, reads * apart, 0.0)
    broadcasts = np.where(is_still, reads, 0.0)
    loads = np.where((is_far & ~copies.reads) | is_still, 0.0, reads)
    stores = np.where(references.writes & ~held, times * apart, 0.0)
    side_by_side = np.where(copies.reads, reads, 0.0)
    every = loads + gathers + broadcasts + stores
    each = np.stack([every, gathers, broadcasts, stores, side_by_side], axis=1)
    operations = np.maximum(1.0, statements.operations * jams * blocks.vectors)
    return np.asarray(np.add.reduceat(each, references.starts, axis=0) / operations[:, None])


def _copied_per_operation(statements: StatementArrays, copies: PackedReferences) -> Floats:
    """Return how many elements are copied for each operation."""
    elements = np.add.reduceat(copies.elements, statements.references.starts)
    return np.asarray(elements / np.maximum(1.0, statements.operations * statements.instances))


def _chain_cycles(
    statements: StatementArrays, loops: StackedLoops, blocks: _VectorBlocks, jams: Floats
) -> Floats:
    """Return for how many cycles there is to wait for each operation, as in a sum.

    A term waits for the one before it, together with its copies: in ``C += alpha * A * B`` three
    operations wait four cycles, in two copies six do.
    """
    references = statements.references
    last = np.maximum(loops.counts - 1, 0)[references.owners]
    still = references.writes & (loops.strides[np.arange(len(last)), last] == 0.0)
    waits = blocks.is_promoted | np.logical_or.reduceat(still, references.starts)
    waits &= statements.is_reduction & (loops.counts > 0)
    operations = np.maximum(1.0, statements.operations * jams * blocks.vectors)
    return np.asarray(np.where(waits, column_names.ADD_LATENCY / operations, 0.0))


def _thread_shares(
    statements: StatementArrays, loops: StackedLoops, blocks: _VectorBlocks, threads: Floats
) -> _ThreadShares:
    """Share nests out by their outermost parallel loops."""
    every, place = np.arange(len(threads)), blocks.parallel
    is_shared = (place >= 0) & (threads > 1)
    length = loops.lengths[every, place]
    outer = loops.lengths.cumprod(axis=1)[every, place] / length
    starts = np.where(is_shared, outer, 0.0)
    busy = np.where(is_shared, np.minimum(threads, length), 1.0)
    uneven = np.ceil(length / busy) * busy / length
    return _ThreadShares(
        busy,
        statements.instances / busy / np.maximum(1.0, starts),
        starts,
        np.where(is_shared, uneven, 1.0),
        place > 0,
    )


def _unit_strides(references: StackedReferences, loops: StackedLoops) -> Floats:
    """Return the share of references that stay or move by one in the innermost loop."""
    last = np.maximum(loops.counts - 1, 0)[references.owners]
    step = np.abs(loops.strides[np.arange(len(last)), last])
    is_unit = (step <= 1.0) & (loops.counts > 0)[references.owners]
    units = np.add.reduceat(is_unit * 1.0, references.starts)
    return np.asarray(units / np.bincount(references.owners))
