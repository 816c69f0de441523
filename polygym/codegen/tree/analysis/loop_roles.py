"""Roles of a band's loops: vector, jammed, scalar replacement, and the order of points.

The members of a permutable band may run in any order; which is best follows from how the accesses
move (:mod:`polygym.codegen.tree.analysis.access_strides`). Roles, for the points of a band without
further
loops:

* *vector*: a coincident member with which every access stays or goes to its neighbour in memory;
* *held*: a member, not the vector, with which statements keep writing the same element. It runs
  innermost, and the element stays in a register;
* *jammed*: another coincident member, with which some read stays where it is, or goes to where
  another one was: its iterations share that read, and are independent chains of operations. Around
  an element that is held, and where there is no such member, it may be one that is not coincident,
  of a single statement, if its iterations need the same vectors.

That last case is a block of a permutable band: with copies c of member i, held member k and other
members o, the order (o, i, k) becomes (o, ⌊i/c⌋, k, i), that of tiles of c by one, and δ ≥ 0 on
every member is all that tiles need. In B[i][j] += A[k][i] * B[k][j] with k > i, say, the vectors
B[k][j] serve eight rows i, though row k is changed later on.

    members in the schedule's order:  others, jammed, vector, held
    without a held member:            others, jammed, vector

Without a vector and without anything to hold, a member that is not coincident is taken for a
recurrence and runs innermost, like a held one, inside a jammed one.

Without a vector, and where a mapping allows no copies of iterations, the order stays: there is
nothing to overlap, and LLVM may have vectors along the innermost loop, which a sum that was moved
there would take away. A member is held then if it is innermost already.

A mapping may say which member runs innermost. Then only that one can be held or be the recurrence,
and nothing else changes: vectors and copies of coincident members are right wherever their loop is,
and copies of the others wherever it is in a permutable band.

Example, C[i][j] += A[i][k] * B[k][j]: j is the vector, k held, i jammed. The innermost code is a
block of C in registers, to which a column of A times a row of B is added again and again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygym.codegen.tree.analysis.access_strides import AccessStrides, StrideKind, shares_vectors
from polygym.codegen.tree.analysis.loop_order import moved_innermost
from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext

StrideTable = Sequence[Mapping[str, AccessStrides]]


@dataclass(frozen=True, slots=True)
class LoopRoles:
    """Positions of members in their band; None where no member has the role."""

    vector: int | None
    reduction: int | None
    jammed: int | None

    @property
    def has_all_roles(self) -> bool:
        """Whether every role is taken, as in a product of matrices."""
        return None not in (self.vector, self.reduction, self.jammed)

    def order(self, count: int) -> tuple[int, ...]:
        """Return the order in which the points run."""
        last = [place for place in (self.jammed, self.vector, self.reduction) if place is not None]
        return (*(place for place in range(count) if place not in last), *last)


@dataclass(frozen=True)
class StatementGroup:
    """Statements and their innermost ``members``: what these do, and how accesses move with them.

    ``replaced_statements`` are the statements whose elements live in registers during the held
    member. With ``is_along_rows`` the held member is a recurrence along rows, which are the jammed
    one; with ``has_recurrence_lanes`` these run in lanes. With ``is_diagonal`` the jammed member
    runs along diagonals of two others. With ``is_reduction`` all that waits are sums that may have
    chains of their own. The members ``innermost_members`` are those that the mapping wants
    innermost, in their order. It is ``has_cache_conflicts`` where statements share loops that do
    not sum up innermost as asked:
    alone each does better.
    """

    statements: tuple[str, ...]
    members: tuple[BandMember, ...]
    loop_context: LoopContext
    access_strides: StrideTable
    roles: LoopRoles
    replaced_statements: frozenset[str] = frozenset()
    is_along_rows: bool = False
    has_recurrence_lanes: bool = False
    is_diagonal: bool = False
    is_reduction: bool = False
    innermost_members: tuple[int, ...] = ()
    has_cache_conflicts: bool = False

    @property
    def order(self) -> tuple[int, ...]:
        """The order in which the points run."""
        return moved_innermost(self.roles.order(len(self.members)), self.innermost_members)

    @property
    def has_vectors(self) -> bool:
        """Whether its innermost loops run in vectors."""
        return self.roles.vector is not None

    @property
    def runs_by_rows(self) -> bool:
        """Whether rows run through memory together that wait for each other, nothing held."""
        jammed, chosen = self.roles.jammed, self.roles
        if jammed is None or chosen.vector is None or self.innermost_members:
            return False
        return chosen.reduction is None and not self.members[jammed].coincident

    @property
    def has_scalar_replacement(self) -> bool:
        """Whether what could be held in registers is."""
        if self.roles.reduction is None:
            return not self.has_cache_conflicts
        return bool(self.replaced_statements)


def assign_roles(
    members: Sequence[BandMember],
    table: StrideTable,
    *,
    has_vectors: bool,
    registers: bool,
    jams: bool = True,
    innermost: int | None = None,
) -> LoopRoles:
    """Return who does what, where a certain member runs ``innermost`` if one is given.

    With ``jams`` iterations of a loop around the innermost one may run together.
    """
    count = len(members)
    vector = _vector_member(members, table) if has_vectors else None
    keeps_order = vector is None and not jams
    if keeps_order and innermost is None and count:
        innermost = count - 1
    inside = range(count) if innermost is None else (innermost,)
    held = _reduction_member(inside, table, vector) if registers else None
    free = [
        place for place in range(count) if members[place].coincident and place not in (vector, held)
    ]
    if vector is None and held is None:
        # A recurrence along one member: iterations of an independent one overlap its latency.
        waiting = [place for place in inside if not members[place].coincident]
        if keeps_order or not (waiting and free):
            return LoopRoles(None, None, None)
        return LoopRoles(None, waiting[-1], free[-1])
    useful = [place for place in free if held is not None or _has_reuse(table[place])]
    if not useful and vector is not None and held is not None:
        useful = [
            place
            for place in range(count)
            if place not in (vector, held) and _shares_all_vectors(table[place], table[vector])
        ]
    return LoopRoles(vector, held, useful[-1] if useful else None)


def _vector_member(members: Sequence[BandMember], table: StrideTable) -> int | None:
    """Return the coincident member with the most accesses that go to their neighbours."""
    best, most = None, 0
    for place, member in enumerate(members):
        strides = [moves for moves in table[place].values()]
        moving = [move for moves in strides for move in moves.all]
        if not member.coincident or StrideKind.OTHER in moving:
            continue
        if any(moves.write is not StrideKind.UNIT for moves in strides):
            continue
        gain = moving.count(StrideKind.UNIT)
        if gain >= most:
            best, most = place, gain
    return best


def _reduction_member(places: Sequence[int], table: StrideTable, vector: int | None) -> int | None:
    """Return the member with which most statements write the same element, inner ones first."""
    best, most = None, 0
    for place in places:
        if place == vector:
            continue
        same = sum(moves.write is StrideKind.ZERO for moves in table[place].values())
        if same >= max(most, 1):
            best, most = place, same
    return best


def _shares_all_vectors(
    rows: Mapping[str, AccessStrides], columns: Mapping[str, AccessStrides]
) -> bool:
    """Whether there is one statement, and the iterations of a loop need the same vectors of it."""
    return len(rows) == 1 and all(
        moves.write is not StrideKind.ZERO and shares_vectors(moves, columns[name])
        for name, moves in rows.items()
    )


def _has_reuse(moves: Mapping[str, AccessStrides]) -> bool:
    """Whether some read stays where it is, or goes to where another one was."""
    return any(
        strides.overlapping_reads or StrideKind.ZERO in strides.reads for strides in moves.values()
    )
