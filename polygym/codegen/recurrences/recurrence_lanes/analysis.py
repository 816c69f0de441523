"""Recurrences along rows that run in lanes, one row in each: where, and whether that pays.

In ``y[i][j] = x[i][j] + b * y[i][j - 1]`` every operation waits for the one before, along j; the
rows i are independent, but no vector can be loaded along them. Jammed, eight rows overlap what they
wait for, one number each. In lanes, through tiles that are turned on their way to a near cache and
back (:mod:`polygym.codegen.recurrences.recurrence_lanes.transform`), vectors of them do.

It can be where every access, when the row advances, stays, goes to its neighbour, or, when the
recurrence does, goes to a neighbour along its row, to either side.

It pays where the cycles of a point are fewer. With w lanes, c jammed copies and v vectors they are

    jammed:    max(L / c, O / 2, A / 2, 5 D)
    in lanes:  (max(L / v, O / 2, A / 2, 10 D)) / w  +  2 T (1 + log2 w) / w

for L cycles that a point waits for the one before, O operations, A accesses, D divisions (an
operation starts in each of two units every cycle, a load or store in two more, a division takes 5
cycles for one number and 10 for a vector), and T blocks of tiles, of which each is w loads, w
stores and w log2 w moves in registers for w squared elements, of which one starts every other
cycle. Example, a filter of order two whose last values are in scalars of their own, four statements
in floats on 16 lanes, one array read and one written: L = 16, O = 7, A = 4, T = 2 make 4 cycles
against 1.75. (4096 by 2160 numbers, one thread: two and a half times as fast.)

Of a single statement LLVM computes the jammed rows in vectors by itself, and turns them as well as
it is done here: a sum along rows, or the same filter as one statement, is left to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import islpy as isl

from polygym.codegen.tree.analysis.access_strides import displacements
from polygym.codegen.tree.analysis.loop_roles import LoopRoles
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext
from polygym.ir import expressions
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True, slots=True)
class _PointWork:
    """What a point does: see the formulas."""

    latency: int
    operations: int
    accesses: int
    divisions: int
    transposed_tiles: int

    def jammed(self, copies: int) -> float:
        """Return the cycles of a point where rows are jammed."""
        return max(
            self.latency / copies,
            self.operations / 2,
            self.accesses / 2,
            TUNING.division_cycles * self.divisions,
        )

    def in_lanes(self, lanes: int, vectors: int) -> float:
        """Return the cycles of a point where rows run in lanes."""
        step = max(
            self.latency / vectors,
            self.operations / 2,
            self.accesses / 2,
            TUNING.vector_division_cycles * self.divisions,
        )
        return (step + 2 * self.transposed_tiles * (1 + log2(lanes))) / lanes


@dataclass(frozen=True, slots=True)
class LaneRecurrence:
    """The row is the jammed member of the ``roles``, the recurrence the held one."""

    roles: LoopRoles
    is_profitable: bool


def find_lane_recurrence(
    roles: LoopRoles,
    statements: tuple[str, ...],
    members: Sequence[BandMember],
    loop_context: LoopContext,
    context: PlannerContext,
) -> LaneRecurrence | None:
    """Return how rows may run in lanes, None where they cannot.

    The first way that pays, else the first one.
    """
    if not (context.has_vectors and context.mapping.pack) or roles.vector is not None:
        return None
    coincident = [place for place, member in enumerate(members) if member.coincident]
    waiting = [place for place, member in enumerate(members) if not member.coincident]
    lanes = context.lanes(statements)
    if lanes < TUNING.min_lanes or len(statements) == 1:
        return None
    recurrence: LaneRecurrence | None = None
    for row in reversed(coincident):
        for along in reversed(waiting):
            if not _has_enough_iterations(
                statements, members, row, along, loop_context, context, lanes
            ):
                continue
            work = _point_work(statements, members, row, along, loop_context, context)
            if work is not None and _is_profitable(work, lanes):
                return LaneRecurrence(LoopRoles(None, along, row), is_profitable=True)
            if work is not None:
                recurrence = recurrence or LaneRecurrence(
                    LoopRoles(None, along, row), is_profitable=False
                )
    return recurrence


def _is_profitable(work: _PointWork, lanes: int) -> bool:
    return work.jammed(TUNING.lane_jam_copies) > TUNING.min_lane_gain * work.in_lanes(
        lanes, TUNING.lane_vectors
    )


def _has_enough_iterations(
    statements: tuple[str, ...],
    members: Sequence[BandMember],
    row: int,
    along: int,
    loop_context: LoopContext,
    context: PlannerContext,
    lanes: int,
) -> bool:
    """Whether there are rows for all lanes, and columns for a block; unknown sizes are large."""
    if context.sizes is None:
        return True
    loops = (members[row], members[along])
    rows, columns = context.trip_counts(statements, loops, loop_context)
    return rows >= lanes and columns >= TUNING.min_lane_columns


def _point_work(
    statements: tuple[str, ...],
    members: Sequence[BandMember],
    row: int,
    along: int,
    loop_context: LoopContext,
    context: PlannerContext,
) -> _PointWork | None:
    """Return what a point does; None where rows cannot run in lanes."""
    tiles: set[tuple[str, str, bool]] = set()
    waits = operations = divisions = accesses = 0
    scop_statements = [context.scop.statement(name) for name in statements]
    written = {statement.write.array for statement in scop_statements}
    for place, statement in enumerate(scop_statements):
        rows = [member.rows[place] for member in members]
        moved = [
            displacements(statement, loop_context.rows[statement.name], rows, position)
            for position in (row, along)
        ]
        if None in moved:
            return None
        across, onwards = (dict(moves or ()) for moves in moved)
        if not onwards:
            continue  # it runs once in a row
        if not across:
            return None
        for access in (statement.write, *statement.reads):
            is_written = access == statement.write
            kind = _needs_tile(across[access], onwards[access], is_written=is_written)
            if kind is None:
                return None
            accesses += any(onwards[access] or ())
            if kind:
                tiles.add((access.array, _row_key(access), is_written))
        nodes = list(expressions.walk(statement.body))
        divisions += sum(map(is_division, nodes))
        operations += sum(
            isinstance(node, expressions.Binary) and not is_division(node) for node in nodes
        )
        waits = max(waits, TUNING.operation_latency * _dependence_depth(statement.body, written))
    if not tiles:
        return None
    count = sum(is_written or array not in written for array, _, is_written in tiles)
    return _PointWork(waits, operations, accesses, divisions, count)


def _needs_tile(
    across: tuple[int, ...] | None, onwards: tuple[int, ...] | None, *, is_written: bool
) -> bool | None:
    """Return whether an access needs a tile; None where none helps."""
    if across is None or onwards is None:
        return None
    if not any(across):
        return None if is_written else False
    if not any(across[:-1]) and across[-1] == 1:
        return False
    is_row = not across[-1] and not any(onwards[:-1]) and abs(onwards[-1]) == 1
    return True if is_row else None


def _row_key(access: expressions.Access) -> str:
    """Return the row of an access: all of it but the last subscript."""
    relation = isl.Map(access.relation)
    last = relation.dim(isl.dim_type.out) - 1
    return str(relation.project_out(isl.dim_type.out, last, 1))


def is_division(node: expressions.Expression) -> bool:
    """Whether a node takes as long as a division of floats, or longer."""
    match node:
        case expressions.Binary(operator=expressions.BinaryOperator.DIVIDE, type=kind):
            return kind.is_floating
        case expressions.Call():
            return True
        case _:
            return False


def _dependence_depth(expression: expressions.Expression, written: set[str]) -> int:
    """Return how many operations wait for an element that the points write, at most; 0 if none."""
    if isinstance(expression, expressions.Load):
        return int(expression.access.array in written)
    below = max(
        (_dependence_depth(child, written) for child in expressions.children(expression)), default=0
    )
    return below + isinstance(expression, expressions.Binary) if below else 0
