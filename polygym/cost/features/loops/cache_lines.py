"""Footprint of one reference inside each loop around it: elements, and lines of memory.

How many elements an access touches inside loops: every subscript takes no more values than lie
between its ends, 1 + Σ |c|·(length - 1), of which it is every second one in A[2i] and A[4i + 2j],
no more than the array has, and all together no more than the loops on which they depend have
iterations, nor than all instances touch, which is counted exactly. Where loops run over a box and
the subscripts each follow loops of their own that is the exact number for every loop, and
everywhere it is for the outermost (the tests enumerate). For inner loops it is a bound, that of the
box around: in for i < 8 for j <= i, lengths are 8 and 8, the outer loop has 36 instances and
touches 36 elements of A[i][j], the inner one 8 and 8 in its longest execution; the rows of a star
of five points touch their three lines; in for i < n for j from i to i + 3 the inner loop is n long.

How many lines of memory these elements are in, of :data:`LINE_BYTES` bytes. Rows of an array lie
one behind the other: where they are touched whole they are one run, and so on outwards. Let
elements have b bytes, let subscript d take r_d values, the last of which is w_d behind the first,
and let it move by s_d elements in memory. If what subscripts from m on take is a run, all of it
lies in

    Π_{d<m} r_d runs of (Σ_{d≥m} w_d·s_d)·b / 64 + 1 lines each,

the number of lines that a run has in the mean, which may begin at any element. The least over all m
is taken; the last m is that of a line for every element. There the runs are apart by a line or
more, so that they share none, and what is apart by less leaves no line out. For a box, this differs
from the exact number by less than one line for every run, wherever the array begins, and it is less
than all lines of the array, and one.

Example: float W[64][64][3][3] has 36864 elements in 147456 bytes, 2304 lines. Touched whole it is
one run of 36863·4/64 + 1 = 2304.9 lines (with a run for every row of three elements, 12288 runs of
1.125). Of double P[100][16], P[i][j] for j < 5 is 100 runs of 4·8/64 + 1 = 1.5 lines: 150, not the
199 of all in between; the exact number is 100 where P begins at a line, and 200 at worst.

Where fewer elements are touched than are in the box, as in a triangle, there are as many runs as it
takes to hold them. Accesses that are one reference but far apart have a run each: x[i] and x[i + n]
for 9 values of i twice two lines, not all between. In a diagonal A[i][i] the last subscript counts
as one run, which is too few lines.
"""

import math
from collections.abc import Sequence

import numpy as np

from polygym.cost.features.loops.nests import ArrayReference, Floats, StatementNest

LINE_BYTES = 64
"""Bytes that come from memory together."""


def reference_footprint(nest: StatementNest, reference: ArrayReference) -> tuple[Floats, Floats]:
    """Return, for every loop, the elements and the bytes of whole lines inside one execution.

    The last entry is that of the statement alone, inside no loop.
    """
    lengths: list[float] = nest.lengths.tolist()
    count = len(lengths)
    if not len(reference.access_strides):
        return np.ones(count + 1), np.full(count + 1, float(reference.bytes))
    moves: list[list[float]] = np.abs(reference.access_strides).tolist()
    dimensions = range(len(moves))
    accesses = float(reference.reads + reference.writes)
    any_free = any(reference.unbounded)
    reach = [0.0] * len(moves)
    box, most = [*nest.box.tolist(), 1.0], 1.0
    elements, lines = [0.0] * (count + 1), [0.0] * (count + 1)
    for place in range(count, -1, -1):
        if place < count:
            # What this loop and those inside it do together.
            steps = lengths[place] - 1.0
            for dimension in dimensions:
                reach[dimension] += moves[dimension][place] * steps
            if any(moves[dimension][place] > 0 for dimension in dimensions):
                most *= lengths[place]
        ranges = [
            min(
                box[place]
                if reference.unbounded[dimension]
                else (reach[dimension] + reference.spread[dimension])
                / reference.granularity[dimension]
                + 1.0,
                float(reference.extents[dimension]),
            )
            for dimension in dimensions
        ]
        touched = math.prod(ranges)
        if not any_free:
            touched = min(touched, most * accesses, reference.max_elements)
        elements[place], lines[place] = (
            touched,
            _line_count(reference, touched, ranges, reach) * LINE_BYTES,
        )
    return np.array(elements), np.array(lines)


def _line_count(
    reference: ArrayReference, elements: float, ranges: Sequence[float], reach: Sequence[float]
) -> float:
    """Return in how many lines elements are: the least, over the subscripts at which runs begin.

    ``ranges`` says how many values each subscript takes, ``reach`` how far one access moves it.
    """
    accesses = float(reference.reads + reference.writes)
    least, values, step = elements, 1.0, reference.bytes / LINE_BYTES
    own = together = 0.0
    for place in range(len(ranges) - 1, -1, -1):
        end = float(reference.extents[place]) - 1.0
        moved = end if reference.unbounded[place] else min(reach[place], end)
        own += moved * step
        together += min(moved + reference.spread[place], end) * step
        values *= ranges[place]
        step *= reference.extents[place]
        run = min(together + 1.0, (own + 1.0) * accesses)
        least = min(least, elements / min(values, elements) * run)
    return least
