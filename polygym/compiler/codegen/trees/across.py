"""Recurrences along rows that run in lanes, one row in each: where, and whether that pays.

In ``y[i][j] = x[i][j] + b * y[i][j - 1]`` every operation waits for the one before, along j; the
rows i are independent, but no vector can be loaded along them. Jammed, eight rows overlap what they
wait for, one number each. In lanes, through tiles that are turned on their way to a near cache and
back (:mod:`polygym.compiler.codegen.loops.turn_rows`), vectors of them do.

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

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import islpy as isl

from polygym.compiler.codegen.trees.moves import displacements
from polygym.compiler.codegen.trees.roles import Roles
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Member
from polygym.compiler.codegen.trees.trips import length
from polygym.compiler.ir.expr import (
    Access,
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Load,
    children,
    walk,
)

VECTORS = 2
"""How many vectors of rows run together: while one waits, the other one does not."""

_LATENCY, _DIVISION, _VECTOR_DIVISION = 4, 5, 10
_GAIN = 1.25
_SHORTEST = 16
_FEWEST_LANES = 4
_JAMMED = 4


@dataclass(frozen=True, slots=True)
class _Work:
    """What a point does: see the formulas."""

    waits: int
    operations: int
    accesses: int
    divisions: int
    tiles: int

    def jammed(self, copies: int) -> float:
        """Return the cycles of a point where rows are jammed."""
        return max(
            self.waits / copies,
            self.operations / 2,
            self.accesses / 2,
            _DIVISION * self.divisions,
        )

    def in_lanes(self, lanes: int, vectors: int) -> float:
        """Return the cycles of a point where rows run in lanes."""
        step = max(
            self.waits / vectors,
            self.operations / 2,
            self.accesses / 2,
            _VECTOR_DIVISION * self.divisions,
        )
        return (step + 2 * self.tiles * (1 + log2(lanes))) / lanes


@dataclass(frozen=True, slots=True)
class Across:
    """The row is the jammed member of the ``roles``, the recurrence the held one."""

    roles: Roles
    pays: bool


def across_rows(
    chosen: Roles,
    statements: tuple[str, ...],
    members: Sequence[Member],
    around: Surroundings,
    setting: Setting,
) -> Across | None:
    """Return how rows may run in lanes, None where they cannot.

    The first way that pays, else the first one.
    """
    if not (setting.has_vectors and setting.mapping.pack) or chosen.vector is not None:
        return None
    coincident = [place for place, member in enumerate(members) if member.coincident]
    waiting = [place for place, member in enumerate(members) if not member.coincident]
    lanes = setting.lanes(statements)
    if lanes < _FEWEST_LANES or len(statements) == 1:
        return None
    found: Across | None = None
    for row in reversed(coincident):
        for along in reversed(waiting):
            if not _is_long(statements, members, row, along, around, setting, lanes):
                continue
            work = _work(statements, members, row, along, around, setting)
            if work is not None and _pays(work, lanes):
                return Across(Roles(None, along, row), pays=True)
            if work is not None:
                found = found or Across(Roles(None, along, row), pays=False)
    return found


def _pays(work: _Work, lanes: int) -> bool:
    return work.jammed(_JAMMED) > _GAIN * work.in_lanes(lanes, VECTORS)


def _is_long(
    statements: tuple[str, ...],
    members: Sequence[Member],
    row: int,
    along: int,
    around: Surroundings,
    setting: Setting,
    lanes: int,
) -> bool:
    """Whether there are rows for all lanes, and columns for a block; unknown sizes are large."""
    if setting.sizes is None:
        return True
    rows, columns = (
        length(setting.scop, statements, members[place], around.parameters, setting.sizes)
        for place in (row, along)
    )
    return rows >= lanes and columns >= _SHORTEST


def _work(
    statements: tuple[str, ...],
    members: Sequence[Member],
    row: int,
    along: int,
    around: Surroundings,
    setting: Setting,
) -> _Work | None:
    """Return what a point does; None where rows cannot run in lanes."""
    tiles: set[tuple[str, str, bool]] = set()
    waits = operations = divisions = accesses = 0
    found = [setting.scop.statement(name) for name in statements]
    written = {statement.write.array for statement in found}
    for place, statement in enumerate(found):
        rows = [member.rows[place] for member in members]
        moved = [
            displacements(statement, around.rows[statement.name], rows, position)
            for position in (row, along)
        ]
        if None in moved:
            return None
        across, onwards = (dict(one or ()) for one in moved)
        if not onwards:
            continue  # it runs once in a row
        if not across:
            return None
        for access in (statement.write, *statement.reads):
            is_written = access == statement.write
            kind = _kind(across[access], onwards[access], is_written=is_written)
            if kind is None:
                return None
            accesses += any(onwards[access] or ())
            if kind:
                tiles.add((access.array, _row(access), is_written))
        nodes = list(walk(statement.body))
        divisions += sum(map(divides, nodes))
        operations += sum(isinstance(node, Binary) and not divides(node) for node in nodes)
        waits = max(waits, _LATENCY * _depth(statement.body, written))
    if not tiles:
        return None
    count = sum(is_written or array not in written for array, _, is_written in tiles)
    return _Work(waits, operations, accesses, divisions, count)


def _kind(
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


def _row(access: Access) -> str:
    """Return the row of an access: all of it but the last subscript."""
    relation = isl.Map(access.relation)
    last = relation.dim(isl.dim_type.out) - 1
    return str(relation.project_out(isl.dim_type.out, last, 1))


def divides(node: Expression) -> bool:
    """Whether a node takes as long as a division of floats, or longer."""
    match node:
        case Binary(operator=BinaryOperator.DIVIDE, type=kind):
            return kind.is_floating
        case Call():
            return True
        case _:
            return False


def _depth(expression: Expression, written: set[str]) -> int:
    """Return how many operations wait for an element that the points write, at most; 0 if none."""
    if isinstance(expression, Load):
        return int(expression.access.array in written)
    below = max((_depth(child, written) for child in children(expression)), default=0)
    return below + isinstance(expression, Binary) if below else 0
