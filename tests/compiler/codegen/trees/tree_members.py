"""The members of mapped trees."""

from collections.abc import Iterator

from polygym.compiler.codegen.trees.tree import Band, Leaf, Member, Sequence, Tree


def members_of(tree: Tree) -> Iterator[Member]:
    """Yield all members of a tree."""
    match tree:
        case Leaf():
            return
        case Sequence(branches):
            for branch in branches:
                yield from members_of(branch.child)
        case Band(_, members, child):
            yield from members
            yield from members_of(child)
