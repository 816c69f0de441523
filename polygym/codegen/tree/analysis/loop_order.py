"""In which order the points of a band run, where a mapping asks for one.

A mapping names loops by their numbers, those of the loops around a statement as its schedule has
them, 1 the outermost: ``order=3x2`` is loop 2 innermost and loop 3 right around it. Tiles do not
count, and wherever transformations have moved a loop since, it keeps its number. In each band the
loops that are named run inside all others, in the order that is said; the others stay where the
model has them, and what stands in another band does not matter::

    Band(i, j, k)                  order=2     →   Band(i, k, j)
    Band(i, j: coincident) → Band(k)  order=3x1   →   Band(j, i) → Band(k)

Under ``sequential`` nothing else happens to the bands; otherwise the order counts wherever points
get theirs (:mod:`polygym.codegen.tree.planning.plan`).

Side condition: that the band may be permuted, which is what makes it one. Every pair of instances
that no loop around orders has δ ≥ 0 on each of its members, so it goes forward in any order of
them; loops of different bands keep their order. So every order may be asked for. An element that is
summed up along k and l gets its terms in the order that it had: of its pairs the one from (k, m) to
(k + 1, 0) has δ < 0 along l, so that the two are members of different bands.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Many
from typing import TypeAlias

from polygym.codegen.tree.ir import Band, BandMember, Leaf, SequenceNode, Tree, loop_paths
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.schedule import ScheduleRow

OriginalLoops: TypeAlias = Mapping[str, tuple[ScheduleRow, ...]]
"""The rows of the loops around each statement, outermost first, as its schedule has them."""


def loops_of(tree: Tree, statements: tuple[str, ...]) -> OriginalLoops:
    """Return the loops of the tree of a schedule."""
    result = loop_paths(tree, statements)
    return {name: tuple(member.rows[0] for member in members) for name, members in result}


def loop_numbers(
    statements: Many[str], members: Many[BandMember], loops: OriginalLoops
) -> tuple[int, ...]:
    """Return the numbers of members over points, 0 for one that is no loop of the schedule's.

    A loop has the same number for all statements in it, so it is where all of them have its rows.
    With rows S(s): (s, s) and T(s, i): (s, i) it takes T to tell the two loops apart; where S is
    alone they are told apart by their order, though nothing depends on it.
    """
    result: list[int] = []
    for member in members:
        rows = list(zip(statements, member.rows, strict=True))
        known = (
            number
            for number in range(1, 1 + min(len(loops[name]) for name in statements))
            if number not in result and all(loops[name][number - 1] == row for name, row in rows)
        )
        is_loop = any(any(row.iterators) for _, row in rows)
        result.append(next(known, 0) if is_loop else 0)
    return tuple(result)


def innermost_positions(order: Many[int], numbers_of_members: Many[int]) -> tuple[int, ...]:
    """Return the places of the members that are to run innermost, in their order.

    >>> innermost_positions((3, 5, 1), (1, 2, 3)), innermost_positions((), (1, 2))
    ((2, 0), ())
    """
    return tuple(numbers_of_members.index(loop) for loop in order if loop in numbers_of_members)


def moved_innermost(places: Iterable[int], last: Many[int]) -> tuple[int, ...]:
    """Return places with some of them moved behind all others.

    >>> moved_innermost((0, 1, 2), (2, 0))
    (1, 2, 0)
    """
    return (*(place for place in places if place not in last), *last)


def reorder_bands(
    tree: Tree, mapping: MachineMapping, loops: OriginalLoops, order: tuple[int, ...] | None = None
) -> Tree:
    """Return a tree with the members of each band in the order that the mapping asks for.

    ``order`` is that of the nest around, None where there is none yet.
    """
    match tree:
        case Leaf():
            return tree
        case SequenceNode():
            return tree.with_children(
                lambda branch: reorder_bands(branch.child, mapping, loops, order)
            )
        case Band(statements, members, child):
            if order is None:
                order = dict(mapping.for_nest(statements)).get("order", mapping.order)
            last = innermost_positions(order, loop_numbers(statements, members, loops))
            moved = tuple(members[place] for place in moved_innermost(range(len(members)), last))
            return Band(statements, moved, reorder_bands(child, mapping, loops, order))
