"""What an observation shows of a program before the first action, and whatever the actions are.

The rows of the tables ``dependences`` and ``statements`` without the columns of the moment, and the
places of a point's coordinates in the tables of coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polygym.compiler.ir.scop import Scop, Statement
from polygym.compiler.poly.dependences import Kind
from polygym.compiler.poly.innermost import Innermost, Movement, movement
from polygym.compiler.poly.integers import dot
from polygym.compiler.poly.schedule import Row
from polygym.compiler.poly.spaces.farkas import Conditions, conditions
from polygym.episodes.episode import Task
from polygym.episodes.nests import shared_loops
from polygym.episodes.tables import (
    DEPENDENCE_COLUMNS,
    DEPENDENCES,
    LOOPS,
    PARAMETERS,
    STATEMENT_COLUMNS,
    STATEMENTS,
    Array,
)

_WRITE_CODE = {Movement.SAME: 1, Movement.UNIT: 2, Movement.SHORT: 3, Movement.FAR: 4}


def places(task: Task) -> tuple[Array, Array, Array]:
    """Return, for every number that is shown, its place in a row, its statement and its column."""
    layout = task.polyhedra.layout
    shown = []
    for index, statement in enumerate(task.scop.statements[:STATEMENTS]):
        iterators, parameters, constant = layout.places(statement.name)
        shown += [(place, index, k) for k, place in enumerate(iterators[:LOOPS])]
        shown += [(place, index, LOOPS + k) for k, place in enumerate(parameters[:PARAMETERS])]
        shown.append((constant, index, LOOPS + PARAMETERS))
    array = np.array(shown, np.int64)
    return array[:, 0], array[:, 1], array[:, 2]


def dependence_table(task: Task, order: Sequence[int]) -> Array:
    """Return what is known of every dependence before the first action."""
    scop = task.scop
    positions = {statement.name: index for index, statement in enumerate(scop.statements)}
    table = np.zeros((DEPENDENCES, len(DEPENDENCE_COLUMNS)), np.int8)
    demands = conditions(scop)
    for place, index in enumerate(order[:DEPENDENCES]):
        one = task.polyhedra.dependences[index]
        shared = shared_loops(scop, one.source, one.sink)
        forward, backward = [0] * LOOPS, [0] * LOOPS
        for level in range(min(shared, LOOPS)):
            forward[level], backward[level] = _signs(
                task, demands[index], one.source, one.sink, level
            )
        values = (
            1,
            *(reason in one.kind for reason in Kind),
            min(positions[one.source], 127),
            min(positions[one.sink], 127),
            scop.statement(one.source).depth,
            scop.statement(one.sink).depth,
            shared,
            *forward,
            *backward,
        )
        table[place, : len(values)] = values
    return table


def _signs(task: Task, demand: Conditions, source: str, sink: str, level: int) -> tuple[bool, bool]:
    """Return whether a loop's counter can be larger, and smaller, at the sink than at the source.

    The difference is the distance under the row that is that counter for both statements, so its
    range is known from the conditions' forms at that row.
    """
    layout = task.polyhedra.layout
    parameters = (0,) * len(layout.parameters)
    rows = {
        name: Row(
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
    table = np.zeros((STATEMENTS, len(STATEMENT_COLUMNS)), np.int8)
    for index, statement in enumerate(scop.statements[:STATEMENTS]):
        writes, same, near, far = ([0] * LOOPS for _ in range(4))
        for level in range(min(statement.depth, LOOPS)):
            loop = _loop(statement, level)
            writes[level] = _WRITE_CODE[movement(statement, statement.write, loop)]
            found = [movement(statement, read, loop) for read in statement.reads]
            same[level] = found.count(Movement.SAME)
            near[level] = found.count(Movement.UNIT) + found.count(Movement.SHORT)
            far[level] = found.count(Movement.FAR)
        values = (1, statement.depth, len(statement.reads), *writes, *same, *near, *far)
        table[index, : len(values)] = np.clip(values, -127, 127)
    return table


def _loop(statement: Statement, level: int) -> Innermost:
    return Innermost(tuple(int(k == level) for k in range(statement.depth)), 1)
