"""The untiled loops of all statements at once: the numbers of ``nests``, quickly.

What :func:`polygym.cost.features.loops.nests.untiled_nest` says of one statement's loops is said
here of all statements of a program in one go: arrays with a row for every statement or reference,
filled up with loops that run once. It is for rows of thousands of schedules; the tests compare it
with the other, number for number. What the loops touch is for
:mod:`polygym.cost.features.loops.footprints` to say.

Which rows of a schedule are loops. Let a₁, a₂, … be the rows of a statement that are loops so far,
G their Gram matrix, and P the projector on what they leave free. For a further row a

    det G' = |P·a|²·det G,

and both determinants are integers: a is independent of the others iff the right side is not 0, so
it need only be known to less than 1/2. Floating point knows it so up to |a|²·det G = 10¹²; beyond,
integers decide (:func:`polygym.poly.innermost.independent_rows`). Example: after (1, 1) with
G = 2, the row (2, 2) has P·a = 0, and (1, 0) has P·a = (1/2, -1/2) and det G' = 1/2·2 = 1.

Where the rows of a schedule leave instances tied, the loops that are missing are those of the
original order, which come last.
"""

from dataclasses import dataclass

import numpy as np

from polygym.cost.features.loops.footprints import StackedLoops
from polygym.cost.features.loops.nests import Floats, snap_to_zero
from polygym.cost.features.loops.stacked_statements import Integers, StackedStatements
from polygym.cost.features.statements.row_steps import row_step
from polygym.poly.innermost import independent_rows

# Up to this a determinant in floating point is wrong by far less than 1/2.
_MAX_EXACT = 1e12
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RowLoops(StackedLoops):
    """Loops of all statements, their places in the schedule (``rows``), and their ``row_vectors``.

    A place behind the last row is one of the original order. Vectors are the iterators' parts.
    """

    rows: Integers
    row_vectors: Floats


def schedule_loops(stack: StackedStatements, rows: Floats) -> RowLoops:
    """Return the loops that the rows of a schedule make; rows are S·K·D."""
    every = np.concatenate([rows, stack.original], axis=1)
    chosen = _independent_rows(stack, every)
    is_loop = np.arange(every.shape[2]) < stack.counts[:, None]
    places = np.arange(len(every))[:, None]
    vectors = every[places, chosen] * is_loop[:, :, None]
    values = stack.corners @ vectors.transpose(0, 2, 1)
    high, low = np.floor(values.max(axis=1) + _ROUNDING), np.ceil(values.min(axis=1) - _ROUNDING)
    steps = _row_steps(stack, vectors)
    lengths = np.where(is_loop, np.maximum(1.0, (high - low) // steps + 1.0), 1.0)
    square = np.where(is_loop[:, :, None], vectors, stack.equations.fillers)
    inverse = np.linalg.inv(square) * (is_loop * steps)[:, None, :]
    moves = snap_to_zero(stack.references.access_strides @ inverse[stack.references.owners])
    strides = np.einsum("re,rel->rl", stack.references.strides, moves)
    box = lengths[:, ::-1].cumprod(axis=1)[:, ::-1]
    return RowLoops(stack.counts, lengths, box, moves, strides, chosen, vectors)


def _row_steps(stack: StackedStatements, vectors: Floats) -> Floats:
    """Return by how much the rows of loops grow, S·D."""
    rows = vectors.astype(np.int64)
    floats: Floats = np.maximum(1.0, np.gcd.reduce(rows, axis=2, initial=0))
    for place, work in enumerate(stack.works):
        if not work.domain_holes:
            continue
        own = [tuple(map(int, row)) for row in rows[place, : stack.counts[place], : work.depth]]
        for number, row in enumerate(own):
            floats[place, number] = row_step(work.domain_holes, row, own[:number])
    return floats


def _independent_rows(stack: StackedStatements, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows."""
    count, most, depth = rows.shape
    array = np.zeros((count, depth), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    free, grams = stack.equations.free, stack.equations.grams
    squares = np.einsum("skd,skd->sk", rows, rows)
    for place in range(most):
        left = np.einsum("sde,se->sd", free, rows[:, place])
        rest = (left * left).sum(axis=1)
        if (squares[:, place] * grams).max() > _MAX_EXACT:
            return _independent_rows_exactly(stack, rows)
        is_new = rest * grams > 0.5
        (at,) = is_new.nonzero()
        if not len(at):
            continue
        array[at, filled[at]] = place
        filled[at] += 1
        if (filled >= stack.counts).all():
            break
        scale = np.where(is_new, rest, 1.0)
        gone = left * is_new[:, None]
        free = free - gone[:, :, None] * (gone / scale[:, None])[:, None, :]
        grams = grams * scale
    return array


def _independent_rows_exactly(stack: StackedStatements, rows: Floats) -> Integers:
    """Return the places of each statement's independent rows, by integers."""
    array = np.zeros((rows.shape[0], rows.shape[2]), dtype=np.int64)
    for place, (work, plane) in enumerate(zip(stack.works, stack.equations.equations, strict=True)):
        own = [tuple(map(int, row)) for row in rows[place, :, : work.depth]]
        places = independent_rows(own, plane)
        array[place, : len(places)] = places
    return array
