"""The nests of a schedule: groups of statements with loops in common, about which to decide.

A schedule's tree says which statements share loops and which loops may be permuted
(:mod:`polygym.compiler.codegen.trees.tree`). A *nest* is what a mapping may say something of by
itself: statements that have a loop in common with each other and none with others. Its shape is
that of its deepest statement: how many iterations each loop around it has at most at the program's
sizes, outermost first, and which of them are independent.

Example, y = Ax in its own order: a nest {S} with one loop of n and a nest {T} with loops of n and
m, of which the first is independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.tree import Band, Leaf, Sequence, Tree, paths
from polygym.compiler.codegen.trees.trips import trips
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.poly.legality import LegalSchedule
from polygym.errors import PolygymError
from polygym.pickles import pickled_by_name


@pickled_by_name
@dataclass(frozen=True, slots=True)
class NestShape:
    """Statements in the order of the tree, and the loops around the deepest one."""

    statements: tuple[str, ...]
    lengths: tuple[int, ...]
    coincident: tuple[bool, ...]

    @property
    def depth(self) -> int:
        """How many loops there are."""
        return len(self.lengths)

    @property
    def iterations(self) -> int:
        """How many points the loops have together at most."""
        return prod(self.lengths)


def nest_shapes(legal: LegalSchedule, sizes: Sizes, most: int) -> tuple[NestShape, ...]:
    """Return the nests of a schedule in their order, the ``most`` largest where there are more.

    Statements without loops have none. There are no nests where isl would take too long.
    """
    try:
        with bounded("looking for the nests of a schedule"):
            tree = build_tree(legal)
            found = [_shape(band, legal, sizes) for band in _bands(tree)]
    except PolygymError:
        return ()
    kept = sorted(range(len(found)), key=lambda place: (-found[place].iterations, place))[:most]
    return tuple(found[place] for place in sorted(kept))


def _bands(tree: Tree) -> list[Band]:
    """Return the outermost bands of a tree."""
    match tree:
        case Leaf():
            return []
        case Band():
            return [tree]
        case Sequence(branches):
            return [band for branch in branches for band in _bands(branch.child)]


def _shape(band: Band, legal: LegalSchedule, sizes: Sizes) -> NestShape:
    around = dict(paths(band, band.statements))
    deepest = max(around, key=lambda name: len(around[name]))
    statement, parameters = legal.scop.statement(deepest), legal.schedule.parameters
    lengths = []
    for member in around[deepest]:
        (row,) = member.rows
        lengths.append(max(1, trips(statement, row, parameters, sizes)))
    coincident = tuple(member.coincident for member in around[deepest])
    return NestShape(band.statements, tuple(lengths), coincident)
