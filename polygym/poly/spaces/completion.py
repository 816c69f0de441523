"""Inner dimensions for a schedule that leaves ties.

The rows of a space order what depends on each other, and often nothing else: with Θ_T = i for the
two-dimensional T of y = Ax and everything carried, all T[i, j] with one i have one time. They
may run in any order, but a program needs some order. It is taken from the original one:

1. the rows of the original schedule, from the outside in, each one that is linearly independent
   of a statement's rows so far, so that afterwards no two instances of one statement tie;
2. if instances of different statements still tie, or there is no row at all, a last row with the
   statements' places in the text.

Adding rows behind rows that carry every dependence cannot break one. Where some dependences are not
carried (:attr:`Polyhedra.never_carried`), *all* rows of the original schedule are added: what
the rows before satisfied weakly and left open is ordered as in the source.

Example: {S[i] -> [0]; T[i, j] -> [j]} becomes {S[i] -> [0, i, 0]; T[i, j] -> [j, i, 0]} by the row
``i``, which is independent for both, and stops there: the original's own order of S and T is not
needed to tell them apart only if no S and T tie, else a row 0, 1 follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.dependences import union_of
from polygym.poly.integer_vectors import Vector, echelon
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import (
    MAX_COEFFICIENT,
    MAX_DIMENSIONS,
    Schedule,
    ScheduleRow,
    StatementSchedule,
    parameter_names,
)
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.coordinates import CoordinateLayout


def complete_schedule(
    scop: Scop, points: Sequence[Vector], *, all_carried: bool = True
) -> Schedule:
    """Return the schedule with these points as rows, and inner rows until nothing ties.

    ``all_carried`` says that the points order every dependence.
    """
    layout = CoordinateLayout.of(scop)
    rows = {
        statement.name: [layout.row(point, statement.name) for point in points]
        for statement in scop.statements
    }
    source = original_schedule(scop)
    for index in range(source.dimensions):
        added = {
            statement.name: source.rows(statement.name)[index] for statement in scop.statements
        }
        if not all_carried or any(_is_independent(rows[name], row) for name, row in added.items()):
            for name, row in added.items():
                rows[name].append(row)
    schedule = _schedule(scop, rows)
    ties = all_carried and len(scop.statements) > 1 and not _is_injective(scop, schedule)
    if ties or not schedule.dimensions:
        for place, statement in enumerate(scop.statements):
            nothing = (0,) * statement.depth, (0,) * len(schedule.parameters)
            rows[statement.name].append(ScheduleRow(*nothing, place))
        schedule = _schedule(scop, rows)
    _check(schedule)
    return schedule


def _is_independent(rows: Sequence[ScheduleRow], row: ScheduleRow) -> bool:
    """Whether a row's iterator part is not a combination of the others'."""
    if not any(row.iterators):
        return False
    before = echelon(other.iterators for other in rows)
    return len(echelon([*(vector for vector, _ in before), row.iterators])) > len(before)


def _is_injective(scop: Scop, schedule: Schedule) -> bool:
    """Whether no two instances have one time."""
    with bounded_operations("completing the schedule"):
        order = isl.UnionMap(str(schedule)).intersect_domain(_domain(scop))
        return bool(order.is_injective())


@lru_cache(maxsize=64)
def _domain(scop: Scop) -> isl.UnionSet:
    return union_of(isl.UnionSet(statement.domain) for statement in scop.statements)


def _schedule(scop: Scop, rows: dict[str, list[ScheduleRow]]) -> Schedule:
    return Schedule(
        parameter_names(scop),
        tuple(
            StatementSchedule(statement.name, statement.iterators, tuple(rows[statement.name]))
            for statement in scop.statements
        ),
    )


def _check(schedule: Schedule) -> None:
    """Refuse what a schedule may not be: too long, or with numbers too large."""
    if schedule.dimensions > MAX_DIMENSIONS:
        raise LimitError(
            f"a schedule: expected at most {MAX_DIMENSIONS} rows, found {schedule.dimensions}"
        )
    largest = max(
        abs(value)
        for part in schedule.statements
        for row in part.rows
        for value in (*row.iterators, *row.parameters, row.constant)
    )
    if largest > MAX_COEFFICIENT:
        raise LimitError(
            f"a schedule: expected numbers up to {MAX_COEFFICIENT:,}, found {largest:,}; choose "
            "smaller coefficients"
        )
