"""What an observation shows of a program before the first action, and whatever the actions are.

The rows of the tables ``dependences`` and ``statements`` without the columns of the moment, and the
places of a point's coordinates in the tables of coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polygym.ir.scop import Scop, Statement
from polygym.mdp.episode import Task
from polygym.mdp.loop_sharing import shared_loops
from polygym.mdp.observation.arrays import (
    DEPENDENCE_COLUMNS,
    MOST_DEPENDENCES,
    MOST_LOOPS,
    MOST_PARAMETERS,
    MOST_STATEMENTS,
    STATEMENT_COLUMNS,
    Array,
)
from polygym.poly.dependences import DependenceKind
from polygym.poly.innermost import AccessStride, InnermostLoop, access_stride
from polygym.poly.integer_vectors import dot
from polygym.poly.schedule import ScheduleRow
from polygym.poly.spaces.farkas import FarkasConditions, farkas_conditions

_WRITE_STRIDE_CODES = {
    AccessStride.SAME: 1,
    AccessStride.UNIT: 2,
    AccessStride.SHORT: 3,
    AccessStride.FAR: 4,
}


def number_positions(task: Task) -> tuple[Array, Array, Array]:
    """Return, for every number that is shown, its place in a row, its statement and its column."""
    layout = task.polyhedra.layout
    shown = []
    for index, statement in enumerate(task.scop.statements[:MOST_STATEMENTS]):
        iterators, parameters, constant = layout.positions(statement.name)
        shown += [(place, index, k) for k, place in enumerate(iterators[:MOST_LOOPS])]
        shown += [
            (place, index, MOST_LOOPS + k) for k, place in enumerate(parameters[:MOST_PARAMETERS])
        ]
        shown.append((constant, index, MOST_LOOPS + MOST_PARAMETERS))
    array = np.array(shown, np.int64)
    return array[:, 0], array[:, 1], array[:, 2]


def dependence_table(task: Task, dependence_order: Sequence[int]) -> Array:
    """Return what is known of every dependence before the first action."""
    scop = task.scop
    positions = {statement.name: index for index, statement in enumerate(scop.statements)}
    table = np.zeros((MOST_DEPENDENCES, len(DEPENDENCE_COLUMNS)), np.int8)
    demands = farkas_conditions(scop)
    for place, index in enumerate(dependence_order[:MOST_DEPENDENCES]):
        dependence = task.polyhedra.dependences[index]
        shared = shared_loops(scop, dependence.source, dependence.sink)
        forward, backward = [0] * MOST_LOOPS, [0] * MOST_LOOPS
        for level in range(min(shared, MOST_LOOPS)):
            forward[level], backward[level] = _signs(
                task, demands[index], dependence.source, dependence.sink, level
            )
        values = (
            1,
            *(reason in dependence.kind for reason in DependenceKind),
            min(positions[dependence.source], 127),
            min(positions[dependence.sink], 127),
            scop.statement(dependence.source).depth,
            scop.statement(dependence.sink).depth,
            shared,
            *forward,
            *backward,
        )
        table[place, : len(values)] = values
    return table


def _signs(
    task: Task, demand: FarkasConditions, source: str, sink: str, level: int
) -> tuple[bool, bool]:
    """Return whether a loop's counter can be larger, and smaller, at the sink than at the source.

    The difference is the distance under the row that is that counter for both statements, so its
    range is known from the conditions' forms at that row.
    """
    layout = task.polyhedra.layout
    parameters = (0,) * len(layout.parameters)
    rows = {
        name: ScheduleRow(
            tuple(int(k == level) for k in range(task.scop.statement(name).depth)), parameters, 0
        )
        for name in {source, sink}
    }
    point = layout.point(rows)
    values = [dot(form, point) for form in demand.vertices + demand.rays]
    both = any(dot(form, point) for form in demand.lines)
    return both or any(value > 0 for value in values), both or any(value < 0 for value in values)


def statement_table(scop: Scop) -> Array:
    """Return what is known of every statement before the first action."""
    table = np.zeros((MOST_STATEMENTS, len(STATEMENT_COLUMNS)), np.int8)
    for index, statement in enumerate(scop.statements[:MOST_STATEMENTS]):
        writes, same, near, far = ([0] * MOST_LOOPS for _ in range(4))
        for level in range(min(statement.depth, MOST_LOOPS)):
            loop = _loop_strides(statement, level)
            writes[level] = _WRITE_STRIDE_CODES[access_stride(statement, statement.write, loop)]
            strides = [access_stride(statement, read, loop) for read in statement.reads]
            same[level] = strides.count(AccessStride.SAME)
            near[level] = strides.count(AccessStride.UNIT) + strides.count(AccessStride.SHORT)
            far[level] = strides.count(AccessStride.FAR)
        values = (1, statement.depth, len(statement.reads), *writes, *same, *near, *far)
        table[index, : len(values)] = np.clip(values, -127, 127)
    return table


def _loop_strides(statement: Statement, level: int) -> InnermostLoop:
    return InnermostLoop(tuple(int(k == level) for k in range(statement.depth)), 1)
