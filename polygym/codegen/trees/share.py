"""Threads: the outermost coincident loop on every way down the tree becomes parallel.

::

    Band(k) → Band(i: coincident, j: coincident)   →   Band(k) → Band(i: parallel, j)

Side condition: the member is coincident, δ = 0 for every pair that no loop further out orders: its
iterations do not wait for each other. Only the outermost one: threads inside threads cost starts.
A loop that has another duty, vectors say, is left with it.
"""

from __future__ import annotations

from dataclasses import replace

from polygym.codegen.duty import SEQUENTIAL as ALONE
from polygym.codegen.duty import Parallel
from polygym.codegen.mapping import Mapping, Sharing
from polygym.codegen.trees.tree import Band, Branch, Leaf, Member, Sequence, Tree


def shared(
    members: tuple[Member, ...], mapping: Mapping, *, parallel: bool
) -> tuple[tuple[Member, ...], bool]:
    """Make the outermost coincident member parallel, unless a loop around is.

    The second value says whether one of the members, or a loop around them, is parallel now.
    """
    if parallel or not mapping.shares:
        return members, parallel
    for place, member in enumerate(members):
        if member.coincident and member.duty == ALONE:
            own = replace(member, duty=Parallel(mapping.parallel is Sharing.DYNAMIC))
            return (*members[:place], own, *members[place + 1 :]), True
    return members, False


def with_parallel(tree: Tree, mapping: Mapping, *, parallel: bool) -> Tree:
    """Make the outermost coincident loop on every way down parallel, unless one around is."""
    match tree:
        case Leaf():
            return tree
        case Sequence(branches):
            return Sequence(
                tuple(
                    Branch(
                        branch.statements,
                        with_parallel(branch.child, mapping, parallel=parallel),
                    )
                    for branch in branches
                )
            )
        case Band(statements, members, child):
            members, parallel = shared(members, mapping, parallel=parallel)
            below = with_parallel(child, mapping, parallel=parallel)
            return Band(statements, members, below) if members else below
