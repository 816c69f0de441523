"""The features of a schedule from its rows alone: no tree, no mapping, no isl; for thousands.

:mod:`polygym.cost.features.candidates.candidate_vector` plans loops for a schedule and a mapping.
Where schedules alone are to be ranked, or an agent wants to see what its rows do, that takes too
long; here a
:class:`ProgramFeatures` is worked out once for a program at its sizes, and then every schedule is
some products of matrices:

* the rows that are loops, how long they are, and what they touch without tiles
  (:mod:`polygym.cost.features.schedules.statement_columns`,
  :mod:`polygym.cost.features.loops.footprints`);
* what dependences leave free: parallel rows, bands, how statements share loops
  (:mod:`polygym.cost.features.schedules.ordering`);
* how references move in the innermost loop, and in the best loop that a vector could take.

A statement has the columns
:data:`~polygym.cost.features.schedules.statement_columns.STATEMENT_COLUMNS`. As with candidates
they are added up with each one's share of the work, and stand there once more for the heaviest
statement. Nothing depends on names, nor on the order of statements, arrays or parameters:
dependences are counted by the pairs of statements that they order, since into how many convex
pieces one falls is a matter of taste; and of statements that are equally heavy the one with the
greatest columns is the heaviest.

Example: C[i][j] += A[i][k] * B[k][j] by the rows i, j, k. One band of three, in which i and j are
coincident; the innermost loop k moves A by one element and B by a row, and does not move C; a
vector would rather have j, which moves two of them by one and the third one not at all.
"""

from dataclasses import dataclass

import numpy as np

from polygym.cost.features.loops import column_names, footprints
from polygym.cost.features.loops.nests import Floats, untiled_nest
from polygym.cost.features.schedules import statement_columns
from polygym.cost.features.schedules.ordering import (
    ScheduleOrdering,
    schedule_ordering,
    schedule_points,
)
from polygym.cost.features.schedules.program_features import ProgramFeatures
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule

SCHEDULE_FEATURE_NAMES = (
    *(f"{name}_sum" for name in statement_columns.STATEMENT_COLUMNS),
    *(f"{name}_main" for name in statement_columns.STATEMENT_COLUMNS),
    *column_names.RELATION_COLUMNS,
    "statements",
    "nests",
    "innermost_nests",
    "carried_apart",
    "carried_by_first",
    "carried_inside",
    "total_cycles",
    "total_operations",
    *(f"total_{name}" for name in column_names.TRAFFIC_COLUMNS),
)
"""What the columns of :attr:`ScheduleFeatures.vector` are."""

_CYCLES = statement_columns.STATEMENT_COLUMNS.index("cycles")
_FIRST_TRAFFIC = statement_columns.STATEMENT_COLUMNS.index(column_names.TRAFFIC_COLUMNS[0])
_TOTALS = [_CYCLES, 0, *range(_FIRST_TRAFFIC, _FIRST_TRAFFIC + len(column_names.CACHE_SIZES))]


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class ScheduleFeatures:
    """The features of a schedule: one vector, and what the loops and the order are."""

    program: ProgramFeatures
    vector: Floats
    loops: statement_columns.RowLoops
    ordering: ScheduleOrdering
    heaviest: int

    @property
    def context(self) -> Floats:
        """The loop context of the heaviest statement, a row for every loop."""
        stack, place = self.program.statements, self.heaviest
        work = stack.works[place]
        own = self.loops.row_vectors[place, : stack.counts[place], : work.depth]
        rows = [tuple(map(int, row)) for row in own]
        return column_names.context_rows(
            column_names.NestFootprint.of(
                untiled_nest(work, rows, stack.equations.equations[place])
            )
        )


def schedule_features(program: ProgramFeatures, schedule: Schedule) -> ScheduleFeatures:
    """Return the features of a legal schedule; isl is not asked."""
    stack = program.statements
    rows = schedule_points(program.dependence_forms, schedule)
    order = schedule_ordering(program.dependence_forms, rows)
    wide = np.concatenate([rows, np.zeros((len(rows), 1))], axis=1)
    row_loops = statement_columns.schedule_loops(stack, wide[:, program.columns].transpose(1, 0, 2))
    touched = footprints.stacked_footprints(stack.references, row_loops)
    working = footprints.working_sets(stack.references, touched)
    arriving = footprints.cache_traffic(stack.references, row_loops, touched, working)
    by_name = {
        **statement_columns.loop_columns(program, row_loops, working, arriving),
        **statement_columns.stride_columns(program, row_loops),
        **statement_columns.parallelism_columns(program, row_loops, order),
    }
    columns = np.empty((len(stack.works), len(statement_columns.STATEMENT_COLUMNS)))
    for place, name in enumerate(statement_columns.STATEMENT_COLUMNS):
        columns[:, place] = by_name[name]
    columns[:, : len(statement_columns.LOG_SCALED)] = column_names.signed_log(
        columns[:, : len(statement_columns.LOG_SCALED)]
    )
    cycles = columns[:, _CYCLES]
    weights = np.exp2(cycles - cycles.max())
    weights /= weights.sum()
    main = _heaviest_statement(columns)
    vector = np.concatenate(
        [
            weights @ columns,
            columns[main],
            weights
            @ footprints.relation_features(stack.references, program.instances, row_loops, touched),
            statement_columns.program_columns(program, row_loops, order),
            column_names.signed_log(np.sum(np.exp2(columns[:, _TOTALS]) - 1.0, axis=0)),
        ]
    )
    return ScheduleFeatures(program, vector, row_loops, order, main)


def _heaviest_statement(columns: Floats) -> int:
    """Return the heaviest statement, of equals the one with the greatest columns."""
    cycles = columns[:, _CYCLES]
    equal: list[int] = np.flatnonzero(cycles >= cycles.max() - 1e-9).tolist()
    if len(equal) == 1:
        return equal[0]
    return int(max(equal, key=lambda place: tuple(columns[place].round(9).tolist())))
