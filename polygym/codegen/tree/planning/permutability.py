"""Permutability: loops of a schedule that form one band, or come to form one.

The bands of a schedule's tree are what may be permuted as it is; where points sink into the
branches of a sequence (``sink_points``) or run through further loops
(:mod:`polygym.codegen.tree.transforms.sinking`) there are larger ones. Loops are named
by their numbers, as in the orders that a mapping asks for
(:mod:`polygym.codegen.tree.analysis.loop_order`)::

    Band(i, j) → Sequence{ S: Leaf, T: Band(k) }     as it is: 1, 2      sunk, if T may: 1, 2, 3

A band of one loop says nothing, and is left out.
"""

from collections.abc import Iterator
from typing import TypeAlias

from polygym.codegen.tree.analysis.loop_order import OriginalLoops, loop_numbers
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.transforms.sinking import interchange_inward, sink_points

LoopGroups: TypeAlias = tuple[tuple[int, ...], ...]
"""Groups of loops that may change places, by their numbers."""


def permutable_groups(
    tree: Tree, loop_context: LoopContext, loops: OriginalLoops, *, with_moved_points: bool
) -> LoopGroups:
    """Return the groups of all statements, the largest ones; those of moved points if they are."""
    result: dict[frozenset[int], None] = {}
    for band in _permutable_bands(tree, loop_context, with_moved_points=with_moved_points):
        numbered = loop_numbers(band.statements, band.members, loops)
        for place in range(len(band.statements)):
            both = zip(numbered, band.members, strict=True)
            group = {number for number, member in both if any(member.rows[place].iterators)}
            result[frozenset(group) - {0}] = None
    return tuple(
        tuple(sorted(group))
        for group in result
        if len(group) > 1 and not any(group < other for other in result)
    )


def _permutable_bands(
    tree: Tree, loop_context: LoopContext, *, with_moved_points: bool
) -> Iterator[Band]:
    """Yield the bands of a tree, and those that its points may come to stand in."""
    match tree:
        case Leaf():
            return
        case SequenceNode(branches):
            for branch in branches:
                yield from _permutable_bands(
                    branch.child,
                    loop_context.for_branch(branch.statements),
                    with_moved_points=with_moved_points,
                )
        case Band():
            if with_moved_points and (sunk := sink_points(tree, loop_context)) is not None:
                for sunk_branch in sunk:
                    below = loop_context.for_branch(sunk_branch.band.statements)
                    yield from _permutable_bands(sunk_branch.band, below, with_moved_points=True)
                return
            yield tree
            if (
                with_moved_points
                and (through := interchange_inward(tree, loop_context)) is not None
            ):
                yield from _permutable_bands(
                    through.inner_band, through.loop_context, with_moved_points=True
                )
            yield from _permutable_bands(
                tree.child,
                loop_context.inside_members(tree.members, tree.statements),
                with_moved_points=with_moved_points,
            )
