"""The schedule with loops coalesced: pairs chosen for all statements, checked, and carried out."""

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

from polygym.codegen.coalescing.analysis import (
    CoalescedLoops,
    LoopPair,
    are_apart,
    pairs_of_loops,
)
from polygym.codegen.coalescing.renaming import element_maps, renamed_program, renamed_statement
from polygym.errors import IllegalScheduleError, LimitError
from polygym.ir.scop import Scop
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule, combine_rows


@lru_cache(maxsize=128)
def coalesce_loops(legal: LegalSchedule) -> LegalSchedule:
    """Return a schedule with short contiguous loops coalesced, itself where there are none."""
    try:
        with bounded_operations("coalescing loops"):
            chosen = _chosen_loops(legal)
            return _coalesce(legal, chosen) if chosen else legal
    except LimitError:
        return legal


def _chosen_loops(legal: LegalSchedule) -> dict[str, CoalescedLoops]:
    """Return the loops by statement, so that their order respects all dependences."""
    groups: dict[LoopPair, dict[str, CoalescedLoops]] = {}
    for statement in legal.scop.statements:
        for loops in pairs_of_loops(statement, legal):
            if renamed_statement(statement, loops, element_maps(legal.scop, loops.arrays)):
                groups.setdefault(loops.pair, {})[statement.name] = loops
    chosen: dict[str, CoalescedLoops] = {}
    for pair, group in groups.items():
        if group.keys() & chosen.keys() or not are_apart(
            legal.schedule, set(group), pair.outer_row
        ):
            continue
        with suppress(IllegalScheduleError):
            LegalSchedule(legal.scop, _with_rows(legal.schedule, {**chosen, **group}))
            chosen |= group
    return chosen


def _coalesce(legal: LegalSchedule, chosen: dict[str, CoalescedLoops]) -> LegalSchedule:
    """Return the schedule with loops coalesced, itself where a name is not affine then."""
    renamed = renamed_program(legal.scop, chosen)
    if renamed is None:
        return legal
    rows = _with_renamed_iterators(_with_rows(legal.schedule, chosen), renamed, chosen)
    return LegalSchedule(verify(replace(renamed, schedule=str(rows))), rows)


def _with_rows(schedule: Schedule, chosen: dict[str, CoalescedLoops]) -> Schedule:
    """Return the schedule with one row in the place of two, and one of zeros at the end.

    A row of constants between others would end a band.
    """

    def changed(part: StatementSchedule) -> StatementSchedule:
        if part.statement not in chosen:
            return part
        pair = chosen[part.statement].pair
        rows = list(part.rows)
        outer, inner = rows[pair.outer_row], rows[pair.inner_row]
        row = combine_rows(outer, replace(inner, constant=inner.constant - pair.first), pair.length)
        zero = ScheduleRow((0,) * len(row.iterators), (0,) * len(row.parameters), 0)
        rows[pair.inner_row] = row
        del rows[pair.outer_row]
        return replace(part, rows=(*rows, zero))

    return replace(schedule, statements=tuple(map(changed, schedule.statements)))


def _with_renamed_iterators(
    schedule: Schedule, scop: Scop, chosen: dict[str, CoalescedLoops]
) -> Schedule:
    """Return the rows in terms of t where they were in terms of x and c."""

    def changed(part: StatementSchedule) -> StatementSchedule:
        loops = chosen.get(part.statement)
        if loops is None:
            return part
        rows = []
        for row in part.rows:
            factors = list(row.iterators)
            has_both = bool(factors[loops.inner])
            factors[loops.outer] = int(has_both)
            del factors[loops.inner]
            constant = row.constant + (loops.least if has_both else 0)
            rows.append(ScheduleRow(tuple(factors), row.parameters, constant))
        iterators = scop.statement(part.statement).iterators
        return StatementSchedule(part.statement, iterators, tuple(rows))

    return replace(schedule, statements=tuple(map(changed, schedule.statements)))
