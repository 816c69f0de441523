"""Statements that share their innermost loops: which loop does what, and what registers hold.

Two decisions, each a value. The *roles* (``assign_roles``) follow from
how accesses move, and are decided when a group is made. What is *held* is decided exactly
(:mod:`polygym.codegen.tree.analysis.scalar_replacement`), which costs more, and so only for groups
of interest.
"""

from collections.abc import Set
from dataclasses import replace

from polygym.codegen.common.reductions import reduction_operator
from polygym.codegen.recurrences.recurrence_lanes.analysis import find_lane_recurrence
from polygym.codegen.recurrences.streams.analysis import requested_roles, row_streaming_roles
from polygym.codegen.tree.analysis.access_strides import StrideKind
from polygym.codegen.tree.analysis.loop_roles import (
    LoopRoles,
    StatementGroup,
    StrideTable,
    assign_roles,
)
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.scalar_replacement import replaceable, replaceable_in_copies
from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext
from polygym.poly.schedule import ScheduleRow


def make_group(
    statements: tuple[str, ...],
    members: tuple[BandMember, ...],
    loop_context: LoopContext,
    context: PlannerContext,
) -> StatementGroup:
    """Return the group of some statements inside of loops that run one after the other."""
    members = loop_context.with_coincidence(members, statements)
    moves = context.access_strides(statements, loop_context.rows, members)
    last = context.innermost(statements, members)
    has_vectors, registers = context.has_vectors, context.mapping.scalar_replacement
    jams = not context.mapping.forbids_jamming
    usual = assign_roles(members, moves, has_vectors=has_vectors, registers=registers, jams=jams)
    if not last:
        chosen = row_streaming_roles(usual, statements, members, moves, loop_context, context)
        group = StatementGroup(statements, members, loop_context, moves, chosen)
        if context.mapping.reassociate and _is_row_reduction(chosen, moves, context):
            return replace(group, is_reduction=True)
        across = context.memo.get_or_compute(
            (
                "across",
                statements,
                members,
                loop_context,
                chosen.vector,
                has_vectors and context.vector_bits,
                context.mapping.pack,
            ),
            lambda: find_lane_recurrence(chosen, statements, members, loop_context, context),
        )
        if across is None:
            return group
        gains = across.is_profitable
        return replace(group, roles=across.roles, is_along_rows=True, has_recurrence_lanes=gains)
    innermost = last[-1]
    chosen = assign_roles(
        members,
        moves,
        has_vectors=has_vectors,
        registers=registers,
        jams=jams,
        innermost=innermost,
    )
    chosen = requested_roles(chosen, usual, innermost, statements)
    crowded = len(statements) > 1 and usual.reduction is not None and chosen.reduction is None
    group = StatementGroup(statements, members, loop_context, moves, chosen)
    return replace(group, innermost_members=last, has_cache_conflicts=crowded)


def _is_row_reduction(chosen: LoopRoles, moves: StrideTable, context: PlannerContext) -> bool:
    """Whether the held member has sums alone, along rows: these have chains of their own."""
    if chosen.reduction is None or chosen.vector is not None:
        return False
    for name, strides in moves[chosen.reduction].items():
        is_once = all(move is StrideKind.ZERO for move in strides.all)
        is_sum = (
            strides.write is StrideKind.ZERO
            and reduction_operator(context.scop.statement(name)) is not None
        )
        if not (is_once or is_sum):
            return False
    return True


def with_scalar_replacement(group: StatementGroup, context: PlannerContext) -> StatementGroup:
    """Return the group with what registers hold while its held member runs."""
    place = group.roles.reduction
    if place is None or not context.mapping.scalar_replacement:
        return group
    standing = _outer_rows(group, {place})
    result = context.memo.get_or_compute(
        ("held", group.statements, tuple(standing.items())),
        lambda: replaceable(context.scop, group.statements, group.statements, standing),
    )
    if result and not _is_replaceable_in_copies(group, context):
        group = replace(group, roles=replace(group.roles, jammed=None))
    return replace(group, replaced_statements=result)


def _outer_rows(group: StatementGroup, advancing: Set[int]) -> dict[str, tuple[ScheduleRow, ...]]:
    """Return the rows of all loops around each statement but those of some members."""
    others = [member for position, member in enumerate(group.members) if position not in advancing]
    return {
        name: (*group.loop_context.rows[name], *(member.rows[number] for member in others))
        for number, name in enumerate(group.statements)
    }


def _is_replaceable_in_copies(group: StatementGroup, context: PlannerContext) -> bool:
    """Whether an element may stay in a register though iterations that wait run together.

    Those of a coincident member do not touch each other's elements.
    """
    jammed, held = group.roles.jammed, group.roles.reduction
    if jammed is None or held is None or group.members[jammed].coincident:
        return True
    (name,) = group.statements
    (row,) = group.members[jammed].rows
    standing = _outer_rows(group, {jammed, held})[name]
    return context.memo.get_or_compute(
        ("held in copies", name, standing, row),
        lambda: replaceable_in_copies(context.scop, name, standing, row),
    )
