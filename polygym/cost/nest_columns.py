"""What the compiler knows of statements' loops, for many statements of many candidates at once.

A step of annealing looks at a hundred candidates; one after the other, numbers of a few loops each,
they would take most of the time of a step. Here they are arrays with a row for every nest (N), or
for every reference of one (R), and a column for each of the W loops that there are at most; what a
nest does not have is filled up with loops that run once. :data:`KNOWLEDGE` and :data:`RELATIONS` of
:mod:`polygym.cost.columns` say what comes out.

How a statement runs is in the annotations of its loops: one of them takes vectors, some are jammed,
one or none is shared out among threads. Cycles are those of an operation: as many as it waits for
loads and stores, or for the term before it in a sum, or half of one; over lanes and threads.

Example: C[i][j] += A[i][k] * B[k][j] with 2 vectors of 8 along j and 4 copies of i, C held. In one
step of k a block of 4 · 2 vectors loads B twice and broadcasts A four times; these are 6 accesses
for 2 · 8 operations, 0.375, so a vector of 8 elements takes the half cycle that it takes at least.

What vectors read from copies in which it lies side by side (:mod:`polygym.cost.packs`) is no
gather: in C[i][j] += A[i][k] * B[j][k] that is B, and for each operation as many elements are
copied as all its copies have, over all operations. *Turned* is a nest whose rows or diagonals run
in lanes through turned or skewed tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polygym.compiler.codegen.common.loop_annotation import (
    Diagonal,
    Hold,
    Jam,
    Parallel,
    Rows,
    Vector,
)
from polygym.cost.columns import AS_THEY_ARE, KNOWLEDGE, WAIT, slog
from polygym.cost.nests import Floats, Nest, settled
from polygym.cost.packs import Packed, packed
from polygym.cost.reach import Work
from polygym.cost.stack import Flags, Integers, References
from polygym.cost.touches import Loops, moved, relations, touches, traffic, working_sets


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """What statements do wherever they stand."""

    operations: Floats
    instances: Floats
    sums: Flags
    references: References

    @staticmethod
    def of(works: Sequence[Work]) -> Statements:
        """Put statements on top of each other."""
        return Statements(
            np.array([work.operations for work in works], dtype=np.float64),
            np.array([work.instances for work in works], dtype=np.float64),
            np.array([work.sums for work in works], dtype=np.bool_),
            References.of(works),
        )

    def taken(self, chosen: Sequence[int]) -> Statements:
        """Return some of them, any as often as it is named."""
        places = np.array(chosen, dtype=np.int64)
        return Statements(
            self.operations[places],
            self.instances[places],
            self.sums[places],
            self.references.of_statements(places),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """What is worked on at once: lanes of vectors, copies of them, sums that are held.

    ``vector`` is the loop that runs in vectors, ``parallel`` the one that is shared out, -1 where
    there is none; ``jam`` are copies of loops, N·W. Those that are ``turned`` have rows or
    diagonals that run in lanes.
    """

    vector: Integers
    bits: Floats
    vectors: Floats
    jam: Floats
    held: Flags
    turned: Flags
    parallel: Integers

    @staticmethod
    def of(nests: Sequence[Nest], width: int) -> _Blocks:
        """Look at the annotations of nests."""
        count = len(nests)
        turned = np.zeros(count, dtype=np.bool_)
        vector, parallel = np.full(count, -1), np.full(count, -1)
        bits, vectors = np.zeros(count), np.ones(count)
        jam, held = np.zeros((count, width)), np.zeros(count, dtype=np.bool_)
        for one, nest in enumerate(nests):
            for place, annotation in enumerate(nest.annotations):
                match annotation:
                    case Jam(copies) | Rows(copies=copies) | Diagonal(copies=copies):
                        jam[one, place] = copies
                        turned[one] |= not isinstance(annotation, Jam)
                    case Vector(wide, number):
                        vector[one], bits[one], vectors[one] = place, wide, number
                    case Hold(statements):
                        held[one] |= nest.work.name in statements
                    case Parallel() if parallel[one] < 0:
                        parallel[one] = place
                    case _:
                        pass
        return _Blocks(vector, bits, vectors, jam, held, turned, parallel)


@dataclass(frozen=True, slots=True, eq=False)
class _Sharing:
    """What threads have of nests; ``inside`` says that loops stand around the parallel one."""

    threads: Floats
    per_thread: Floats
    starts: Floats
    imbalance: Floats
    inside: Flags


def columns(
    statements: Statements, nests: Sequence[Nest], threads: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return what is known of nests, N·K, and their relation features.

    Each is of the statement with its number, and may use so many threads. What comes out of a nest
    does not depend on the others, to the last bit.
    """
    found = _loops(nests, statements.references)
    seen = touches(statements.references, found)
    working = working_sets(statements.references, seen)
    alone = moved(
        statements.operations,
        statements.instances,
        found.counts,
        found.lengths,
        working,
        traffic(statements.references, found, seen, working),
    )
    blocks = _Blocks.of(nests, found.lengths.shape[1])
    lanes, jams = _lanes(statements, blocks), _jams(found, blocks)
    copies = packed(nests, blocks.vector, statements.references, found)
    accesses = _accesses(statements, found, blocks, lanes, jams, copies)
    chain = _chain(statements, found, blocks, jams)
    sharing = _sharing(statements, found, blocks, np.array(threads, dtype=np.float64))
    filled = _filled(found, blocks, lanes)
    needed = np.maximum(0.5, np.maximum(accesses[:, 0], chain))
    by_name = {
        **alone,
        "lanes": filled,
        "copies": jams * blocks.vectors,
        "held": blocks.held,
        "turned": blocks.turned,
        "threads": sharing.threads,
        "per_thread": sharing.per_thread,
        "starts": sharing.starts,
        "imbalance": sharing.imbalance,
        "waves": sharing.inside,
        **dict(zip(_PER_OPERATION, accesses.T, strict=True)),
        "copied_per_operation": _copied(statements, copies),
        "chain": chain,
        "unit_strides": _unit_strides(statements.references, found),
        "cycles": alone["operations"] / filled * needed / sharing.threads * sharing.imbalance,
        "loop_overhead": alone["loop_overhead"] / sharing.threads,
    }
    known = np.stack([by_name[name] for name in KNOWLEDGE], axis=1)
    known = np.asarray(np.where(AS_THEY_ARE, known, slog(known)))
    return known, relations(statements.references, statements.instances, found, seen)


_PER_OPERATION = tuple(
    f"{what}_per_operation" for what in ("memory", "gathers", "broadcasts", "stores", "packed")
)


def _loops(nests: Sequence[Nest], references: References) -> Loops:
    """Return the loops of nests, with how each reference moves along them."""
    counts = np.array([len(nest.lengths) for nest in nests], dtype=np.int64)
    width = max(1, int(counts.max()))
    lengths, box = np.ones((len(nests), width)), np.ones((len(nests), width))
    directions = np.zeros((len(nests), references.moves.shape[2], width))
    for place, nest in enumerate(nests):
        depth, count = nest.directions.shape
        lengths[place, :count], box[place, :count] = nest.lengths, nest.box
        directions[place, :depth, :count] = nest.directions
    moves = settled(_along(references, directions))
    return Loops(counts, lengths, box, moves, _strides(references, moves))


def _along(references: References, directions: Floats) -> Floats:
    """Return how subscripts move: a product of matrices, term by term.

    (Libraries add in another order where there is more to add, and what is known of a nest would
    depend on which others stand beside it.)
    """
    found = np.zeros((*references.moves.shape[:2], directions.shape[2]))
    for place in range(directions.shape[1]):
        found += references.moves[:, :, place, None] * directions[references.owners, None, place, :]
    return found


def _strides(references: References, moves: Floats) -> Floats:
    """Return by how many elements references move in memory."""
    found = np.zeros((moves.shape[0], moves.shape[2]))
    for place in range(moves.shape[1]):
        found += references.strides[:, place, None] * moves[:, place]
    return found


def _lanes(statements: Statements, blocks: _Blocks) -> Floats:
    """Return how many of the widest elements of a nest a vector has, 1 without vectors."""
    references = statements.references
    widest = np.maximum.reduceat(references.bytes, references.starts)
    return np.asarray(np.where(blocks.vector < 0, 1.0, np.maximum(1.0, blocks.bits / (8 * widest))))


def _jams(found: Loops, blocks: _Blocks) -> Floats:
    """Return how many iterations of jammed loops run together, no more than there are."""
    copies = np.where(blocks.jam > 0, np.minimum(blocks.jam, found.lengths), 1.0)
    return np.asarray(copies.prod(axis=1))


def _filled(found: Loops, blocks: _Blocks, lanes: Floats) -> Floats:
    """Return how many lanes have something to do, on average: the last vector may be short."""
    length = found.lengths[np.arange(len(lanes)), blocks.vector]
    return np.asarray(np.where(blocks.vector < 0, lanes, length / np.ceil(length / lanes)))


def _accesses(
    statements: Statements,
    found: Loops,
    blocks: _Blocks,
    lanes: Floats,
    jams: Floats,
    copies: Packed,
) -> Floats:
    """Return loads and stores of a block of copies for each operation, N·5.

    All of them, then those that are gathered, broadcast, stored, and read from copies.
    """
    references = statements.references
    owners = references.owners
    has_vector = (blocks.vector >= 0)[owners]
    along = np.abs(found.strides[np.arange(len(owners)), blocks.vector[owners]])
    along = np.where(has_vector, along, 0.0)
    across = ((found.strides != 0.0) & (blocks.jam > 0)[owners]).any(axis=1)
    times = np.where(across, jams[owners], 1.0) * np.where(along > 0, blocks.vectors[owners], 1.0)
    held = blocks.held[owners] & references.writes
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


def _copied(statements: Statements, copies: Packed) -> Floats:
    """Return how many elements are copied for each operation."""
    elements = np.add.reduceat(copies.elements, statements.references.starts)
    return np.asarray(elements / np.maximum(1.0, statements.operations * statements.instances))


def _chain(statements: Statements, found: Loops, blocks: _Blocks, jams: Floats) -> Floats:
    """Return for how many cycles there is to wait for each operation, as in a sum.

    A term waits for the one before it, together with its copies: in ``C += alpha * A * B`` three
    operations wait four cycles, in two copies six do.
    """
    references = statements.references
    last = np.maximum(found.counts - 1, 0)[references.owners]
    still = references.writes & (found.strides[np.arange(len(last)), last] == 0.0)
    waits = blocks.held | np.logical_or.reduceat(still, references.starts)
    waits &= statements.sums & (found.counts > 0)
    operations = np.maximum(1.0, statements.operations * jams * blocks.vectors)
    return np.asarray(np.where(waits, WAIT / operations, 0.0))


def _sharing(statements: Statements, found: Loops, blocks: _Blocks, threads: Floats) -> _Sharing:
    """Share nests out by their outermost parallel loops."""
    every, place = np.arange(len(threads)), blocks.parallel
    is_shared = (place >= 0) & (threads > 1)
    length = found.lengths[every, place]
    outer = found.lengths.cumprod(axis=1)[every, place] / length
    starts = np.where(is_shared, outer, 0.0)
    busy = np.where(is_shared, np.minimum(threads, length), 1.0)
    uneven = np.ceil(length / busy) * busy / length
    return _Sharing(
        busy,
        statements.instances / busy / np.maximum(1.0, starts),
        starts,
        np.where(is_shared, uneven, 1.0),
        place > 0,
    )


def _unit_strides(references: References, found: Loops) -> Floats:
    """Return the share of references that stay or move by one in the innermost loop."""
    last = np.maximum(found.counts - 1, 0)[references.owners]
    step = np.abs(found.strides[np.arange(len(last)), last])
    is_unit = (step <= 1.0) & (found.counts > 0)[references.owners]
    units = np.add.reduceat(is_unit * 1.0, references.starts)
    return np.asarray(units / np.bincount(references.owners))
