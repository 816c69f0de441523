"""Pairs of loops that can be one, as far as a single statement tells.

A pair is two rows of the schedule, x and c, of which c takes m values from a constant on. No other
row has the two iterators, and the value of neither is used in an expression. In the arrays that c
runs along it is the whole last subscript, and the last dimension has m elements.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from polygym.ir.expressions import IteratorValue, walk
from polygym.ir.scop import Scop, Statement
from polygym.mapping.machine import this_machine
from polygym.poly.isl_functions import involved_arguments
from polygym.poly.isl_values import isl_value, to_int
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, ScheduleRow

_MOST_VECTORS = 4
"""A loop of more vectors than that has few iterations outside of whole vectors."""


@dataclass(frozen=True, slots=True)
class LoopPair:
    """Two rows of a schedule that one can replace: the row of x, that of c, and its range.

    ``constants`` are those of the rows between them, None for a row that is none.
    """

    outer_row: int
    inner_row: int
    first: int
    length: int
    constants: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class CoalescedLoops:
    """A pair of loops of a statement: the places of its iterators x and c, c's least value.

    The loop over c runs along the last dimension of ``arrays``.
    """

    pair: LoopPair
    outer: int
    inner: int
    least: int
    arrays: frozenset[str]


def pairs_of_loops(statement: Statement, legal: LegalSchedule) -> Iterator[CoalescedLoops]:
    """Yield the pairs of loops around a statement whose rows could be one."""
    rows = legal.schedule.rows(statement.name)
    domain = isl.Set(statement.domain)
    values = {node.name for node in walk(statement.body) if isinstance(node, IteratorValue)}
    for inner, name in enumerate(statement.iterators):
        inner_row = _only_row(rows, inner)
        bounds = _constant_range(domain, inner)
        if bounds is None or inner_row is None or name in values:
            continue
        if sum(map(bool, rows[inner_row].iterators)) > 1 or any(rows[inner_row].parameters):
            continue
        least, length = bounds
        lanes = this_machine().vector_bits // 8 // legal.scop.widest_element([statement.name])
        if not 1 < length <= _MOST_VECTORS * lanes or length % lanes == 0:
            continue
        arrays = _arrays_along(statement, inner, length, legal.scop)
        if not arrays:
            continue
        for outer, other in enumerate(statement.iterators):
            outer_row = _only_row(rows, outer)
            if outer == inner or outer_row is None or other in values or outer_row > inner_row:
                continue
            first = least + rows[inner_row].constant
            constants = constants_of(rows[outer_row + 1 : inner_row])
            pair = LoopPair(outer_row, inner_row, first, length, constants)
            yield CoalescedLoops(pair, outer, inner, least, arrays)


def constants_of(rows: tuple[ScheduleRow, ...]) -> tuple[int | None, ...]:
    """Return the constants of rows, None for a row that is none."""
    return tuple(row.constant if row.is_constant else None for row in rows)


def _only_row(rows: tuple[ScheduleRow, ...], iterator: int) -> int | None:
    """Return the row that has an iterator, with factor 1, if it is the only one."""
    places = [place for place, row in enumerate(rows) if row.iterators[iterator]]
    return places[0] if len(places) == 1 and rows[places[0]].iterators[iterator] == 1 else None


def _constant_range(domain: isl.Set, place: int) -> tuple[int, int] | None:
    """Return the least value and the number of values of an iterator that nothing else bounds."""
    values = domain.project_out(isl.dim_type.param, 0, domain.dim(isl.dim_type.param))
    bounds = values.dim_min_val(place), values.dim_max_val(place)
    if not all(bound.is_int() for bound in bounds):
        return None
    low, high = map(to_int, bounds)
    free = domain.eliminate(isl.dim_type.set, place, 1)
    free = free.lower_bound_val(isl.dim_type.set, place, isl_value(low))
    free = free.upper_bound_val(isl.dim_type.set, place, isl_value(high))
    return (low, high - low + 1) if free.is_equal(domain) else None


def _arrays_along(statement: Statement, inner: int, length: int, scop: Scop) -> frozenset[str]:
    """Return the arrays that the short loop runs along, none where it may not.

    It does in their last dimension, which has as many elements as the loop iterations, and nothing
    else of a subscript depends on it.
    """
    arrays = set()
    for access in (statement.write, *statement.reads):
        if access.gathered:
            return frozenset()
        arguments = involved_arguments(isl.Map(access.relation))
        depends = [place for place, involved in enumerate(arguments) if inner in involved]
        if not depends:
            continue
        extents = scop.array(access.array).c_extents
        if depends != [len(arguments) - 1] or len(arguments) < 2 or extents[-1] != str(length):
            return frozenset()
        arrays.add(access.array)
    return frozenset(arrays)


def are_apart(schedule: Schedule, names: set[str], row: int) -> bool:
    """Whether other statements are apart from these by constants above a row."""
    parts = {part.statement: constants_of(part.rows[:row]) for part in schedule.statements}
    inside = [constants for name, constants in parts.items() if name in names]
    outside = [constants for name, constants in parts.items() if name not in names]
    return all(
        any(a != b and a is not None and b is not None for a, b in zip(own, other, strict=True))
        for own in inside
        for other in outside
    )
