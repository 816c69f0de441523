"""Statements that share their innermost loops, with the roles of these loops."""

from dataclasses import dataclass

from polygym.codegen.tree.analysis.loop_order import moved_innermost
from polygym.codegen.tree.analysis.loop_roles import LoopRoles, StrideTable
from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext


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
        if (
            jammed is None
            or chosen.vector is None
            or chosen.reduction is not None
            or self.innermost_members
        ):
            return False
        return not self.members[jammed].coincident

    @property
    def has_scalar_replacement(self) -> bool:
        """Whether what could be held in registers is."""
        return (
            bool(self.replaced_statements)
            if self.roles.reduction is not None
            else not self.has_cache_conflicts
        )
