"""In which order the points of a band run, where a mapping asks for one.

A mapping names loops by their numbers, those of the loops around a statement as its schedule has
them, 1 the outermost: ``order=3x2`` is loop 2 innermost and loop 3 right around it. Tiles do not
count, and wherever transformations have moved a loop since, it keeps its number. In each band the
loops that are named run inside all others, in the order that is said; the others stay where the
model has them, and what stands in another band does not matter::

    Band(i, j, k)                  order=2     →   Band(i, k, j)
    Band(i, j: coincident) → Band(k)  order=3x1   →   Band(j, i) → Band(k)

Side condition: that the band may be permuted, which is what makes it one. Every pair of instances
that no loop around orders has δ ≥ 0 on each of its members, so it goes forward in any order of
them; loops of different bands keep their order. So every order may be asked for. An element that is
summed up along k and l gets its terms in the order that it had: of its pairs the one from (k, m) to
(k + 1, 0) has δ < 0 along l, so that the two are members of different bands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from polygym.compiler.codegen.trees.tree import Member, Tree, paths
from polygym.compiler.poly.schedule import Row

Loops: TypeAlias = Mapping[str, tuple[Row, ...]]
"""The rows of the loops around each statement, outermost first, as its schedule has them."""


def loops_of(tree: Tree, statements: tuple[str, ...]) -> Loops:
    """Return the loops of the tree of a schedule."""
    found = paths(tree, statements)
    return {name: tuple(member.rows[0] for member in members) for name, members in found}


def numbers(statements: Sequence[str], members: Sequence[Member], loops: Loops) -> tuple[int, ...]:
    """Return the numbers of members over points, 0 for one that is no loop of the schedule's.

    Statements that share a loop have the same loops around it, but for those of which one stands
    still there.
    """
    found = []
    for member in members:
        known = (
            loops[name].index(row) + 1
            for name, row in zip(statements, member.rows, strict=True)
            if any(row.iterators) and row in loops[name]
        )
        found.append(next(known, 0))
    return tuple(found)


def last_places(asked: Sequence[int], numbered: Sequence[int]) -> tuple[int, ...]:
    """Return the places of the members that are to run innermost, in their order.

    >>> last_places((3, 5, 1), (1, 2, 3)), last_places((), (1, 2))
    ((2, 0), ())
    """
    return tuple(numbered.index(one) for one in asked if one in numbered)


def with_last(places: Iterable[int], last: Sequence[int]) -> tuple[int, ...]:
    """Return places with some of them moved behind all others.

    >>> with_last((0, 1, 2), (2, 0))
    (1, 2, 0)
    """
    return (*(place for place in places if place not in last), *last)
