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

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.common.loop_annotation import Parallel
from polygym.compiler.codegen.common.mapping import Mapping, Sharing
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.codegen.trees.memory import NOTHING, Memory
from polygym.compiler.codegen.trees.tree import Band, Leaf, Member, Sequence, Tree, annotated
from polygym.compiler.codegen.trees.trips import length
from polygym.compiler.ir.scop import Scop


@dataclass(frozen=True)
class Threads:
    """Says what runs in threads; without ``sizes`` every loop is taken to be long.

    ``in_turn`` a thread gets iterations that follow each other, whatever the mapping says.
    """

    scop: Scop
    mapping: Mapping
    parameters: tuple[str, ...]
    sizes: Sizes | None = None
    memory: Memory = NOTHING
    in_turn: bool = False

    def under(self, mapping: Mapping) -> Threads:
        """Return the same under another mapping."""
        return Threads(self.scop, mapping, self.parameters, self.sizes, self.memory, self.in_turn)

    def shared(
        self, statements: tuple[str, ...], members: tuple[Member, ...], *, parallel: bool
    ) -> tuple[tuple[Member, ...], bool]:
        """Make a coincident member parallel, unless a loop around is.

        The second value says whether one of the members, or a loop around them, is parallel now.
        """
        if parallel or not self.mapping.shares:
            return members, parallel
        place = self._chosen(statements, members)
        if place is None:
            return members, False
        annotation = Parallel(self.mapping.parallel is Sharing.DYNAMIC and not self.in_turn)
        own = annotated(members[place], annotation)
        return (*members[:place], own, *members[place + 1 :]), True

    def inside(self, tree: Tree, *, parallel: bool) -> Tree:
        """Make the outermost coincident loop on every way down parallel, unless one around is."""
        match tree:
            case Leaf():
                return tree
            case Sequence():
                return tree.rebuilt(lambda branch: self.inside(branch.child, parallel=parallel))
            case Band(statements, own, child):
                members, parallel = self.shared(statements, own, parallel=parallel)
                below = self.inside(child, parallel=parallel)
                if not members:
                    return below
                is_same = members is own and below is child
                return tree if is_same else Band(statements, members, below)

    def _chosen(self, statements: tuple[str, ...], members: tuple[Member, ...]) -> int | None:
        """Return the member to share out: the first that is long enough, else the longest."""
        longest, most = None, 1
        for place, member in enumerate(members):
            if not member.coincident or member.annotation != ALONE:
                continue
            found = self._length(statements, member)
            if found is None or found >= self.mapping.threads:
                return place
            if found > most:
                longest, most = place, found
        return longest

    def _length(self, statements: tuple[str, ...], member: Member) -> int | None:
        """Return how many iterations a loop has at most; None where that is not known."""
        sizes = self.sizes
        if sizes is None or len(member.parts) > 1:
            return None
        return self.memory.of(
            ("length", statements, member, self.parameters),
            lambda: length(self.scop, statements, member, self.parameters, sizes),
        )
