"""Band width of a schedule: how many loops the largest statements may have in tiles together.

A band is a group of loops that may be permuted. Tiles of a band with two loops or more use again
what they have loaded along all of them, and run in parallel along diagonals where no loop of the
band is parallel by itself. The *width* of a statement is the greatest number of its loops in one
band; that of a schedule is the mean over the statements whose instances have the most dimensions.

Example, the paths between all pairs, cut at i = k and j = k::

    Band(k) → Band(i, j)                 2    arrays of the source
    Band(k, i, j), Band(i, j, k), …      3    copies of column k and row k
"""

from collections.abc import Iterator
from fractions import Fraction

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.poly.legality import LegalSchedule
from polygym.poly.transform.splitting.merit import loop_dimension


def band_width(legal: LegalSchedule) -> Fraction:
    """Return the width of a legal schedule, 0 for a program without loops."""
    dimensions = {statement.name: loop_dimension(statement) for statement in legal.scop.statements}
    most = max(dimensions.values())
    widths = {name: 0 for name, dimension in dimensions.items() if dimension == most}
    for name, loops in _loops_in_bands(build_tree(legal)):
        if name in widths:
            widths[name] = max(widths[name], loops)
    return Fraction(sum(widths.values()), len(widths))


def _loops_in_bands(tree: Tree) -> Iterator[tuple[str, int]]:
    """Yield how many loops each statement has in each band around it."""
    match tree:
        case Leaf():
            return
        case SequenceNode(branches):
            for branch in branches:
                yield from _loops_in_bands(branch.child)
        case Band(statements, members, child):
            for place, name in enumerate(statements):
                yield name, sum(any(member.rows[place].iterators) for member in members)
            yield from _loops_in_bands(child)
