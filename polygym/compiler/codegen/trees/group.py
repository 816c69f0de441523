"""Statements that share their innermost loops: which loop does what, and what registers hold.

Two decisions, each a value. The *roles* (:mod:`polygym.compiler.codegen.trees.roles`) follow from
how accesses move, and are decided when a group is made. What is *held* is decided exactly
(:mod:`polygym.compiler.codegen.trees.hold`), which costs more, and so only for groups of interest.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.reductions import operator_of
from polygym.compiler.codegen.trees.across import across_rows
from polygym.compiler.codegen.trees.hold import holdable, holdable_in_copies
from polygym.compiler.codegen.trees.moves import Move
from polygym.compiler.codegen.trees.point_order import with_last
from polygym.compiler.codegen.trees.roles import Roles, Table, roles
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.streaming import as_asked, in_rows
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Member
from polygym.compiler.poly.schedule import Row


@dataclass(frozen=True)
class Group:
    """Statements and their innermost ``members``: what these do, and how accesses move with them.

    ``held`` are the statements whose elements live in registers during the held member. With
    ``along_rows`` the held member is a recurrence along rows, which are the jammed one; with
    ``across`` these run in lanes. With ``diagonal`` the jammed member runs along diagonals of two
    others. With ``sums`` all that waits are sums that may have chains of their own. The members
    ``last`` are those that the mapping wants innermost, in their order. It is ``crowded`` where
    statements share loops that do not sum up innermost as asked: alone each does better.
    """

    statements: tuple[str, ...]
    members: tuple[Member, ...]
    around: Surroundings
    moves: Table
    roles: Roles
    held: frozenset[str] = frozenset()
    along_rows: bool = False
    across: bool = False
    diagonal: bool = False
    sums: bool = False
    last: tuple[int, ...] = ()
    crowded: bool = False

    @property
    def order(self) -> tuple[int, ...]:
        """The order in which the points run."""
        return with_last(self.roles.order(len(self.members)), self.last)

    @property
    def has_vectors(self) -> bool:
        """Whether its innermost loops run in vectors."""
        return self.roles.vector is not None

    @property
    def in_rows(self) -> bool:
        """Whether rows run through memory together that wait for each other, nothing held."""
        jammed, chosen = self.roles.jammed, self.roles
        if jammed is None or chosen.vector is None or chosen.held is not None or self.last:
            return False
        return not self.members[jammed].coincident

    @property
    def holds(self) -> bool:
        """Whether what could be held in registers is."""
        return bool(self.held) if self.roles.held is not None else not self.crowded


def group_of(
    statements: tuple[str, ...], members: tuple[Member, ...], around: Surroundings, setting: Setting
) -> Group:
    """Return the group of some statements inside of loops that run one after the other."""
    members = around.reviewed(members, statements)
    moves = setting.moves(statements, around.rows, members)
    last = setting.last(statements, members)
    has_vectors, registers = setting.has_vectors, setting.mapping.registers
    usual = roles(members, moves, has_vectors=has_vectors, registers=registers)
    if not last:
        chosen = in_rows(usual, statements, members, moves, around, setting)
        if setting.mapping.reassociate and _sums_up(chosen, moves, setting):
            return Group(statements, members, around, moves, chosen, sums=True)
        across = setting.memory.of(
            ("across", statements, members, around, setting.vector_bits, setting.mapping.pack),
            lambda: across_rows(chosen, statements, members, around, setting),
        )
        if across is None:
            return Group(statements, members, around, moves, chosen)
        found = Group(statements, members, around, moves, across.roles, along_rows=True)
        return replace(found, across=across.pays)
    innermost = last[-1]
    chosen = roles(
        members, moves, has_vectors=has_vectors, registers=registers, innermost=innermost
    )
    chosen = as_asked(chosen, usual, innermost, statements)
    crowded = len(statements) > 1 and usual.held is not None and chosen.held is None
    return Group(statements, members, around, moves, chosen, last=last, crowded=crowded)


def _sums_up(chosen: Roles, moves: Table, setting: Setting) -> bool:
    """Whether the held member has sums alone, along rows: these have chains of their own."""
    if chosen.held is None or chosen.vector is not None:
        return False
    for name, found in moves[chosen.held].items():
        is_once = all(move is Move.SAME for move in found.all)
        is_sum = found.write is Move.SAME and operator_of(setting.scop.statement(name)) is not None
        if not (is_once or is_sum):
            return False
    return True


def holding(group: Group, setting: Setting) -> Group:
    """Return the group with what registers hold while its held member runs."""
    place = group.roles.held
    if place is None or not setting.mapping.registers:
        return group
    standing = _standing(group, {place})
    found = setting.memory.of(
        ("held", group.statements, tuple(standing.items())),
        lambda: holdable(setting.scop, group.statements, group.statements, standing),
    )
    if found and not _is_held_in_copies(group, setting):
        group = replace(group, roles=replace(group.roles, jammed=None))
    return replace(group, held=found)


def _standing(group: Group, moving: Set[int]) -> dict[str, tuple[Row, ...]]:
    """Return the rows of all loops around each statement but those of some members."""
    others = [member for position, member in enumerate(group.members) if position not in moving]
    return {
        name: (*group.around.rows[name], *(member.rows[number] for member in others))
        for number, name in enumerate(group.statements)
    }


def _is_held_in_copies(group: Group, setting: Setting) -> bool:
    """Whether an element may stay in a register though iterations that wait run together.

    Those of a coincident member do not touch each other's elements.
    """
    jammed, held = group.roles.jammed, group.roles.held
    if jammed is None or held is None or group.members[jammed].coincident:
        return True
    (name,) = group.statements
    (row,) = group.members[jammed].rows
    standing = _standing(group, {jammed, held})[name]
    return setting.memory.of(
        ("held in copies", name, standing, row),
        lambda: holdable_in_copies(setting.scop, name, standing, row),
    )
