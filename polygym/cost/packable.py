"""Which arrays statements may read copies of, in which what vectors want lies side by side.

What is asked here depends on a schedule's parts and on the sizes, not on how loops are mapped:
:mod:`polygym.cost.packs` says for the loops of a plan which of these copies are made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from polygym.compiler.codegen.common.packable import Packing
from polygym.compiler.codegen.trees.tree import Band, Leaf, Sequence, Tree
from polygym.compiler.ir.scop import Statement


@dataclass(frozen=True, slots=True)
class Packable:
    """The arrays of which a statement may read copies.

    Of those in ``whole`` there may be a copy of the whole array, of those in ``tiles`` one of a
    tile, since nothing in this part of the program writes them. In tiles in which nothing that is
    read is written, and nowhere else, there may be copies of those in ``steady``, too.
    """

    whole: frozenset[str] = frozenset()
    tiles: frozenset[str] = frozenset()
    steady: frozenset[str] = frozenset()


NOTHING = Packable()
"""No copies at all."""

Packs = dict[tuple[str, bool], Packable]
"""What each statement may read, in tiles in which nothing waits but for sums, and elsewhere."""


def packable(packing: Packing | None) -> Packs:
    """Return what may be packed, by statement and whether its tiles are free."""
    if packing is None:
        return {}
    found: Packs = {}
    steady = Packing(packing.scop, packing.sizes, packing.parts, is_steady=True)
    for statement in packing.scop.statements:
        beside = frozenset().union(*(one for one in packing.parts if statement.name in one))
        written = {packing.scop.statement(name).write.array for name in beside}
        whole, tiles, own = _allowed(packing, statement), frozenset[str](), frozenset[str]()
        if not any(access.gathered for access in statement.reads):
            tiles = _ranked(packing, statement).difference(written)
            own = _allowed(steady, statement).intersection(written)
        found[statement.name, False] = Packable(whole, tiles)
        found[statement.name, True] = Packable(whole, tiles, own)
    return found


def _allowed(packing: Packing, statement: Statement) -> frozenset[str]:
    """Return the arrays of which some read may go to a copy."""
    reads = statement.reads
    return frozenset(access.array for access in reads if packing.allows(statement, access))


def _ranked(packing: Packing, statement: Statement) -> frozenset[str]:
    """Return the arrays that a statement reads and that may be turned: matrices, and more."""
    names = {access.array for access in statement.reads}
    return frozenset(name for name in names if packing.scop.array(name).rank > 1)


def in_free_tiles(tree: Tree) -> frozenset[str]:
    """Return the statements whose last branch is for tiles in which nothing waits but for sums.

    These are the loops that :func:`polygym.compiler.codegen.trees.tree.paths` says last.
    """
    match tree:
        case Leaf():
            return frozenset()
        case Band(_, _, child):
            return in_free_tiles(child)
        case Sequence(branches):
            found: frozenset[str] = frozenset()
            for branch in branches:
                is_free = branch.where is not None and not branch.where.is_other
                own: Iterable[str] = branch.statements if is_free else in_free_tiles(branch.child)
                found = found.difference(branch.statements).union(own)
            return found
        case _:
            assert_never(tree)


__all__ = ["NOTHING", "Packable", "Packs", "in_free_tiles", "packable"]
