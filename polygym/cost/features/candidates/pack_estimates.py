"""Packs: which reads vectors find side by side in copies of arrays, and what is copied for that.

A vector along j finds B[j][k] in as many rows as it has lanes, and T[k][j] = B[j][k] side by side
(:mod:`polygym.codegen.transforms.array_packing`). A plan says that before loops are made of it:
which loop runs in vectors, what each access does along it, and which arrays are not written
meanwhile.

* A copy of a *tile* is made before one of the loops around (``transforms/tile_packing``): before
  the innermost one from which on inwards the loops are those of a box, that read every element 16
  times or more, and take 256 KiB at most. Loops further out may make the same copy twice, not more
  often.
* Else there is a copy of the *whole* array (``transforms/array_packing``), if all instances read it
  16 times.
* In tiles in which nothing but terms of sums waits (``recurrences/independent_tiles``) there are
  copies of tiles of what other tiles write: *steady* ones, however often they are made.
* Of a crowded array, whose rows are a multiple of 512 bytes apart, there is a whole copy with
  longer rows if a long sum goes down it.

What a tile costs is in the loops around: those along which the read does not move make it again.

Example: ``C[i][j] += A[i][k] * B[j][k]`` at n = 64 in vectors along j, in tiles of 8 of j and k.
From i inwards 64 · 8 · 8 instances read a tile of 8 · 8 elements 64 times; the tiles of j and k
move it, so nothing is copied twice: 64 · 64 elements for 2 · 64³ operations, 1 / 128 each. In
tiles of 8 of i, outermost, that would be eight times as much, and the whole array is copied once.

What is copied is exact where loops run over a box and the tiles of all nests together fit the
stack. Elsewhere a steady tile is taken to be read by as many instances as in the box, and an array
that is only read is copied whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polygym.codegen.common.loop_annotation import (
    ParallelLoop,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.cost.features.loops.footprints import StackedLoops
from polygym.cost.features.loops.nests import Floats, StatementNest
from polygym.cost.features.loops.stacked_statements import Flags, Integers, StackedReferences
from polygym.cost.features.statements.statement_work import StatementWork, SubscriptedArray
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True, slots=True, eq=False)
class PackedReferences:
    """For every reference: whether copies are read, and how many elements are copied for that."""

    reads: Flags
    elements: Floats


def estimate_packs(
    nests: Sequence[StatementNest],
    vector: Integers,
    references: StackedReferences,
    loops: StackedLoops,
) -> PackedReferences:
    """Return what is read from copies in nests, the references of which these are.

    ``vector`` says which of the loops of each nest runs in vectors, -1 for none.
    """
    owners, count = references.owners, len(references.owners)
    packed_references = PackedReferences(np.zeros(count, dtype=np.bool_), np.zeros(count))
    along = loops.access_strides[np.arange(count), :, vector[owners]]
    one_step = (vector >= 0)[owners] & (np.count_nonzero(along, axis=1) == 1)
    one_step &= _is_one(along.sum(axis=1)) & ~references.writes
    goes_down = along[:, -1] == 0.0
    is_crowded = references.extents[:, -1] * references.bytes % TUNING.conflict_stride == 0.0
    places = np.flatnonzero(one_step & (goes_down | is_crowded))
    if not len(places) or not len(reads := _candidate_reads(nests, references, places)):
        return packed_references
    places = places[reads[:, 0].astype(np.int64)]
    chosen = _PackCandidates.of(nests, owners[places], reads)
    moves, lengths = loops.access_strides[places], loops.lengths[owners[places]]
    has_tile, elements = _tile_copies(chosen, moves, lengths, references.bytes[places])
    has_tile &= goes_down[places]
    down = (moves[:, :-1] != 0.0).any(axis=1) & chosen.is_reduction
    is_whole = chosen.whole_arrays & ~has_tile & (goes_down[places] | down.any(axis=1))
    every = references.extents[places].prod(axis=1)
    packed_references.reads[places] = has_tile | is_whole
    packed_references.elements[places] = np.where(
        has_tile, elements, np.where(is_whole, every, 0.0)
    )
    return packed_references


def _is_one(values: Floats) -> Flags:
    return np.asarray(np.abs(values - 1.0) < 1e-9)


def _candidate_reads(
    nests: Sequence[StatementNest], references: StackedReferences, places: Integers
) -> Floats:
    """Return a row for each of some references of which there may be copies.

    It has the number among them, whether there may be a copy of the whole, of a tile, of a steady
    tile, and in how many places is read what moves alike.
    """
    owners, starts = references.owners.tolist(), references.starts.tolist()
    result = []
    for number, place in enumerate(places.tolist()):
        nest = nests[owners[place]]
        packs = nest.packable
        name, count = _read_counts(nest.work)[place - starts[owners[place]]]
        whole, steady = name in packs.whole_arrays, name in packs.disjoint_tile_copies
        in_tiles = name in packs.tile_copies and nest.is_box
        if whole or steady or in_tiles:
            result.append((number, whole, in_tiles, steady, count))
    return np.array(result, dtype=np.float64)


@lru_cache(maxsize=4096)
def _read_counts(work: StatementWork) -> tuple[tuple[str, int], ...]:
    """Return the array of each reference, and how many places are read that move alike.

    Where a subscript may be anything, there are no copies, and no name.
    """
    result: dict[SubscriptedArray, set[tuple[int, ...]]] = {}
    for touch in work.accesses:
        places = result.setdefault((touch.array, touch.subscripts), set())
        if not touch.writes:
            places.add(touch.offsets)
    return tuple(
        ("" if None in subscripts else array, len(places))
        for (array, subscripts), places in result.items()
    )


@dataclass(frozen=True, slots=True, eq=False)
class _PackCandidates:
    """What is known of references, a row for each, of which there may be copies.

    Copies of tiles are made at loop ``first`` or further in, where there are no tiles and no
    threads, and at ``last`` or further out, for all that runs together. ``is_reduction`` are the
    long loops that hold sums, ``spans`` the values of loops over points, a column for each loop.
    ``reads`` says how many reads that move alike are of places of their own.
    """

    whole_arrays: Flags
    tile_copies: Flags
    disjoint_tile_copies: Flags
    reads: Floats
    first: Integers
    last: Integers
    is_reduction: Flags
    instances: Floats
    spans: Floats

    @staticmethod
    def of(nests: Sequence[StatementNest], owners: Integers, reads: Floats) -> _PackCandidates:
        """Look at the loops of the references' nests, those that run more than once."""
        own = [nests[owner] for owner in owners.tolist()]
        width = max(len(nest.lengths) for nest in nests)
        first, last = np.zeros(len(own), dtype=np.int64), np.full(len(own), width)
        sums, spans = np.zeros((len(own), width), dtype=np.bool_), np.ones((len(own), width))
        for row, nest in enumerate(own):
            spans[row, : len(nest.spans)] = nest.spans
            lengths: list[float] = nest.lengths.tolist()
            for place, annotation in enumerate(nest.annotations):
                if isinstance(annotation, UnrollAndJam | VectorLoop):
                    last[row] = min(last[row], place)
                sums[row, place] = (
                    isinstance(annotation, ScalarReplacement) and lengths[place] > TUNING.long_loop
                )
                is_outside = nest.tiled[place] or isinstance(annotation, ParallelLoop)
                if is_outside and lengths[place] > 1:
                    first[row] = place + 1
        _, whole, tiles, steady, counts = reads.T
        instances = np.array([nest.work.instances for nest in own], dtype=np.float64)
        return _PackCandidates(
            whole > 0, tiles > 0, steady > 0, counts, first, last, sums, instances, spans
        )


def _tile_copies(
    chosen: _PackCandidates, moves: Floats, lengths: Floats, sizes: Floats
) -> tuple[Flags, Floats]:
    """Return which references have copies of tiles, and the elements of all these copies.

    A copy made before loop p is that of the loops from p on inwards which the subscripts follow,
    each its own one, by 1: so many elements are in it. All other loops from there on read it
    again, and those further out make it again. ``sizes`` are the bytes of an element.
    """
    every, width = np.arange(len(lengths)), lengths.shape[1]
    moves = np.where((lengths > 1.0)[:, None, :], moves, 0.0)
    is_moving = moves != 0.0
    moving = is_moving.any(axis=1)
    own, others = np.where(moving, lengths, 1.0), np.where(moving, 1.0, lengths)
    follows = ~moving | ((np.count_nonzero(is_moving, axis=1) == 1) & _is_one(moves.sum(axis=1)))
    again, inside = others.cumprod(axis=1) / others, _accumulate_inward(np.multiply, others)
    fits = (
        (_accumulate_inward(np.add, is_moving * 1.0) <= 1.0).all(axis=1)
        & (_accumulate_inward(np.multiply, follows * 1.0) > 0.0)
        & (_accumulate_inward(np.add, moving * 1.0) >= 2.0)
        & (inside >= TUNING.min_reuse)
        & (_accumulate_inward(np.multiply, own) * sizes[:, None] <= TUNING.max_tile_bytes)
        & (np.arange(width) >= chosen.first[:, None])
        & (np.arange(width) <= chosen.last[:, None])
        & (
            (chosen.tile_copies[:, None] & (again <= TUNING.max_tile_copies))
            | chosen.disjoint_tile_copies[:, None]
        )
    )
    place = width - 1 - fits[:, ::-1].argmax(axis=1)
    in_box = again[every, place] * np.where(moving, chosen.spans, 1.0).prod(axis=1)
    by_use = chosen.instances / inside[every, place]
    elements = np.where(chosen.tile_copies, in_box, by_use) * chosen.reads
    return np.asarray(fits.any(axis=1)), elements


def _accumulate_inward(operation: np.ufunc, values: Floats) -> Floats:
    """Return for every loop what comes of it and those inside."""
    return np.asarray(operation.accumulate(values[..., ::-1], axis=-1)[..., ::-1])
