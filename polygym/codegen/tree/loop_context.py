"""What surrounds a part of the tree, kept on the way down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.codegen.tree.dependence_queries import (
    are_never_carried,
    are_weakly_ordered,
    pairs_within,
    unordered_pairs,
)
from polygym.codegen.tree.ir import BandMember, point_member
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.poly.distance import DependencePairs, all_pairs
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import ScheduleRow


@dataclass(frozen=True, eq=False)
class LoopContext:
    """The surroundings (within one process: pairs hold isl's objects).

    ``pairs`` are those that no loop around orders, ``rows`` the point loops around each statement,
    ``parameters`` the names in every row, ``is_parallel`` whether one of the loops around is
    parallel. With a ``memo`` the same way down leads to the same object.
    """

    pairs: tuple[DependencePairs, ...]
    rows: Mapping[str, tuple[ScheduleRow, ...]]
    parameters: tuple[str, ...]
    is_parallel: bool = False
    memo: PlanningMemo = NO_MEMO

    @staticmethod
    def of(legal: LegalSchedule, memo: PlanningMemo = NO_MEMO) -> LoopContext:
        """Return what surrounds the whole tree of a schedule."""
        names, parameters = legal.scop.statements, legal.schedule.parameters
        return memo.get_or_compute(
            ("root", parameters),
            lambda: LoopContext(
                all_pairs(legal.scop),
                {statement.name: () for statement in names},
                parameters,
                memo=memo,
            ),
        )

    def for_branch(self, statements: tuple[str, ...]) -> LoopContext:
        """Return what surrounds a branch."""
        return self.memo.get_or_compute(
            ("within", self, statements),
            lambda: replace(self, pairs=pairs_within(self.pairs, statements)),
        )

    def with_threads(self, *, parallel: bool) -> LoopContext:
        """Return the same, where a loop around is parallel or none is."""
        return self.memo.get_or_compute(
            ("with_threads", self, parallel), lambda: replace(self, is_parallel=parallel)
        )

    def inside_members(
        self, members: Sequence[BandMember], statements: tuple[str, ...]
    ) -> LoopContext:
        """Return what surrounds the body of some loops over points."""
        result = self
        for member in members:
            result = result.inside_loop(member.rows, statements)
        return result

    def inside_loop(
        self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]
    ) -> LoopContext:
        """Return what surrounds the body of a loop over points."""

        def make() -> LoopContext:
            pairs = unordered_pairs(self.pairs, statements, rows, self.parameters)
            own = {
                name: (*self.rows[name], row) for name, row in zip(statements, rows, strict=True)
            }
            return replace(self, pairs=pairs, rows={**self.rows, **own})

        return self.memo.get_or_compute(("in_loop", self, rows, statements), make)

    def with_coincidence(
        self, members: Sequence[BandMember], statements: tuple[str, ...]
    ) -> tuple[BandMember, ...]:
        """Return points with their coincidence decided for the pairs that are alive here."""
        return tuple(self.new_member(member.rows, statements) for member in members)

    def allows(self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]) -> bool:
        """Whether a loop may run outside all others that are here."""
        return self.memo.get_or_compute(
            ("allows", self, rows, statements),
            lambda: are_weakly_ordered(self.pairs, statements, rows, self.parameters),
        )

    def new_member(self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]) -> BandMember:
        """Return a loop over points, with its coincidence decided for the pairs that are alive."""
        return self.memo.get_or_compute(
            ("reviewed", self, rows, statements),
            lambda: point_member(
                rows, are_never_carried(self.pairs, statements, rows, self.parameters)
            ),
        )
