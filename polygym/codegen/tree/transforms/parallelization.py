"""Threads: the outermost coincident loop on every way down the tree becomes parallel.

::

    Band(k) → Band(i: coincident, j: coincident)   →   Band(k) → Band(i: parallel, j)

Side condition: the member is coincident, δ = 0 for every pair that no loop further out orders: its
iterations do not wait for each other. Only the outermost one: threads inside threads cost starts.
A loop that has another annotation, vectors say, is left with it.

At known sizes the outermost one that has an iteration for every thread is taken, else the longest
of its band: a batch of one image is no work for two.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP as ALONE
from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.tree.analysis.trip_counts import member_trip_count
from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree, with_annotation
from polygym.codegen.tree.planning_memo import NO_MEMO, PlanningMemo
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, WorkSharing
from polygym.mapping.sizes import Sizes


@dataclass(frozen=True)
class Parallelizer:
    """Says what runs in threads; without ``sizes`` every loop is taken to be long.

    ``contiguous_chunks`` a thread gets iterations that follow each other, whatever the mapping
    says.
    """

    scop: Scop
    mapping: Mapping
    parameters: tuple[str, ...]
    sizes: Sizes | None = None
    memo: PlanningMemo = NO_MEMO
    contiguous_chunks: bool = False

    def with_mapping(self, mapping: Mapping) -> Parallelizer:
        """Return the same under another mapping."""
        return Parallelizer(
            self.scop, mapping, self.parameters, self.sizes, self.memo, self.contiguous_chunks
        )

    def parallelize_members(
        self, statements: tuple[str, ...], members: tuple[BandMember, ...], *, parallel: bool
    ) -> tuple[tuple[BandMember, ...], bool]:
        """Make a coincident member parallel, unless a loop around is.

        The second value says whether one of the members, or a loop around them, is parallel now.
        """
        if parallel or not self.mapping.is_parallel:
            return members, parallel
        place = self._choose_member(statements, members)
        if place is None:
            return members, False
        is_dynamic = self.mapping.parallel is WorkSharing.DYNAMIC and not self.contiguous_chunks
        own = with_annotation(members[place], ParallelLoop(is_dynamic))
        return (*members[:place], own, *members[place + 1 :]), True

    def parallelize_tree(self, tree: Tree, *, parallel: bool) -> Tree:
        """Make the outermost coincident loop on every way down parallel, unless one around is."""
        match tree:
            case Leaf():
                return tree
            case SequenceNode():
                return tree.with_children(
                    lambda branch: self.parallelize_tree(branch.child, parallel=parallel)
                )
            case Band(statements, own, child):
                members, parallel = self.parallelize_members(statements, own, parallel=parallel)
                below = self.parallelize_tree(child, parallel=parallel)
                if not members:
                    return below
                is_same = members is own and below is child
                return tree if is_same else Band(statements, members, below)

    def _choose_member(
        self, statements: tuple[str, ...], members: tuple[BandMember, ...]
    ) -> int | None:
        """Return the member to share out: the first that is long enough, else the longest."""
        longest, most = None, 1
        for place, member in enumerate(members):
            if not member.coincident or member.annotation != ALONE:
                continue
            length = self._length(statements, member)
            if length is None or length >= self.mapping.threads:
                return place
            if length > most:
                longest, most = place, length
        return longest

    def _length(self, statements: tuple[str, ...], member: BandMember) -> int | None:
        """Return how many iterations a loop has at most; None where that is not known."""
        sizes = self.sizes
        if sizes is None or len(member.terms) > 1:
            return None
        return self.memo.get_or_compute(
            ("length", statements, member, self.parameters),
            lambda: member_trip_count(self.scop, statements, member, self.parameters, sizes),
        )
