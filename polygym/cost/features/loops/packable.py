"""Arrays that statements may read packed copies of, with the elements of vectors side by side.

What is asked here depends on a schedule's parts and on the sizes, not on how loops are mapped:
:mod:`polygym.cost.features.candidates.pack_estimates` says for the loops of a plan which of these
copies are made.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from polygym.codegen.common.packing_candidates import PackingCandidates
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.ir.scop import Statement


@dataclass(frozen=True, slots=True)
class PackableArrays:
    """The arrays of which a statement may read copies.

    Of those in ``whole_arrays`` there may be a copy of the whole array, of those in ``tile_copies``
    one of a tile, since nothing in this part of the program writes them. In tiles in which nothing
    that is read is written, and nowhere else, there may be copies of those in
    ``disjoint_tile_copies``, too.
    """

    whole_arrays: frozenset[str] = frozenset()
    tile_copies: frozenset[str] = frozenset()
    disjoint_tile_copies: frozenset[str] = frozenset()


NO_PACKABLE_ARRAYS = PackableArrays()
"""No copies at all."""

PackableByStatement = dict[tuple[str, bool], PackableArrays]
"""What each statement may read, in tiles in which nothing waits but for sums, and elsewhere."""


def packable_arrays(packing: PackingCandidates | None) -> PackableByStatement:
    """Return what may be packed, by statement and whether its tiles are free."""
    if packing is None:
        return {}
    by_statement: PackableByStatement = {}
    steady = PackingCandidates(packing.scop, packing.sizes, packing.parts, is_read_only=True)
    for statement in packing.scop.statements:
        beside = frozenset().union(*(part for part in packing.parts if statement.name in part))
        written = {packing.scop.statement(name).write.array for name in beside}
        whole, tiles, own = _readable_copies(packing, statement), frozenset[str](), frozenset[str]()
        if not any(access.gathered for access in statement.reads):
            tiles = _transposable_arrays(packing, statement).difference(written)
            own = _readable_copies(steady, statement).intersection(written)
        by_statement[statement.name, False] = PackableArrays(whole, tiles)
        by_statement[statement.name, True] = PackableArrays(whole, tiles, own)
    return by_statement


def _readable_copies(packing: PackingCandidates, statement: Statement) -> frozenset[str]:
    """Return the arrays of which some read may go to a copy."""
    reads = statement.reads
    return frozenset(access.array for access in reads if packing.allows(statement, access))


def _transposable_arrays(packing: PackingCandidates, statement: Statement) -> frozenset[str]:
    """Return the arrays that a statement reads and that may be turned: matrices, and more."""
    names = {access.array for access in statement.reads}
    return frozenset(name for name in names if packing.scop.array(name).rank > 1)


def statements_in_independent_tiles(tree: Tree) -> frozenset[str]:
    """Return the statements whose last branch is for tiles in which nothing waits but for sums.

    These are the loops that :func:`polygym.codegen.tree.ir.loop_paths` says last.
    """
    match tree:
        case Leaf():
            return frozenset()
        case Band(_, _, child):
            return statements_in_independent_tiles(child)
        case SequenceNode(branches):
            result: frozenset[str] = frozenset()
            for branch in branches:
                is_free = branch.predicate is not None and not branch.predicate.is_complement
                own: Iterable[str] = (
                    branch.statements if is_free else statements_in_independent_tiles(branch.child)
                )
                result = result.difference(branch.statements).union(own)
            return result
        case _:
            assert_never(tree)
