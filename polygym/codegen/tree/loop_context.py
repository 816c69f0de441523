"""Context of a part of the tree: the loops around it, kept while descending.

What transformations of the tree ask about dependences, for loops given by their rows.

A transformation is legal because of what holds for the pairs of instances that no loop further out
orders; see :mod:`polygym.poly.distance` for δ, the distance of a pair along a row.
Example: T → T of y = Ax under the row ``i`` is untouched (δ = 0), under ``j`` it is weakly ordered
(δ ≥ 1), and under ``j`` nothing is left unordered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
            lambda: replace(self, pairs=self._pairs_within(statements)),
        )

    def _pairs_within(self, statements: tuple[str, ...]) -> tuple[DependencePairs, ...]:
        """Keep the pairs between these statements; a sequence orders those across groups."""
        names = frozenset(statements)
        ends = ((pair, pair.dependence) for pair in self.pairs)
        return tuple(pair for pair, end in ends if end.source in names and end.sink in names)

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
        """Return what surrounds the body of a loop over points: the pairs with δ = 0 are left."""

        def make() -> LoopContext:
            left = (pair.unordered_by(along) for pair, along in self._distances(rows, statements))
            pairs = tuple(pair for pair in left if not pair.is_empty)
            own = zip(statements, rows, strict=True)
            inner = {name: (*self.rows[name], row) for name, row in own}
            return replace(self, pairs=pairs, rows={**self.rows, **inner})

        return self.memo.get_or_compute(("in_loop", self, rows, statements), make)

    def with_coincidence(
        self, members: Sequence[BandMember], statements: tuple[str, ...]
    ) -> tuple[BandMember, ...]:
        """Return points with their coincidence decided for the pairs that are alive here."""
        return tuple(self.new_member(member.rows, statements) for member in members)

    def allows(self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]) -> bool:
        """Whether δ ≥ 0 for every pair: the loop may run outside all others that are here."""
        return self.memo.get_or_compute(
            ("allows", self, rows, statements),
            lambda: all(p.reversed_by(d).is_empty for p, d in self._distances(rows, statements)),
        )

    def carries_none(self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]) -> bool:
        """Whether δ ≤ 0 for every pair; with δ ≥ 0, that its iterations are independent."""
        return all(p.carried_by(d).is_empty for p, d in self._distances(rows, statements))

    def new_member(self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]) -> BandMember:
        """Return a loop over points, with its coincidence decided for the pairs that are alive."""
        return self.memo.get_or_compute(
            ("reviewed", self, rows, statements),
            lambda: point_member(rows, self.carries_none(rows, statements)),
        )

    def _distances(
        self, rows: tuple[ScheduleRow, ...], statements: tuple[str, ...]
    ) -> Iterator[tuple[DependencePairs, DependenceDistance]]:
        """Yield the pairs with δ, their distances along a loop."""
        own = dict(zip(statements, rows, strict=True))
        for pair in self.pairs:
            source, sink = own[pair.dependence.source], own[pair.dependence.sink]
            yield pair, pair.distance(source, sink, self.parameters)


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
