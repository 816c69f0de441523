"""Which loops of a schedule may change places: those that are members of one band, or come to be.

The bands of a schedule's tree are what may be permuted as it is; where points sink into the
branches of a sequence (:mod:`polygym.compiler.codegen.trees.sink`) or run through further loops
(:mod:`polygym.compiler.codegen.trees.through`) there are larger ones. Loops are named by their
numbers, as in the orders that a mapping asks for
(:mod:`polygym.compiler.codegen.trees.point_order`)::

    Band(i, j) → Sequence{ S: Leaf, T: Band(k) }     as it is: 1, 2      sunk, if T may: 1, 2, 3

A band of one loop says nothing, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from polygym.compiler.codegen.trees.point_order import Loops, numbers
from polygym.compiler.codegen.trees.sink import sink
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.through import run_through
from polygym.compiler.codegen.trees.tree import Band, Leaf, Sequence, Tree

Numbers: TypeAlias = tuple[tuple[int, ...], ...]
"""Groups of loops that may change places, by their numbers."""


def permutable(tree: Tree, around: Surroundings, loops: Loops, *, moving: bool) -> Numbers:
    """Return the groups of all statements, the largest ones; those of moved points if they are."""
    found: dict[frozenset[int], None] = {}
    for band in _bands(tree, around, moving=moving):
        numbered = numbers(band.statements, band.members, loops)
        for place in range(len(band.statements)):
            both = zip(numbered, band.members, strict=True)
            group = {one for one, member in both if any(member.rows[place].iterators)}
            found[frozenset(group) - {0}] = None
    return tuple(
        tuple(sorted(group))
        for group in found
        if len(group) > 1 and not any(group < other for other in found)
    )


def _bands(tree: Tree, around: Surroundings, *, moving: bool) -> Iterator[Band]:
    """Yield the bands of a tree, and those that its points may come to stand in."""
    match tree:
        case Leaf():
            return
        case Sequence(branches):
            for branch in branches:
                yield from _bands(branch.child, around.within(branch.statements), moving=moving)
        case Band():
            if moving and (sunk := sink(tree, around)) is not None:
                for one in sunk:
                    below = around.within(one.band.statements)
                    yield from _bands(one.band, below, moving=True)
                return
            yield tree
            if moving and (through := run_through(tree, around)) is not None:
                yield from _bands(through.inside, through.around, moving=True)
            yield from _bands(
                tree.child, around.inside(tree.members, tree.statements), moving=moving
            )
