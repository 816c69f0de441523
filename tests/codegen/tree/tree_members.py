"""The members of mapped trees."""

from collections.abc import Iterator

from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree


def members_of(tree: Tree) -> Iterator[BandMember]:
    """Yield all members of a tree."""
    match tree:
        case Leaf():
            return
        case SequenceNode(branches):
            for branch in branches:
                yield from members_of(branch.child)
        case Band(_, members, child):
            yield from members
            yield from members_of(child)
