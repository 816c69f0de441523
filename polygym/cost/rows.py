"""The features of a schedule from its rows alone: no tree, no mapping, no isl; for thousands.

:mod:`polygym.cost.candidate` plans loops for a schedule and a mapping. Where schedules alone are to
be ranked, or an agent wants to see what its rows do, that takes too long; here a :class:`Ground` is
worked out once for a program at its sizes, and then every schedule is some products of matrices:

* the rows that are loops, how long they are, and what they touch without tiles
  (:mod:`polygym.cost.stacked`, :mod:`polygym.cost.touches`);
* what dependences leave free: parallel rows, bands, how statements share loops
  (:mod:`polygym.cost.ordering`);
* how references move in the innermost loop, and in the best loop that a vector could take.

A statement has the columns :data:`STATEMENT`. As with candidates they are added up with each one's
share of the work, and stand there once more for the heaviest statement. Nothing depends on names,
nor on the order of statements, arrays or parameters: dependences are counted by the pairs of
statements that they order, since into how many convex pieces one falls is a matter of taste; and of
statements that are equally heavy the one with the greatest columns is the heaviest.

Example: C[i][j] += A[i][k] * B[k][j] by the rows i, j, k. One band of three, in which i and j are
coincident; the innermost loop k moves A by one element and B by a row, and does not move C; a
vector would rather have j, which moves two of them by one and the third one not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polygym.compiler.poly.schedule import Schedule
from polygym.cost.columns import CACHES, RELATIONS, TRAFFIC, Touched, context, slog
from polygym.cost.demands import points
from polygym.cost.ground import Ground
from polygym.cost.nests import Floats, untiled
from polygym.cost.ordering import Ordering, ordering
from polygym.cost.row_columns import (
    OF_ANY_SIZE,
    STATEMENT,
    freedom,
    moving,
    strides,
    whole,
)
from polygym.cost.stacked import RowLoops, loops
from polygym.cost.touches import relations, touches, traffic, working_sets
from polygym.pickles import pickled_by_name

ROW_NAMES = (
    *(f"{name}_sum" for name in STATEMENT),
    *(f"{name}_main" for name in STATEMENT),
    *RELATIONS,
    "statements",
    "nests",
    "innermost_nests",
    "carried_apart",
    "carried_by_first",
    "carried_inside",
    "total_cycles",
    "total_operations",
    *(f"total_{name}" for name in TRAFFIC),
)
"""What the columns of :attr:`RowFeatures.vector` are."""

_CYCLES = STATEMENT.index("cycles")
_FIRST_TRAFFIC = STATEMENT.index(TRAFFIC[0])
_TOTALS = [_CYCLES, 0, *range(_FIRST_TRAFFIC, _FIRST_TRAFFIC + len(CACHES))]


@pickled_by_name
@dataclass(frozen=True, slots=True, eq=False)
class RowFeatures:
    """The features of a schedule: one vector, and what the loops and the order are."""

    ground: Ground
    vector: Floats
    loops: RowLoops
    ordering: Ordering
    heaviest: int

    @property
    def context(self) -> Floats:
        """The loop context of the heaviest statement, a row for every loop."""
        stack, place = self.ground.stack, self.heaviest
        work = stack.works[place]
        own = self.loops.vectors[place, : stack.counts[place], : work.depth]
        rows = [tuple(map(int, row)) for row in own]
        return context(Touched.of(untiled(work, rows, stack.planes.equations[place])))


def row_features(known: Ground, schedule: Schedule) -> RowFeatures:
    """Return the features of a legal schedule; isl is not asked."""
    stack = known.stack
    rows = points(known.demands, schedule)
    order = ordering(known.demands, rows)
    wide = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
    found = loops(stack, wide[:, known.columns].transpose(1, 0, 2))
    touched = touches(stack.references, found)
    working = working_sets(stack.references, touched)
    arriving = traffic(stack.references, found, touched, working)
    by_name = {
        **moving(known, found, working, arriving),
        **strides(known, found),
        **freedom(known, found, order),
    }
    columns = np.empty((len(stack.works), len(STATEMENT)))
    for place, name in enumerate(STATEMENT):
        columns[:, place] = by_name[name]
    columns[:, : len(OF_ANY_SIZE)] = slog(columns[:, : len(OF_ANY_SIZE)])
    cycles = columns[:, _CYCLES]
    weights = np.exp2(cycles - cycles.max())
    weights /= weights.sum()
    main = _heaviest(columns)
    vector = np.concatenate(
        [
            weights @ columns,
            columns[main],
            weights @ relations(stack.references, known.instances, found, touched),
            whole(known, found, order),
            slog(np.sum(np.exp2(columns[:, _TOTALS]) - 1.0, axis=0)),
        ]
    )
    return RowFeatures(known, vector, found, order, main)


def _heaviest(columns: Floats) -> int:
    """Return the heaviest statement, of equals the one with the greatest columns."""
    cycles = columns[:, _CYCLES]
    equal: list[int] = np.flatnonzero(cycles >= cycles.max() - 1e-9).tolist()
    if len(equal) == 1:
        return equal[0]
    return int(max(equal, key=lambda place: tuple(columns[place].round(9).tolist())))


__all__ = ["ROW_NAMES", "RowFeatures", "row_features"]
