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

from dataclasses import dataclass

import numpy as np

from polygym.compiler.poly.innermost import independent
from polygym.cost.columns import CACHES, THRESHOLDS, slog
from polygym.cost.nests import LINE, Floats, settled
from polygym.cost.stack import Flags, Integers, Stack

# Up to this a determinant in floating point is wrong by far less than 1/2.
_SURE = 1e12
_CLOSE = 1e-6
_CACHES = np.array(CACHES)
_THRESHOLDS = np.array(THRESHOLDS)


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
    square = np.where(is_loop[:, :, None], vectors, stack.planes.fillers)
    inverse = np.linalg.inv(square) * is_loop[:, None, :]
    moves = settled(stack.references.moves @ inverse[stack.references.owners])
    strides = np.einsum("re,rel->rl", stack.references.strides, moves)
    return Loops(chosen, is_loop, vectors, lengths, strides, moves)


def _chosen(stack: Stack, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows."""
    count, most, depth = rows.shape
    found = np.zeros((count, depth), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    free, grams = stack.planes.free, stack.planes.grams
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
    for place, (work, plane) in enumerate(zip(stack.works, stack.planes.equations, strict=True)):
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
    lengths = found.lengths[stack.references.owners]
    size, width = lengths.shape
    moves = np.abs(found.moves)
    reach = np.zeros((*moves.shape[:2], width + 1))
    steps = moves * (lengths - 1.0)[:, None, :]
    reach[:, :, :width] = steps[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    inner, most = np.ones((size, width + 1)), np.ones((size, width + 1))
    inner[:, :width] = lengths[:, ::-1].cumprod(axis=1)[:, ::-1]
    moved = np.where(np.asarray(moves.any(axis=1)), lengths, 1.0)
    most[:, :width] = moved[:, ::-1].cumprod(axis=1)[:, ::-1]
    ranges = reach + stack.references.spread[:, :, None] + 1.0
    if stack.references.anywhere.any():
        ranges = np.where(stack.references.anywhere[:, :, None], inner[:, None, :], ranges)
    ranges = np.minimum(ranges, stack.references.extents[:, :, None])
    elements = ranges.prod(axis=1)
    bound = most * (stack.references.reads + stack.references.writes)[:, None]
    elements = np.where(
        np.asarray(stack.references.anywhere.any(axis=1))[:, None],
        elements,
        np.minimum(elements, bound),
    )
    along = np.minimum(ranges[:, -1], elements)
    dense = np.minimum(along, reach[:, -1] * stack.references.bytes[:, None] / LINE + 1.0)
    lines = elements / along * np.maximum(1.0, dense) * LINE
    is_array = stack.references.is_array[:, None]
    return Touches(
        np.where(is_array, elements, 1.0),
        np.where(is_array, lines, stack.references.bytes[:, None]),
    )


def working_sets(stack: Stack, seen: Touches) -> Floats:
    """Return the bytes that one execution of each loop touches, S·(D + 1)."""
    return np.asarray(np.add.reduceat(seen.bytes, stack.references.starts, axis=0))


def traffic(stack: Stack, found: Loops, seen: Touches, working: Floats) -> Floats:
    """Return the bytes that come into caches while all loops run, a column for each cache."""
    too_large = working[:, :, None] > _CACHES
    fits = np.minimum(
        np.logical_and.accumulate(too_large, axis=1).sum(axis=1), stack.counts[:, None]
    )
    around = np.concatenate([np.ones((len(working), 1)), found.lengths.cumprod(axis=1)], axis=1)
    before = np.maximum(fits - 1, 0)
    every, owners = np.arange(len(fits))[:, None], stack.references.owners
    again, once = around[every, fits], around[every, before]
    each = np.arange(len(owners))[:, None]
    moves = np.asarray(found.moves.any(axis=1))[each, before[owners]]
    times = np.where(moves | (fits == 0)[owners], again[owners], once[owners])
    sizes = seen.bytes[each, fits[owners]]
    return np.asarray(np.add.reduceat(sizes * times, stack.references.starts, axis=0))


def relations(stack: Stack, found: Loops, seen: Touches) -> Floats:
    """Return the relation features of all statements (:mod:`polygym.cost.columns`)."""
    width = found.lengths.shape[1]
    lengths = found.lengths[stack.references.owners]
    inner = lengths[:, ::-1].cumprod(axis=1)[:, ::-1]
    outer = lengths.cumprod(axis=1) / lengths
    is_loop = found.is_loop[stack.references.owners]
    reuse = np.where(is_loop, slog(inner / seen.elements[:, :width]), 0.0)
    outer = np.where(is_loop, slog(outer), 0.0)
    below = seen.bytes[:, :width, None] < _THRESHOLDS
    best = [np.where(below, one[:, :, None], 0.0).max(axis=1) for one in (reuse, outer)]
    return np.asarray(
        np.maximum.reduceat(np.concatenate(best, axis=1), stack.references.starts, axis=0)
    )
