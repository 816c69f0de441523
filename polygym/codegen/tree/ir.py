"""Schedule trees: where the statements part ways, and which loops could be permuted.

A schedule is a flat list of rows; what transformations need is structure. The tree has

* :class:`SequenceNode`: groups of statements that run one group after the other (a row whose value
is a
  different constant for different groups);
* :class:`Band`: consecutive loops that may be freely permuted among each other, hence tiled: every
  dependence that is not carried further out has δ ≥ 0 on *each* of them. A member on which all
  these distances are 0 is *coincident*: its iterations may run in parallel;
* :class:`Leaf`: nothing left to order.

Example: the original order of y = Ax, rows ``S: (0, i, 0)`` and ``T: (1, i, j)``, becomes ::

    Sequence
    ├─ S: Band(i: coincident)
    └─ T: Band(i: coincident, j)

A member's value is a sum of parts ⌊row / size⌋ (:mod:`polygym.codegen.tree.ir`): a row
of the schedule is one part of size 1, the number of a tile one part of the tile's size, a wavefront
of tiles the sum of two.

Which tiles a branch is for: conditions on the numbers of tiles.

A tile is known by its numbers ⌊row / size⌋, one for each loop over tiles. In the tiles of an LU
decomposition, (a, b, c) = (⌊i/32⌋, ⌊j/32⌋, ⌊k/32⌋), those with c < min(a, b) hold nothing but
products. A branch of a sequence may be for these alone, and another one for all others, so that
every instance is in one of them.

The conditions are alternatives, each of which is a conjunction of inequalities over the numbers:
``((1, 0, -1), -1)`` is a - c - 1 >= 0, that is c < a.

What the values of loops are sums of: rows of a schedule, or the numbers of tiles along them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from polygym.cached_hash import CachedHash, cache_hash
from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, LoopAnnotation
from polygym.poly.schedule import ScheduleRow


@cache_hash
@dataclass(frozen=True, slots=True)
class FlooredRow(CachedHash):
    """⌊row / size⌋ with a row for every statement, in the order of ``Band.statements``.

    At size 1 it is the row itself, else the number of a tile of so many points.
    """

    rows: tuple[ScheduleRow, ...]
    size: int = 1


Inequality: TypeAlias = tuple[tuple[int, ...], int]
"""The factors of the numbers, and a constant; together they are at least 0."""


@dataclass(frozen=True, slots=True)
class TilePredicate:
    """The tiles that a branch is for: those of the ``conditions``, or else all the others.

    The rows of ``tile_coordinates`` are in the order of the branch's statements. With ``statement``
    it is about that statement, and of all others every instance is in the branch for the other
    tiles; then ``reductions`` are the statements that reduce the same elements, in any order
    (:mod:`polygym.codegen.common.reduction_order`).
    """

    tile_coordinates: tuple[FlooredRow, ...]
    conditions: tuple[tuple[Inequality, ...], ...]
    is_complement: bool = False
    statement: str | None = None
    reductions: frozenset[str] = frozenset()

    def splits(self, statement: str) -> bool:
        """Whether some instances of a statement may be in the one branch, some in the other."""
        return self.statement in (None, statement)

    def text(self, number_text: Callable[[FlooredRow], str]) -> str:
        """Return the condition as text, given that of a number."""
        names = [number_text(part) for part in self.tile_coordinates]
        either = " or ".join(
            f"({' and '.join(_inequality_text(inequality, names) for inequality in every)})"
            for every in self.conditions
        )
        return f"not ({either})" if self.is_complement else f"({either})"


def _inequality_text(inequality: Inequality, names: Sequence[str]) -> str:
    """Return an inequality as text that isl and Python read.

    >>> _inequality_text(((1, 0, -1), -1), ["a", "b", "c"])
    '1*(a) + -1*(c) + -1 >= 0'
    """
    factors, constant = inequality
    terms = [f"{factor}*({name})" for factor, name in zip(factors, names, strict=True) if factor]
    return f"{' + '.join([*terms, str(constant)])} >= 0"


# Of so many members it is remembered what becomes of them: plans make the same ones again and
# again, and what is the same object is quickly found equal.
_MAX_CACHED_MEMBERS = 4096


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a branch: instances here run in any order."""


@cache_hash
@dataclass(frozen=True, slots=True)
class BandMember(CachedHash):
    """One loop of a band: the sum of its parts."""

    terms: tuple[FlooredRow, ...]
    coincident: bool
    annotation: LoopAnnotation = SEQUENTIAL_LOOP

    @property
    def rows(self) -> tuple[ScheduleRow, ...]:
        """The rows of a member that is no tile."""
        (part,) = self.terms
        assert part.size == 1
        return part.rows


@cache_hash
@dataclass(frozen=True, slots=True)
class Band(CachedHash):
    """Loops, outermost first, that may be permuted with each other."""

    statements: tuple[str, ...]
    members: tuple[BandMember, ...]
    child: Tree


@cache_hash
@dataclass(frozen=True, slots=True)
class Branch(CachedHash):
    """One group of statements in a sequence and what happens to it.

    With ``predicate`` it is for the instances in some tiles alone, and another branch for the
    others.
    """

    statements: tuple[str, ...]
    child: Tree
    predicate: TilePredicate | None = None


@cache_hash
@dataclass(frozen=True, slots=True)
class SequenceNode(CachedHash):
    """Groups of statements that run one after the other."""

    branches: tuple[Branch, ...]

    def with_children(self, change: Callable[[Branch], Tree]) -> SequenceNode:
        """Return the same groups with what becomes of what happens to each.

        It is the same sequence where nothing becomes of it.
        """
        children = [change(branch) for branch in self.branches]
        if all(now is branch.child for now, branch in zip(children, self.branches, strict=True)):
            return self
        return SequenceNode(
            tuple(
                Branch(branch.statements, now, branch.predicate)
                for now, branch in zip(children, self.branches, strict=True)
            )
        )


Tree: TypeAlias = Leaf | Band | SequenceNode


def point_member(
    rows: tuple[ScheduleRow, ...], coincident: bool, annotation: LoopAnnotation = SEQUENTIAL_LOOP
) -> BandMember:
    """Return the member that counts the values of rows one by one."""
    return BandMember((FlooredRow(rows),), coincident, annotation)


@lru_cache(maxsize=_MAX_CACHED_MEMBERS)
def with_annotation(member: BandMember, annotation: LoopAnnotation) -> BandMember:
    """Return a member that is given something to do."""
    return BandMember(member.terms, member.coincident, annotation)


def restrict_member(
    member: BandMember, statements: tuple[str, ...], remaining: tuple[str, ...]
) -> BandMember:
    """Return a member of a band over ``statements`` for fewer of them."""
    positions = [statements.index(name) for name in remaining]
    parts = tuple(
        FlooredRow(tuple(part.rows[position] for position in positions), part.size)
        for part in member.terms
    )
    return BandMember(parts, member.coincident, member.annotation)


def independent_groups(tree: Tree, statements: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return the groups of a tree's statements that have no loop in common, in their order."""
    match tree:
        case SequenceNode(branches):
            return tuple(
                part
                for branch in branches
                for part in independent_groups(branch.child, branch.statements)
            )
        case Band() | Leaf():
            return (frozenset(statements),)


def is_innermost(band: Band) -> bool:
    """Whether there are no more loops below a band."""
    match band.child:
        case Leaf():
            return True
        case SequenceNode(branches):
            return all(isinstance(branch.child, Leaf) for branch in branches)
        case Band():
            return False


def subtrees(tree: Tree) -> Iterator[Tree]:
    """Yield a tree and everything below it, from the outside to the inside."""
    yield tree
    match tree:
        case Band(_, _, child):
            yield from subtrees(child)
        case SequenceNode(branches):
            for branch in branches:
                yield from subtrees(branch.child)
        case Leaf():
            pass


def map_members(tree: Tree, change: Callable[[BandMember], BandMember]) -> Tree:
    """Return a tree with other members in its bands."""
    match tree:
        case Leaf():
            return tree
        case Band(statements, members, child):
            return Band(statements, tuple(map(change, members)), map_members(child, change))
        case SequenceNode():
            return tree.with_children(lambda branch: map_members(branch.child, change))


def reordered_reductions_in(tree: Tree) -> frozenset[frozenset[str]]:
    """Return the groups of statements whose terms a tree takes in another order."""
    sequences = (node for node in subtrees(tree) if isinstance(node, SequenceNode))
    predicates = (branch.predicate for node in sequences for branch in node.branches)
    return frozenset(
        predicate.reductions for predicate in predicates if predicate and predicate.reductions
    )


def flatten_sequences(tree: Tree) -> SequenceNode | None:
    """Return sequences in each other as one, if there is nothing else; None for other trees.

    Schedulers part statements in two, and one half in two again: S, then (T, then U).
    """
    if not isinstance(tree, SequenceNode):
        return None
    branches: list[Branch] = []
    for branch in tree.branches:
        if isinstance(branch.child, Leaf):
            branches.append(branch)
        elif branch.predicate is None and (below := flatten_sequences(branch.child)) is not None:
            branches += below.branches
        else:
            return None
    return SequenceNode(tuple(branches))


def tree_depth(tree: Tree) -> int:
    """Return the greatest number of loops around each other."""
    match tree:
        case Leaf():
            return 0
        case Band(_, members, child):
            return len(members) + tree_depth(child)
        case SequenceNode(branches):
            return max(tree_depth(branch.child) for branch in branches)


def loop_paths(
    tree: Tree,
    statements: tuple[str, ...],
    around: tuple[tuple[BandMember, ...], ...] | None = None,
) -> Iterator[tuple[str, tuple[BandMember, ...]]]:
    """Yield every statement with the loops around it, outermost first; ``around`` are known.

    One that is in several branches comes once for each, last for the tiles that nothing holds up.
    """
    outer = around or ((),) * len(statements)
    match tree:
        case Leaf():
            yield from zip(statements, outer, strict=True)
        case Band(own, members, child):
            inner = tuple(
                (*before, *[_member_of_statement(member, place) for member in members])
                for place, before in enumerate(outer)
            )
            yield from loop_paths(child, own, inner)
        case SequenceNode(branches):
            by_name = dict(zip(statements, outer, strict=True))
            for branch in branches:
                chosen = tuple(by_name[name] for name in branch.statements)
                yield from loop_paths(branch.child, branch.statements, chosen)


@lru_cache(maxsize=4 * _MAX_CACHED_MEMBERS)
def _member_of_statement(member: BandMember, place: int) -> BandMember:
    """Return a member for one of its statements."""
    if len(member.terms[0].rows) == 1:
        return member
    parts = tuple([FlooredRow((part.rows[place],), part.size) for part in member.terms])
    return BandMember(parts, member.coincident, member.annotation)


def loop_path(tree: Tree, statement: str, place: int | None = None) -> tuple[BandMember, ...]:
    """Return the loops around a statement, outermost first.

    Where branches are for some tiles alone, it is that with number ``place``, or else the first.
    """
    match tree:
        case Leaf():
            return ()
        case Band(statements, members, child):
            position = statements.index(statement)
            own = tuple(_member_of_statement(member, position) for member in members)
            return own + loop_path(child, statement, place)
        case SequenceNode(branches):
            below = next(
                branch
                for number, branch in enumerate(branches)
                if statement in branch.statements
                and (branch.predicate is None or place in (None, number))
            )
            return loop_path(below.child, statement, place)


def without_annotations(tree: Tree) -> Tree:
    """Return the tree as isl sees it: what loops do for the machine's sake is nothing to it."""
    return map_members(tree, lambda member: BandMember(member.terms, member.coincident))
