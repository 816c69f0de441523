"""Baseline schedules: the order of the source, and the result of isl's scheduler.

isl's scheduler (in the line of Pluto and Feautrier) minimises dependence distances band by band.
It is the "ISL heuristic" of the comparison; the usual options are the settings Polly gives it.

Schedules of isl without skewing or without negative coefficients.

isl's scheduler cannot be told to leave out rows of certain shapes. But it finds a band row by row,
each for all the pairs that the bands above have left. So its tree is read from the outside to the
inside, and at the first row that is not wanted it is cut off: what is inside of the rows above is
scheduled anew, for the pairs that have equal values of these. Fewer pairs restrict the rows less:
in ``A[i] = A[i - 1] + A[i] + A[i + 1]`` over time, isl finds the band ``[t, t + i]``, since ``i``
alone would run the pair (t, i) → (t + 1, i - 1) backwards. After ``[t]`` that pair is in order, and
``[i]`` is found for the rest.

Where isl's very first row is not wanted, it is asked again without looking for parallel loops.
Where that does not help, the next row of the original order is taken: it never reverses a pair of
which the rows before it are in order.

A row that differs from one above by the same number for all statements says nothing new, and is
left out; where the numbers differ, they alone are kept, as a row of constants. That a schedule made
this way is legal is decided like that of any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, assert_never

import islpy as isl

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.poly.dependences import dependences
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import (
    Schedule,
    ScheduleRow,
    StatementSchedule,
    combine_rows,
    parse_schedule,
)
from polygym.poly.scheduling.isl_scheduler import SchedulingTask, with_canonical_names
from polygym.poly.scheduling.strategy import ISL, FixedStrategy, IslOptions, OriginalOrder
from polygym.poly.scheduling.symbolic_sizes import with_symbolic_sizes

DEEPEST_NEST = 9


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def original_schedule(scop: Scop) -> Schedule:
    """Return the order in which the source runs the statements."""
    return parse_schedule(scop.schedule, scop)


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def isl_schedule(scop: Scop, options: IslOptions = ISL) -> Schedule:
    """Return the schedule that isl computes from the program's dependences, which is remembered.

    isl's result is a tree; it is flattened to one affine map per statement. Large numbers in
    domains are parameters for isl (``with_symbolic_sizes``), and statements have
    numbers in the place of names (``with_canonical_names``).

    Raises:
        InputError: isl finds none, or none without what ``options`` exclude.
        LimitError: it would take too long; nests too deep for isl's solver are not begun with,
            since no bound counts its steps.
    """
    if scop.depth > DEEPEST_NEST:
        raise LimitError(
            f"isl's scheduler: expected at most {DEEPEST_NEST} loops inside each other, found "
            f"{scop.depth}; deeper ones take it minutes or more"
        )
    with bounded_operations("isl's scheduler"):
        symbolic = with_symbolic_sizes(scop)
        if symbolic is not None:
            return symbolic.with_constant_sizes(_compute_isl_schedule(symbolic.scop, options))
        return _compute_isl_schedule(scop, options)


def _compute_isl_schedule(scop: Scop, options: IslOptions) -> Schedule:
    program = with_canonical_names(scop)
    task = SchedulingTask.of(program, options)
    if options.is_variant:
        schedule = variant_schedule(task, program.to_canonical(original_schedule(scop)))
    else:
        schedule = parse_schedule(str(task.solve().get_map()), program.scop)
    return program.to_source(schedule)


def prepare_isl_scheduling(scop: Scop) -> None:
    """Compute what all of isl's strategies need of a program, which is remembered.

    Raises:
        LimitError: it would take too long.
    """
    symbolic = with_symbolic_sizes(scop)
    dependences(scop if symbolic is None else symbolic.scop)


def schedule_by(strategy: FixedStrategy, scop: Scop) -> Schedule:
    """Return the schedule that a strategy gives a program; raises as :func:`isl_schedule` does."""
    match strategy:
        case OriginalOrder():
            return original_schedule(scop)
        case IslOptions():
            return isl_schedule(scop, strategy)
        case _:
            assert_never(strategy)


# Rows of some statements, by name.
_BandRow: TypeAlias = dict[str, ScheduleRow]

_MAX_SCHEDULER_CALLS = 100


class _DisallowedRowError(Exception):
    """The first row that isl finds is one that is not wanted."""


def variant_schedule(task: SchedulingTask, original: Schedule) -> Schedule:
    """Return a schedule that isl finds, all of whose rows are wanted.

    Raises:
        InputError: there is none, or isl finds none.
    """
    rows = _VariantScheduler(original).solve(task, [], 0)
    names = original.parameters
    parts = tuple(
        StatementSchedule(
            schedule.statement, schedule.iterators, tuple(row[schedule.statement] for row in rows)
        )
        for schedule in original.statements
    )
    return parse_schedule(str(Schedule(names, parts)), task.scop)


def is_allowed(row: ScheduleRow, options: IslOptions) -> bool:
    """Whether a row has a shape that the options allow.

    >>> rows = [ScheduleRow(row, (), 1) for row in ((0, 1), (1, 1), (0, -1))]
    >>> [is_allowed(row, IslOptions(skew=False)) for row in rows]
    [True, False, True]
    >>> is_allowed(ScheduleRow((0, -1), (), 1), IslOptions(negative=False))
    False
    """
    coefficients = [*row.iterators, *row.parameters]
    if not options.negative and min(coefficients, default=0) < 0:
        return False
    return options.skew or sum(map(abs, row.iterators)) <= 1


@dataclass(slots=True)
class _VariantScheduler:
    """One search; ``original`` is the source order, ``scheduler_calls`` counts calls of isl."""

    original: Schedule
    scheduler_calls: int = 0

    def solve(self, task: SchedulingTask, above: Sequence[_BandRow], taken: int) -> list[_BandRow]:
        """Return the rows for a task inside of rows above; the same number for each statement.

        So many rows of the original order have been ``taken``.
        """
        self.scheduler_calls += 1
        if self.scheduler_calls > _MAX_SCHEDULER_CALLS:
            raise InputError(
                f"{self._none(task)}: {_MAX_SCHEDULER_CALLS} attempts have led to none"
            )
        for seeks in (True, False):
            scheduling_task = replace(task, seeks_parallelism=seeks)
            try:
                return self._walk(
                    scheduling_task.solve().get_root(),
                    scheduling_task,
                    list(above),
                    taken,
                    len(above),
                )
            except _DisallowedRowError:
                continue
        return self._take_original_row(task, list(above), taken)

    def _take_original_row(
        self, task: SchedulingTask, above: list[_BandRow], taken: int
    ) -> list[_BandRow]:
        """Take the next row of the original order, and solve what is inside."""
        if taken == self.original.dimensions:
            raise InputError(self._none(task))
        row = {name: self.original.rows(name)[taken] for name in task.names}
        if not all(is_allowed(schedule_row, task.options) for schedule_row in row.values()):
            raise InputError(self._none(task))
        inside = task.inside_row(_function(row, task))
        new = _added_row(row, above)
        kept = [] if new is None else [new]
        return kept + self.solve(inside, [*above, *kept], taken + 1)

    def _walk(
        self,
        node: isl.ScheduleNode,
        task: SchedulingTask,
        above: list[_BandRow],
        taken: int,
        known: int,
    ) -> list[_BandRow]:
        """Return the rows from a node of isl's tree on; ``known`` were there when isl was asked."""
        kind = node.get_type()
        types = isl.schedule_node_type
        if kind == types.leaf:
            return []
        if kind == types.band:
            return self._band(node, task, above, taken, known)
        if kind in (types.sequence, types.set):
            return self._sequence(node, task, above, taken, known)
        return self._walk(node.child(0), task, above, taken, known)

    def _sequence(
        self,
        node: isl.ScheduleNode,
        task: SchedulingTask,
        above: list[_BandRow],
        taken: int,
        known: int,
    ) -> list[_BandRow]:
        """Return the numbers of the branches, and their rows beside each other."""
        parts: list[list[_BandRow]] = []
        numbers: _BandRow = {}
        for number in range(node.n_children()):
            child = node.child(number)
            inside = task.restrict_to(child.filter_get_filter())
            part = {name: self._constant(name, number) for name in inside.names}
            numbers |= part
            own = [{name: row[name] for name in part} for row in above]
            parts.append(self._walk(child.child(0), inside, [*own, part], taken, known))
        length = max(map(len, parts))
        zeros = {name: self._constant(name, 0) for name in numbers}
        rows = []
        for place in range(length):
            row = dict(zeros)
            for part_rows in parts:
                if place < len(part_rows):
                    row |= part_rows[place]
            rows.append(row)
        return [numbers, *rows]

    def _band(
        self,
        node: isl.ScheduleNode,
        task: SchedulingTask,
        above: list[_BandRow],
        taken: int,
        known: int,
    ) -> list[_BandRow]:
        """Return the rows of a band, up to the first that is not wanted, and those inside."""
        functions = node.band_get_partial_schedule()
        kept: list[_BandRow] = []
        for place in range(functions.dim(isl.dim_type.set)):
            function = functions.get_union_pw_aff(place)
            row = _parsed(function, task)
            if not all(is_allowed(schedule_row, task.options) for schedule_row in row.values()):
                if len(above) + len(kept) == known:
                    raise _DisallowedRowError
                return kept + self.solve(task, [*above, *kept], taken)
            task = task.inside_row(function)
            if (new := _added_row(row, [*above, *kept])) is not None:
                kept.append(new)
        return kept + self._walk(node.child(0), task, [*above, *kept], taken, known)

    def _constant(self, name: str, value: int) -> ScheduleRow:
        like = self.original.rows(name)[0]
        return ScheduleRow((0,) * len(like.iterators), (0,) * len(like.parameters), value)

    @staticmethod
    def _none(task: SchedulingTask) -> str:
        return f"isl's scheduler finds no schedule for {task.scop.name} under: {task.options}"


def _added_row(row: _BandRow, above: Sequence[_BandRow]) -> _BandRow | None:
    """Return what a row adds to those above, None if nothing.

    Instances that have come so far have equal values of the rows above. So one may be taken off,
    or added, for all statements alike: after ``S: [t], T: [t]`` a row ``S: [t], T: [t + 1]`` is
    ``S: [0], T: [1]``.
    """
    for other in above:
        for sign in (-1, 1):
            rest = {name: combine_rows(own, other[name], 1, sign) for name, own in row.items()}
            if all(own.is_constant for own in rest.values()):
                row = rest
    if not all(own.is_constant for own in row.values()):
        return row
    least = min(schedule_row.constant for schedule_row in row.values())
    rest = {name: replace(own, constant=own.constant - least) for name, own in row.items()}
    if not any(own.constant for own in rest.values()) or rest in above:
        return None
    return rest


def _function(row: Mapping[str, ScheduleRow], task: SchedulingTask) -> isl.UnionPwAff:
    """Return a row as isl has it."""
    parts = []
    for name, schedule_row in row.items():
        statement = task.scop.statement(name)
        names = [parameter.name for parameter in task.scop.parameters]
        value = schedule_row.text(statement.iterators, names)
        parts.append(f"{name}[{', '.join(statement.iterators)}] -> [{value}]")
    parameters = ", ".join(parameter.name for parameter in task.scop.parameters)
    relation = isl.UnionMap(f"[{parameters}] -> {{ {'; '.join(parts)} }}")
    whole = isl.MultiUnionPwAff.from_union_map(relation.intersect_domain(task.domain))
    return whole.get_union_pw_aff(0)


def _parsed(function: isl.UnionPwAff, task: SchedulingTask) -> _BandRow:
    """Read the row of some statements."""
    relation = isl.UnionMap.from_union_pw_aff(function).intersect_domain(task.domain)
    here = task.names
    for statement in task.scop.statements:
        if statement.name not in here:
            relation = relation.union(
                isl.UnionMap(f"{{ {statement.name}[{', '.join(statement.iterators)}] -> [0] }}")
            )
    schedule = parse_schedule(str(relation), task.scop)
    return {name: schedule.rows(name)[0] for name in here}
