"""The nests of a schedule: groups of statements with loops in common, about which to decide.

A schedule's tree says which statements share loops and which loops may be permuted
(:mod:`polygym.codegen.tree.ir`). A *nest* is what a mapping may say something of by
itself: statements that have a loop in common with each other and none with others. Its shape is
that of its deepest statement: how many iterations each loop around it has at most at the program's
sizes, outermost first, and which of them are independent. Beside that stands which of them may
change places, as the schedule has them, and where points of tiles have moved inside.

Example, y = Ax in its own order: a nest {S} with one loop of n and a nest {T} with loops of n and
m, of which the first is independent.
"""

from collections.abc import Sequence as Many
from dataclasses import dataclass
from math import prod

from polygym.codegen.tree.analysis.loop_order import loops_of
from polygym.codegen.tree.analysis.trip_counts import row_trip_count
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree, loop_paths
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.planning.permutability import LoopGroups, permutable_groups
from polygym.errors import PolygymError
from polygym.mapping.sizes import Sizes
from polygym.pickling import pickle_by_name
from polygym.poly.distance import all_pairs
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule


@pickle_by_name
@dataclass(frozen=True, slots=True)
class NestShape:
    """Statements in the order of the tree, and the loops around the deepest one.

    Loops of one group of ``permutable_groups`` ones, by their numbers from 1 on, may change places
    as they are; of one group of ``joined`` ones if points of tiles move inside.
    """

    statements: tuple[str, ...]
    trip_counts: tuple[int, ...]
    coincident: tuple[bool, ...]
    permutable: LoopGroups = ()
    joined: LoopGroups = ()

    @property
    def depth(self) -> int:
        """How many loops there are."""
        return len(self.trip_counts)

    def next_loops_outward(self, ordered: Many[int], *, moving: bool) -> tuple[int, ...]:
        """Return the loops that may run right around those that have been named for the inside.

        There is a choice as long as two loops of a group are left.

        >>> shape = NestShape(("S",), (9, 9, 9), (True,) * 3, ((1, 2),), ((1, 2, 3),))
        >>> shape.next_loops_outward((), moving=False), shape.next_loops_outward((3,), moving=True)
        ((1, 2), (1, 2))
        >>> shape.next_loops_outward((1, 3), moving=True)
        ()
        """
        result: set[int] = set()
        for group in self.joined if moving else self.permutable:
            left = [loop for loop in group if loop not in ordered]
            result.update(left if len(left) > 1 else ())
        return tuple(sorted(result))

    @property
    def iterations(self) -> int:
        """How many points the loops have together at most."""
        return prod(self.trip_counts)


def nest_shapes(legal: LegalSchedule, sizes: Sizes, limit: int) -> tuple[NestShape, ...]:
    """Return the nests of a schedule in their order, the ``limit`` largest where there are more.

    Statements without loops have none. There are no nests where isl would take too long.
    """
    try:
        with bounded_operations("looking for the nests of a schedule"):
            tree = build_tree(legal)
            names = tuple(part.statement for part in legal.schedule.statements)
            around = LoopContext(
                all_pairs(legal.scop), {name: () for name in names}, legal.schedule.parameters
            )
            shapes = [_shape_of_band(band, legal, sizes, around) for band in _bands(tree)]
    except PolygymError:
        return ()
    kept = sorted(range(len(shapes)), key=lambda place: (-shapes[place].iterations, place))[:limit]
    return tuple(shapes[place] for place in sorted(kept))


def _bands(tree: Tree) -> list[Band]:
    """Return the outermost bands of a tree."""
    match tree:
        case Leaf():
            return []
        case Band():
            return [tree]
        case SequenceNode(branches):
            return [band for branch in branches for band in _bands(branch.child)]


def _shape_of_band(
    band: Band, legal: LegalSchedule, sizes: Sizes, surroundings: LoopContext
) -> NestShape:
    around = dict(loop_paths(band, band.statements))
    deepest = max(around, key=lambda name: len(around[name]))
    statement, parameters = legal.scop.statement(deepest), legal.schedule.parameters
    lengths = []
    for member in around[deepest]:
        (row,) = member.rows
        lengths.append(max(1, row_trip_count(statement, row, parameters, sizes)))
    coincident = tuple(member.coincident for member in around[deepest])
    own, loops = surroundings.for_branch(band.statements), loops_of(band, band.statements)
    groups = (
        permutable_groups(band, own, loops, with_moved_points=moving) for moving in (False, True)
    )
    return NestShape(band.statements, tuple(lengths), coincident, *groups)
