"""Packs: which reads vectors find side by side in copies of arrays, and what is copied for that.

A vector along j finds B[j][k] in as many rows as it has lanes, and T[k][j] = B[j][k] side by side
(:mod:`polygym.compiler.codegen.loops.pack`). A plan says that before loops are made of it: which
loop runs in vectors, what each access does along it, and which arrays are not written meanwhile.

* A copy of a *tile* is made before one of the loops around (``loops/tile_plan``): before the
  innermost one from which on inwards the loops are those of a box, that read every element 16 times
  or more, and take 256 KiB at most. Loops further out may make the same copy twice, not more often.
* Else there is a copy of the *whole* array (``loops/pack``), if all instances read it 16 times.
* In tiles in which nothing but terms of sums waits (``trees/free_tiles``) there are copies of tiles
  of what other tiles write: *steady* ones, however often they are made.
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

from polygym.compiler.codegen.common.loop_annotation import Hold, Jam, Parallel, Vector
from polygym.compiler.codegen.common.packable import OFTEN, spare
from polygym.compiler.codegen.loops.pack import LONG
from polygym.compiler.codegen.loops.tile_plan import MOST_BYTES, MOST_TIMES
from polygym.cost.nests import Floats, Nest
from polygym.cost.packable import NOTHING
from polygym.cost.reach import Place, Work
from polygym.cost.stack import Flags, Integers, References
from polygym.cost.touches import Loops


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """For every reference: whether copies are read, and how many elements are copied for that."""

    reads: Flags
    elements: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """Between which loops of each nest copies are made.

    From loop ``first`` on inwards there are no tiles and no threads, further in than ``last`` there
    is one copy for what runs together. ``sums`` are the long loops that hold sums, N·W.
    ``instances`` are those of the statements, ``spans`` the values of loops over points, N·W.
    """

    vector: Integers
    first: Integers
    last: Integers
    sums: Flags
    instances: Floats
    spans: Floats

    @staticmethod
    def of(nests: Sequence[Nest], width: int) -> _Bounds:
        """Look at the loops of nests, those that run more than once."""
        count = len(nests)
        vector, first = np.full(count, -1), np.zeros(count, dtype=np.int64)
        last, sums = np.full(count, width), np.zeros((count, width), dtype=np.bool_)
        spans = np.ones((count, width))
        for one, nest in enumerate(nests):
            spans[one, : len(nest.spans)] = nest.spans
            lengths: list[float] = nest.lengths.tolist()
            for place, annotation in enumerate(nest.annotations):
                match annotation:
                    case Vector():
                        vector[one] = place
                        last[one] = min(last[one], place)
                    case Jam():
                        last[one] = min(last[one], place)
                    case Hold():
                        sums[one, place] = lengths[place] > LONG
                    case _:
                        pass
                is_outside = nest.tiled[place] or isinstance(annotation, Parallel)
                if is_outside and lengths[place] > 1:
                    first[one] = place + 1
        instances = np.array([nest.work.instances for nest in nests], dtype=np.float64)
        return _Bounds(vector, first, last, sums, instances, spans)


@dataclass(frozen=True, slots=True, eq=False)
class _Allowed:
    """Which copies each reference may have, and how many reads of it are no other one's."""

    whole: Flags
    tiles: Flags
    steady: Flags
    reads: Floats

    @staticmethod
    def of(nests: Sequence[Nest]) -> _Allowed:
        """Look at what the statements of nests may read."""
        rows = [
            (name in packs.whole, nest.is_box and name in packs.tiles, name in packs.steady, count)
            for nest in nests
            for packs in (nest.packs,)
            for name, count in _reads(nest.work)
        ]
        whole, tiles, steady, counts = np.array(rows, dtype=np.float64).T
        return _Allowed(whole > 0, tiles > 0, steady > 0, counts)


@lru_cache(maxsize=4096)
def _reads(work: Work) -> tuple[tuple[str, int], ...]:
    """Return the array of each reference, and how many places are read that move alike."""
    found: dict[Place, set[tuple[int, ...]]] = {}
    for touch in work.touches:
        places = found.setdefault((touch.array, touch.subscripts), set())
        if not touch.writes:
            places.add(touch.offsets)
    return tuple((array, len(places)) for (array, _), places in found.items())


def packed(nests: Sequence[Nest], references: References, loops: Loops) -> Packed:
    """Return what is read from copies in nests, the references of which these are."""
    count, width = loops.strides.shape
    if all(nest.packs == NOTHING for nest in nests):
        return Packed(np.zeros(count, dtype=np.bool_), np.zeros(count))
    bounds, allowed, owners = _Bounds.of(nests, width), _Allowed.of(nests), references.owners
    along = loops.moves[np.arange(count), :, bounds.vector[owners]]
    is_plain = (bounds.vector >= 0)[owners] & ~references.anywhere.any(axis=1) & ~references.writes
    one_step = is_plain & ((along != 0.0).sum(axis=1) == 1) & _is_one(along.sum(axis=1))
    is_down, is_row = one_step & (along[:, -1] == 0.0), one_step & (along[:, -1] != 0.0)
    has_tile, in_tiles = _tiles(bounds, allowed, references, loops)
    has_tile &= is_down
    crowded = is_row & _walks_down(bounds, references, loops)
    has_whole = allowed.whole & ~has_tile & (is_down | crowded)
    every = references.extents.prod(axis=1)
    elements = np.where(has_tile, in_tiles, np.where(has_whole, every, 0.0))
    return Packed(has_tile | has_whole, elements)


def _is_one(values: Floats) -> Flags:
    return np.asarray(np.abs(values - 1.0) < 1e-9)


def _tiles(
    bounds: _Bounds, allowed: _Allowed, references: References, loops: Loops
) -> tuple[Flags, Floats]:
    """Return which references could have copies of tiles, and the elements of all these copies.

    A copy made before loop p is that of the loops from p on inwards which the subscripts follow,
    each its own one, by 1: so many elements are in it. All other loops from there on read it
    again, and those further out make it again.
    """
    owners = references.owners
    lengths = loops.lengths[owners]
    width = lengths.shape[1]
    moves = np.where((lengths > 1.0)[:, None, :], loops.moves, 0.0)
    moving = np.asarray((moves != 0.0).any(axis=1))
    own, others = np.where(moving, lengths, 1.0), np.where(moving, 1.0, lengths)
    followed = (_inwards(np.add, (moves != 0.0) * 1.0) <= 1.0).all(axis=1)
    follows = ~moving | (((moves != 0.0).sum(axis=1) == 1) & _is_one(moves.sum(axis=1)))
    again = others.cumprod(axis=1) / others
    places = np.arange(width)
    fits = (
        followed
        & (_inwards(np.multiply, follows * 1.0) > 0.0)
        & (_inwards(np.add, moving * 1.0) >= 2.0)
        & (_inwards(np.multiply, others) >= OFTEN)
        & (_inwards(np.multiply, own) * references.bytes[:, None] <= MOST_BYTES)
        & (places >= bounds.first[owners, None])
        & (places <= bounds.last[owners, None])
        & ((allowed.tiles[:, None] & (again <= MOST_TIMES)) | allowed.steady[:, None])
    )
    place = width - 1 - fits[:, ::-1].argmax(axis=1)
    every = np.arange(len(owners))
    in_box = again[every, place] * np.where(moving, bounds.spans[owners], 1.0).prod(axis=1)
    by_use = bounds.instances[owners] / _inwards(np.multiply, others)[every, place]
    elements = np.where(allowed.tiles, in_box, by_use) * allowed.reads
    return np.asarray(fits.any(axis=1)), elements


def _inwards(operation: np.ufunc, values: Floats) -> Floats:
    """Return for every loop what comes of it and those inside."""
    return np.asarray(operation.accumulate(values[..., ::-1], axis=-1)[..., ::-1])


def _walks_down(bounds: _Bounds, references: References, loops: Loops) -> Flags:
    """Return which references go from row to row of a crowded array in a long sum."""
    sums = bounds.sums[references.owners]
    down = np.asarray(((loops.moves[:, :-1] != 0.0).any(axis=1) & sums).any(axis=1))
    rows = references.extents[:, -1].tolist(), references.bytes.tolist()
    is_crowded = [spare(int(row), int(size)) > 0 for row, size in zip(*rows, strict=True)]
    return down & np.array(is_crowded, dtype=np.bool_)


__all__ = ["Packed", "packed"]
