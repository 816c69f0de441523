"""The untiled loops of all statements at once: the numbers of ``nests`` and ``columns``, quickly.

What :func:`polygym.cost.nests.untiled` says of one statement's loops, and
:mod:`polygym.cost.columns` of what they touch, is said here of all statements of a program in one
go: arrays with a row for every statement or reference, filled up with loops that run once. It is
for rows of thousands of schedules; the tests compare it with the other, number for number.

Which rows of a schedule are loops. Let a₁, a₂, … be the rows of a statement that are loops so far,
G their Gram matrix, and P the projector on what they leave free. For a further row a

    det G' = |P·a|²·det G,

and both determinants are integers: a is independent of the others iff the right side is not 0, so
it need only be known to less than 1/2. Floating point knows it so up to |a|²·det G = 10¹²; beyond,
integers decide (:func:`polygym.compiler.poly.innermost.independent`). Example: after (1, 1) with
G = 2, the row (2, 2) has P·a = 0, and (1, 0) has P·a = (1/2, -1/2) and det G' = 1/2·2 = 1.

Where the rows of a schedule leave instances tied, the loops that are missing are those of the
original order, which come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polygym.compiler.poly.innermost import independent
from polygym.cost.columns import CACHES, THRESHOLDS, slog
from polygym.cost.nests import LINE, Floats, settled, untiled
from polygym.cost.reach import Work

# Up to this a determinant in floating point is wrong by far less than 1/2.
_SURE = 1e12
_CLOSE = 1e-6
_CACHES = np.array(CACHES)
_THRESHOLDS = np.array(THRESHOLDS)

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """What statements are like whatever the schedule; axes: S statements, R references, D loops.

    ``corners`` are S·C·D; ``planes`` the equations of each domain, ``free`` the projectors on what
    they leave free (S·D·D) with the determinants ``grams``, and ``fillers`` the rows that make a
    square of loops, equations and dimensions that a statement does not have. ``original`` are the
    rows of the original order. ``moves`` are subscripts, R·E·D, aligned to the last one.
    """

    works: tuple[Work, ...]
    counts: Integers
    corners: Floats
    planes: tuple[tuple[tuple[int, ...], ...], ...]
    free: Floats
    grams: Floats
    fillers: Floats
    original: Floats
    starts: Integers
    owners: Integers
    moves: Floats
    strides: Floats
    spread: Floats
    extents: Floats
    anywhere: Flags
    bytes: Floats
    reads: Floats
    writes: Flags
    is_array: Flags

    @staticmethod
    def of(
        works: Sequence[Work],
        planes: Sequence[tuple[tuple[int, ...], ...]],
        original: Sequence[Sequence[tuple[int, ...]]],
    ) -> Stack:
        """Put statements on top of each other."""
        depth = max(1, *(work.depth for work in works))
        count = len(works)
        most = max(1, *(len(work.corners) for work in works))
        corners = np.zeros((count, most, depth))
        free = np.zeros((count, depth, depth))
        grams = np.ones(count)
        fillers = np.zeros((count, depth, depth))
        rows = np.zeros((count, max(map(len, original)), depth))
        for place, (work, plane) in enumerate(zip(works, planes, strict=True)):
            own = np.array(work.corners or ((0,) * work.depth,), dtype=np.float64)
            corners[place, :, : work.depth] = own[np.minimum(np.arange(most), len(own) - 1)]
            free[place, : work.depth, : work.depth] = np.eye(work.depth)
            fillers[place] = np.eye(depth)
            if plane:
                matrix = np.array(plane, dtype=np.float64)
                free[place, : work.depth, : work.depth] -= np.linalg.pinv(matrix) @ matrix
                grams[place] = np.linalg.det(matrix @ matrix.T)
                fillers[place, work.depth - len(plane) : work.depth, : work.depth] = matrix
            for number, row in enumerate(original[place]):
                rows[place, number, : work.depth] = row
        nests = [
            untiled(work, [tuple(map(int, row)) for row in np.eye(work.depth)]) for work in works
        ]
        references = [one for nest in nests for one in nest.references]
        ranks = max(1, *(len(one.extents) for one in references))
        size = len(references)
        moves = np.zeros((size, ranks, depth))
        strides, spread = np.zeros((size, ranks)), np.zeros((size, ranks))
        extents, anywhere = np.ones((size, ranks)), np.zeros((size, ranks), dtype=np.bool_)
        for place, one in enumerate(references):
            first = ranks - len(one.extents)
            moves[place, first:, : one.moves.shape[1]] = one.moves
            strides[place, first:] = np.cumprod([1, *one.extents[:0:-1]])[::-1][: len(one.extents)]
            spread[place, first:], extents[place, first:] = one.spread, one.extents
            anywhere[place, first:] = one.free
        lengths = [len(nest.references) for nest in nests]
        return Stack(
            tuple(works),
            np.array([w.depth - len(p) for w, p in zip(works, planes, strict=True)], np.int64),
            corners,
            tuple(planes),
            free,
            grams,
            fillers,
            rows,
            np.cumsum([0, *lengths[:-1]], dtype=np.int64),
            np.repeat(np.arange(count), lengths),
            moves,
            strides,
            spread,
            extents,
            anywhere,
            np.array([one.bytes for one in references], dtype=np.float64),
            np.array([one.reads for one in references], dtype=np.float64),
            np.array([one.writes for one in references], dtype=np.bool_),
            np.array([len(one.extents) > 0 for one in references], dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Loops:
    """The loops of all statements, outermost first; ``rows`` are their places in the schedule.

    A place behind the last row is one of the original order. ``is_loop`` says which are there,
    ``vectors`` are the iterators' parts; ``moves`` and ``strides`` are those of every reference.
    """

    rows: Integers
    is_loop: Flags
    vectors: Floats
    lengths: Floats
    strides: Floats
    moves: Floats


def loops(stack: Stack, rows: Floats) -> Loops:
    """Return the loops that the rows of a schedule make; rows are S·K·D."""
    every = np.concatenate([rows, stack.original], axis=1)
    chosen = _chosen(stack, every)
    is_loop = np.arange(every.shape[2]) < stack.counts[:, None]
    places = np.arange(len(every))[:, None]
    vectors = every[places, chosen] * is_loop[:, :, None]
    values = stack.corners @ vectors.transpose(0, 2, 1)
    high, low = np.floor(values.max(axis=1) + _CLOSE), np.ceil(values.min(axis=1) - _CLOSE)
    lengths = np.where(is_loop, np.maximum(1.0, high - low + 1.0), 1.0)
    square = np.where(is_loop[:, :, None], vectors, stack.fillers)
    inverse = np.linalg.inv(square) * is_loop[:, None, :]
    moves = settled(stack.moves @ inverse[stack.owners])
    strides = np.einsum("re,rel->rl", stack.strides, moves)
    return Loops(chosen, is_loop, vectors, lengths, strides, moves)


def _chosen(stack: Stack, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows."""
    count, most, depth = rows.shape
    found = np.zeros((count, depth), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    free, grams = stack.free, stack.grams
    squares = np.einsum("skd,skd->sk", rows, rows)
    for place in range(most):
        left = np.einsum("sde,se->sd", free, rows[:, place])
        rest = (left * left).sum(axis=1)
        if (squares[:, place] * grams).max() > _SURE:
            return _surely(stack, rows)
        is_new = rest * grams > 0.5
        (at,) = is_new.nonzero()
        if not len(at):
            continue
        found[at, filled[at]] = place
        filled[at] += 1
        if (filled >= stack.counts).all():
            break
        scale = np.where(is_new, rest, 1.0)
        gone = left * is_new[:, None]
        free = free - gone[:, :, None] * (gone / scale[:, None])[:, None, :]
        grams = grams * scale
    return found


def _surely(stack: Stack, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows, by integers."""
    found = np.zeros((rows.shape[0], rows.shape[2]), dtype=np.int64)
    for place, (work, plane) in enumerate(zip(stack.works, stack.planes, strict=True)):
        own = [tuple(map(int, row)) for row in rows[place, :, : work.depth]]
        places = independent(own, plane)
        found[place, : len(places)] = places
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """What one execution of every loop touches, R·(D + 1); the last entry is the statement's."""

    elements: Floats
    bytes: Floats


def touches(stack: Stack, found: Loops) -> Touches:
    """Return what is touched, as :func:`polygym.cost.nests.touched` does for one reference."""
    lengths = found.lengths[stack.owners]
    size, width = lengths.shape
    moves = np.abs(found.moves)
    reach = np.zeros((*moves.shape[:2], width + 1))
    steps = moves * (lengths - 1.0)[:, None, :]
    reach[:, :, :width] = steps[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    inner, most = np.ones((size, width + 1)), np.ones((size, width + 1))
    inner[:, :width] = lengths[:, ::-1].cumprod(axis=1)[:, ::-1]
    moved = np.where(np.asarray(moves.any(axis=1)), lengths, 1.0)
    most[:, :width] = moved[:, ::-1].cumprod(axis=1)[:, ::-1]
    ranges = reach + stack.spread[:, :, None] + 1.0
    if stack.anywhere.any():
        ranges = np.where(stack.anywhere[:, :, None], inner[:, None, :], ranges)
    ranges = np.minimum(ranges, stack.extents[:, :, None])
    elements = ranges.prod(axis=1)
    bound = most * (stack.reads + stack.writes)[:, None]
    elements = np.where(
        np.asarray(stack.anywhere.any(axis=1))[:, None], elements, np.minimum(elements, bound)
    )
    along = np.minimum(ranges[:, -1], elements)
    dense = np.minimum(along, reach[:, -1] * stack.bytes[:, None] / LINE + 1.0)
    lines = elements / along * np.maximum(1.0, dense) * LINE
    is_array = stack.is_array[:, None]
    return Touches(
        np.where(is_array, elements, 1.0), np.where(is_array, lines, stack.bytes[:, None])
    )


def working_sets(stack: Stack, seen: Touches) -> Floats:
    """Return the bytes that one execution of each loop touches, S·(D + 1)."""
    return np.asarray(np.add.reduceat(seen.bytes, stack.starts, axis=0))


def traffic(stack: Stack, found: Loops, seen: Touches, working: Floats) -> Floats:
    """Return the bytes that come into caches while all loops run, a column for each cache."""
    too_large = working[:, :, None] > _CACHES
    fits = np.minimum(
        np.logical_and.accumulate(too_large, axis=1).sum(axis=1), stack.counts[:, None]
    )
    around = np.concatenate([np.ones((len(working), 1)), found.lengths.cumprod(axis=1)], axis=1)
    before = np.maximum(fits - 1, 0)
    every, owners = np.arange(len(fits))[:, None], stack.owners
    again, once = around[every, fits], around[every, before]
    each = np.arange(len(owners))[:, None]
    moves = np.asarray(found.moves.any(axis=1))[each, before[owners]]
    times = np.where(moves | (fits == 0)[owners], again[owners], once[owners])
    sizes = seen.bytes[each, fits[owners]]
    return np.asarray(np.add.reduceat(sizes * times, stack.starts, axis=0))


def relations(stack: Stack, found: Loops, seen: Touches) -> Floats:
    """Return the relation features of all statements (:mod:`polygym.cost.columns`)."""
    width = found.lengths.shape[1]
    lengths = found.lengths[stack.owners]
    inner = lengths[:, ::-1].cumprod(axis=1)[:, ::-1]
    outer = lengths.cumprod(axis=1) / lengths
    is_loop = found.is_loop[stack.owners]
    reuse = np.where(is_loop, slog(inner / seen.elements[:, :width]), 0.0)
    outer = np.where(is_loop, slog(outer), 0.0)
    below = seen.bytes[:, :width, None] < _THRESHOLDS
    best = [np.where(below, one[:, :, None], 0.0).max(axis=1) for one in (reuse, outer)]
    return np.asarray(np.maximum.reduceat(np.concatenate(best, axis=1), stack.starts, axis=0))
