"""Context of a part of the tree: the loops around it, kept while descending.

What transformations of the tree ask about dependences, for loops given by their rows.

A transformation is legal because of what holds for the pairs of instances that no loop further out
orders; see :mod:`polygym.poly.distance` for δ, the distance of a pair along a row.
Example: T → T of y = Ax under the row ``i`` is untouched (δ = 0), under ``j`` it is weakly ordered
(δ ≥ 1), and under ``j`` nothing is left unordered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from polygym.codegen.tree.ir import BandMember, point_member
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.poly.distance import DependenceDistance, DependencePairs, all_pairs
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


def are_weakly_ordered(
    pairs: Iterable[DependencePairs],
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> bool:
    """Whether δ ≥ 0 for every pair: the loop may run outside all others."""
    return all(
        pair.reversed_by(_distance(pair, statements, rows, parameters)).is_empty for pair in pairs
    )


def are_never_carried(
    pairs: Iterable[DependencePairs],
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> bool:
    """Whether δ ≤ 0 for every pair; with δ ≥ 0, that its iterations are independent."""
    return all(
        pair.carried_by(_distance(pair, statements, rows, parameters)).is_empty for pair in pairs
    )


def unordered_pairs(
    pairs: Iterable[DependencePairs],
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> tuple[DependencePairs, ...]:
    """Return the pairs with δ = 0, those dependences left out that have none."""
    left = (
        dependence_pairs.unordered_by(_distance(dependence_pairs, statements, rows, parameters))
        for dependence_pairs in pairs
    )
    return tuple(one for one in left if not one.is_empty)


def pairs_within(
    pairs: Iterable[DependencePairs], statements: tuple[str, ...]
) -> tuple[DependencePairs, ...]:
    """Keep the pairs between these statements; those across groups are ordered by a sequence."""
    names = frozenset(statements)
    return tuple(
        pair for pair in pairs if pair.dependence.source in names and pair.dependence.sink in names
    )


def order_groups(
    groups: Iterable[tuple[str, ...]], pairs: Iterable[DependencePairs]
) -> tuple[tuple[str, ...], ...] | None:
    """Return groups of statements so that no pair leads backwards.

    None says that there is no such order: two of them wait for each other.
    """
    left = dict(enumerate(groups))
    group_of = {name: place for place, group in left.items() for name in group}
    before: dict[int, set[int]] = {place: set() for place in left}
    for pair in pairs:
        source = group_of.get(pair.dependence.source)
        sink = group_of.get(pair.dependence.sink)
        if source is not None and sink is not None and source != sink:
            before[sink].add(source)
    result: list[tuple[str, ...]] = []
    while left:
        ready = next((place for place in left if before[place].isdisjoint(left)), None)
        if ready is None:
            return None
        result.append(left.pop(ready))
    return tuple(result)


def _distance(
    pair: DependencePairs,
    statements: tuple[str, ...],
    rows: tuple[ScheduleRow, ...],
    parameters: tuple[str, ...],
) -> DependenceDistance:
    source = rows[statements.index(pair.dependence.source)]
    sink = rows[statements.index(pair.dependence.sink)]
    return pair.distance(source, sink, parameters)
