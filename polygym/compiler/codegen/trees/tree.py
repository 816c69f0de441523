"""Schedule trees: where the statements part ways, and which loops could be permuted.

A schedule is a flat list of rows; what transformations need is structure. The tree has

* :class:`Sequence`: groups of statements that run one group after the other (a row whose value is a
  different constant for different groups);
* :class:`Band`: consecutive loops that may be freely permuted among each other, hence tiled: every
  dependence that is not carried further out has δ ≥ 0 on *each* of them. A member on which all
  these distances are 0 is *coincident*: its iterations may run in parallel;
* :class:`Leaf`: nothing left to order.

Example: the original order of y = Ax, rows ``S: (0, i, 0)`` and ``T: (1, i, j)``, becomes ::

    Sequence
    ├─ S: Band(i: coincident)
    └─ T: Band(i: coincident, j)

A member's value is a sum of parts ⌊row / size⌋ (:mod:`polygym.compiler.codegen.trees.part`): a row
of the schedule is one part of size 1, the number of a tile one part of the tile's size, a wavefront
of tiles the sum of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL, LoopAnnotation
from polygym.compiler.codegen.trees.part import Part
from polygym.compiler.codegen.trees.where import Where
from polygym.compiler.poly.schedule import Row
from polygym.kept_hash import Hashed, keeps_hash

# Of so many members it is remembered what becomes of them: plans make the same ones again and
# again, and what is the same object is quickly found equal.
_MEMBERS = 4096


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a branch: instances here run in any order."""


@keeps_hash
@dataclass(frozen=True, slots=True)
class Member(Hashed):
    """One loop of a band: the sum of its parts."""

    parts: tuple[Part, ...]
    coincident: bool
    annotation: LoopAnnotation = SEQUENTIAL

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of a member that is no tile."""
        (part,) = self.parts
        assert part.size == 1
        return part.rows


@keeps_hash
@dataclass(frozen=True, slots=True)
class Band(Hashed):
    """Loops, outermost first, that may be permuted with each other."""

    statements: tuple[str, ...]
    members: tuple[Member, ...]
    child: Tree


@keeps_hash
@dataclass(frozen=True, slots=True)
class Branch(Hashed):
    """One group of statements in a sequence and what happens to it.

    With ``where`` it is for the instances in some tiles alone, and another branch for the others.
    """

    statements: tuple[str, ...]
    child: Tree
    where: Where | None = None


@keeps_hash
@dataclass(frozen=True, slots=True)
class Sequence(Hashed):
    """Groups of statements that run one after the other."""

    branches: tuple[Branch, ...]

    def rebuilt(self, change: Callable[[Branch], Tree]) -> Sequence:
        """Return the same groups with what becomes of what happens to each.

        It is the same sequence where nothing becomes of it.
        """
        children = [change(one) for one in self.branches]
        if all(now is one.child for now, one in zip(children, self.branches, strict=True)):
            return self
        return Sequence(
            tuple(
                Branch(one.statements, now, one.where)
                for now, one in zip(children, self.branches, strict=True)
            )
        )


Tree: TypeAlias = Leaf | Band | Sequence


def point(
    rows: tuple[Row, ...], coincident: bool, annotation: LoopAnnotation = SEQUENTIAL
) -> Member:
    """Return the member that counts the values of rows one by one."""
    return Member((Part(rows),), coincident, annotation)


@lru_cache(maxsize=_MEMBERS)
def annotated(member: Member, annotation: LoopAnnotation) -> Member:
    """Return a member that is given something to do."""
    return Member(member.parts, member.coincident, annotation)


def restricted(member: Member, statements: tuple[str, ...], kept: tuple[str, ...]) -> Member:
    """Return a member of a band over ``statements`` for fewer of them."""
    positions = [statements.index(name) for name in kept]
    parts = tuple(
        Part(tuple(part.rows[position] for position in positions), part.size)
        for part in member.parts
    )
    return Member(parts, member.coincident, member.annotation)


def parts(tree: Tree, statements: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return the groups of a tree's statements that have no loop in common, in their order."""
    match tree:
        case Sequence(branches):
            return tuple(
                part for branch in branches for part in parts(branch.child, branch.statements)
            )
        case Band() | Leaf():
            return (frozenset(statements),)


def is_last(band: Band) -> bool:
    """Whether there are no more loops below a band."""
    match band.child:
        case Leaf():
            return True
        case Sequence(branches):
            return all(isinstance(branch.child, Leaf) for branch in branches)
        case Band():
            return False


def free_sums_in(tree: Tree) -> frozenset[frozenset[str]]:
    """Return the statements whose updates of the same elements a tree has in another order."""
    match tree:
        case Leaf():
            return frozenset()
        case Band(_, _, child):
            return free_sums_in(child)
        case Sequence(branches):
            own = {one.where.sums for one in branches if one.where is not None and one.where.sums}
            return frozenset(own).union(*(free_sums_in(one.child) for one in branches))


def in_a_row(tree: Tree) -> Sequence | None:
    """Return sequences in each other as one, if there is nothing else; None for other trees.

    Schedulers part statements in two, and one half in two again: S, then (T, then U).
    """
    if not isinstance(tree, Sequence):
        return None
    branches: list[Branch] = []
    for branch in tree.branches:
        if isinstance(branch.child, Leaf):
            branches.append(branch)
        elif branch.where is None and (below := in_a_row(branch.child)) is not None:
            branches += below.branches
        else:
            return None
    return Sequence(tuple(branches))


def depth(tree: Tree) -> int:
    """Return the greatest number of loops around each other."""
    match tree:
        case Leaf():
            return 0
        case Band(_, members, child):
            return len(members) + depth(child)
        case Sequence(branches):
            return max(depth(branch.child) for branch in branches)


def paths(
    tree: Tree, statements: tuple[str, ...], around: tuple[tuple[Member, ...], ...] | None = None
) -> Iterator[tuple[str, tuple[Member, ...]]]:
    """Yield every statement with the loops around it, outermost first; ``around`` are known.

    One that is in several branches comes once for each, last for the tiles that nothing holds up.
    """
    outer = around or ((),) * len(statements)
    match tree:
        case Leaf():
            yield from zip(statements, outer, strict=True)
        case Band(own, members, child):
            inner = tuple(
                (*before, *[_of_one(member, place) for member in members])
                for place, before in enumerate(outer)
            )
            yield from paths(child, own, inner)
        case Sequence(branches):
            by_name = dict(zip(statements, outer, strict=True))
            for branch in branches:
                chosen = tuple(by_name[name] for name in branch.statements)
                yield from paths(branch.child, branch.statements, chosen)


@lru_cache(maxsize=4 * _MEMBERS)
def _of_one(member: Member, place: int) -> Member:
    """Return a member for one of its statements."""
    if len(member.parts[0].rows) == 1:
        return member
    parts = tuple([Part((part.rows[place],), part.size) for part in member.parts])
    return Member(parts, member.coincident, member.annotation)


def path(tree: Tree, statement: str, place: int | None = None) -> tuple[Member, ...]:
    """Return the loops around a statement, outermost first.

    Where branches are for some tiles alone, it is that with number ``place``, or else the first.
    """
    match tree:
        case Leaf():
            return ()
        case Band(statements, members, child):
            position = statements.index(statement)
            own = tuple(_of_one(member, position) for member in members)
            return own + path(child, statement, place)
        case Sequence(branches):
            below = next(
                branch
                for number, branch in enumerate(branches)
                if statement in branch.statements
                and (branch.where is None or place in (None, number))
            )
            return path(below.child, statement, place)


def without_annotations(tree: Tree) -> Tree:
    """Return the tree as isl sees it: what loops do for the machine's sake is nothing to it."""
    match tree:
        case Leaf():
            return tree
        case Band(statements, members, child):
            plain = tuple(Member(member.parts, member.coincident) for member in members)
            return Band(statements, plain, without_annotations(child))
        case Sequence():
            return tree.rebuilt(lambda branch: without_annotations(branch.child))
