"""Loops that wait for nothing but sums, shared out among threads (``reassociate=on``).

::

    for i: for j:                          each of two threads has a zeroed copy of q, for its i's
      { q[j] += A[i][j];   →                 for its i: for j: { own q[j] += A[i][j]; … }
        t[i] += A[i][j]; }                 then q[j] = (q[j] + first q[j]) + second q[j]

Every iteration of i waits for the one before, but only because all add to the same elements. If
terms may be added in any order, threads may have copies of q of their own, which begin with what
changes nothing and are taken together at the end, in the order of the parts of the loop: for a
number of threads the result is always the same.

Let P be the pairs of instances that depend on each other, are inside of one execution of the loop,
and differ in its counter. The loop may be shared out if every one of P is on an array R, of which

* all that the statements inside do is to reduce it (R[f] = R[f] ⊕ e), with one operator;
* none of them reads it otherwise: so no instance inside needs a value of R that is not its own;
* ⊕ takes terms in any order: sums, products, and of integers also maxima, minima and bits. (Maxima
  of floats might be another one of two zeros, or forget a NaN.)

Then whatever two threads do at the same time is independent, or reduces copies that are apart. That
P has no other pairs is no matter of values that were needed before some of them were left out: for
arrays other than R, all pairs are still there.

What sets R before, or reads it after, and shares the loop, parts ways first where it may.

It is done where no other loop of its band runs in threads. If one does further inside, that goes on
to be, unless copies are so small that they stay in the level 2 cache: starting threads once is
better than many times. It is done at known sizes, where the terms are many more than the elements
of all copies, and these take no more than 64 MiB together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.common.loop_annotation import Hold, Parallel, Rows, Sequential
from polygym.compiler.codegen.common.mapping import Mapping, Sharing
from polygym.compiler.codegen.common.meetings import LEAST_WORK
from polygym.compiler.codegen.common.reductions import Operator, operator_of
from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.codegen.trees.pairs import (
    in_order,
    still_unordered,
    untouched,
    weakly_ordered,
    within,
)
from polygym.compiler.codegen.trees.tree import (
    Band,
    Branch,
    Leaf,
    Member,
    Sequence,
    Tree,
    path,
    restricted,
)
from polygym.compiler.codegen.trees.trips import trips
from polygym.compiler.ir.scop import Scop, Storage
from polygym.compiler.poly.distance import Pairs
from polygym.compiler.poly.evaluate import evaluate

_Sums: TypeAlias = tuple[tuple[str, Operator], ...]
"""Arrays of which threads have copies, and what takes these together."""

MOST_BYTES = 64 << 20
"""How many bytes the copies of all threads may take together."""

_TERMS = 4  # for each element of a copy


@dataclass(frozen=True)
class SumThreads:
    """Shares out loops that wait for sums; copies of up to ``near`` bytes stay in a cache."""

    scop: Scop
    mapping: Mapping
    parameters: tuple[str, ...]
    sizes: Sizes
    near: int

    def inside(self, tree: Tree, pairs: tuple[Pairs, ...]) -> Tree:
        """Return a tree in which such loops run in threads, with the pairs that are alive in it."""
        match tree:
            case Leaf():
                return tree
            case Sequence():
                return tree.rebuilt(
                    lambda branch: self.inside(branch.child, within(pairs, branch.statements))
                )
            case Band():
                return self._band(tree, pairs)

    def _band(self, band: Band, pairs: tuple[Pairs, ...]) -> Tree:
        if any(isinstance(member.annotation, Parallel) for member in band.members):
            return band
        alive = pairs
        for place, member in enumerate(band.members):
            if isinstance(member.annotation, Sequential | Hold):
                sums = self._apart(band, member, pairs)
                if sums and self._pays(band, place, sums):
                    return self._shared(band, place, sums)
            pairs = _left(pairs, band.statements, member, self.parameters)
        found = self.inside(band.child, pairs)
        if found == band.child and (apart := self._parted(band, alive)) is not None:
            return apart
        return replace(band, child=found)

    def _parted(self, band: Band, pairs: tuple[Pairs, ...]) -> Tree | None:
        """Return a band in threads whose statements part ways first; None where that is no help.

        What sets an element before its terms, or reads it after them, may have become part of the
        same loops, at their first iteration or their last: it can run apart where no pair of what
        the loops around leave unordered leads backwards.
        """
        names = band.statements
        reduced = {
            self.scop.statement(name).write.array
            for name in names
            if operator_of(self.scop.statement(name)) is not None
        }
        others = [name for name in names if self._touches(name, reduced)]
        rest = tuple(name for name in names if name not in others)
        turned = any(isinstance(member.annotation, Rows) for member in band.members)
        if not (others and rest) or turned:
            return None
        order = in_order([*((name,) for name in others), rest], pairs)
        if order is None:
            return None
        branches = tuple(Branch(group, _only(band, group)) for group in order)
        found = self.inside(Sequence(branches), pairs)
        return found if any(one.sums for one in _threads(found)) else None

    def _touches(self, name: str, reduced: Collection[str]) -> bool:
        """Whether a statement does something else with arrays that others reduce."""
        statement = self.scop.statement(name)
        is_own = operator_of(statement) is not None
        accesses = [] if is_own else [statement.write]
        accesses += [
            access
            for number, access in enumerate(statement.reads)
            if not (is_own and number in statement.own_reads)
        ]
        return any(access.array in reduced for access in accesses)

    def _apart(self, band: Band, member: Member, pairs: Iterable[Pairs]) -> _Sums:
        """Return the arrays of which threads need copies; nothing if those are not enough."""
        found: dict[str, None] = {}
        for pair in pairs:
            if all(
                ask([pair], band.statements, part.rows, self.parameters)
                for part in member.parts
                for ask in (weakly_ordered, untouched)
            ):
                continue
            (array, *others) = pair.dependence.arrays
            if others:
                return ()
            found[array] = None
        operators = tuple((array, self._operator(band, array)) for array in found)
        kept = tuple((array, one) for array, one in operators if one is not None)
        return kept if len(kept) == len(operators) else ()

    def _operator(self, band: Band, array: str) -> Operator | None:
        """Return that with which statements reduce an array, if that is all they do with it."""
        if self.scop.array(array).storage is Storage.TILE:
            return None
        kinds: set[Operator] = set()
        for name in band.statements:
            statement = self.scop.statement(name)
            own = statement.own_reads if statement.write.array == array else frozenset()
            if any(
                access.array == array and number not in own
                for number, access in enumerate(statement.reads)
            ):
                return None
            if statement.write.array != array:
                continue
            operator = operator_of(statement)
            if operator is None or (operator.is_extreme and statement.body.type.is_floating):
                return None
            kinds.add(operator)
        return kinds.pop() if len(kinds) == 1 else None

    def _pays(self, band: Band, place: int, sums: _Sums) -> bool:
        """Whether there is much more to do than copies have elements, which are not too many."""
        if dict(self.mapping.of_nest(band.statements)).get("parallel") is Sharing.OFF:
            return False
        elements = bytes_of_all = 0
        for name, _ in sums:
            array = self.scop.array(name)
            count = prod(evaluate(extent, self.sizes) for extent in array.extents)
            elements += count
            bytes_of_all += count * array.type.size
        threads = self.mapping.threads
        if threads * bytes_of_all > MOST_BYTES:
            return False
        if bytes_of_all > self.near and any(_threads(band)):
            return False
        terms = max(self._terms(band, place, name) for name in band.statements)
        return terms >= max(LEAST_WORK, _TERMS * threads * elements)

    def _terms(self, band: Band, place: int, name: str) -> int:
        """Return how many instances of a statement one execution of the loop has, at most."""
        statement = self.scop.statement(name)
        inside = path(Band(band.statements, band.members[place:], band.child), name)
        rows = dict.fromkeys(part.rows[0] for member in inside for part in member.parts)
        return prod(trips(statement, row, self.parameters, self.sizes) for row in rows)

    def _shared(self, band: Band, place: int, sums: _Sums) -> Band:
        """Return the band with a member in threads, and nothing in threads inside of it."""
        member = band.members[place]
        held = member.annotation if isinstance(member.annotation, Hold) else None
        own = replace(member, annotation=Parallel(False, sums, held))
        members = (*band.members[:place], own, *band.members[place + 1 :])
        return Band(band.statements, members, _alone(band.child))


def _left(
    pairs: tuple[Pairs, ...],
    statements: tuple[str, ...],
    member: Member,
    parameters: tuple[str, ...],
) -> tuple[Pairs, ...]:
    """Return the pairs that a loop leaves unordered; of tiles, and of their sums, it may be all."""
    if len(member.parts) > 1 or member.parts[0].size > 1:
        return pairs
    return still_unordered(pairs, statements, member.rows, parameters)


def _only(tree: Tree, names: tuple[str, ...]) -> Tree:
    """Return a tree with some of its statements alone."""
    match tree:
        case Leaf():
            return tree
        case Sequence(branches):
            kept = [
                (branch, tuple(name for name in branch.statements if name in names))
                for branch in branches
            ]
            left = tuple(
                Branch(own, _only(branch.child, own), branch.where) for branch, own in kept if own
            )
            alone = len(left) == 1 and left[0].where is None
            return left[0].child if alone else Sequence(left)
        case Band(statements, members, child):
            fewer = tuple(restricted(member, statements, names) for member in members)
            return Band(names, fewer, _only(child, names))


def _threads(tree: Tree) -> Iterator[Parallel]:
    """Yield the annotations of the loops of a tree that run in threads."""
    match tree:
        case Leaf():
            return
        case Sequence(branches):
            for branch in branches:
                yield from _threads(branch.child)
        case Band(_, members, child):
            for member in members:
                if isinstance(member.annotation, Parallel):
                    yield member.annotation
            yield from _threads(child)


def _alone(tree: Tree) -> Tree:
    """Return a tree in which no loop runs in threads."""
    match tree:
        case Leaf():
            return tree
        case Sequence():
            return tree.rebuilt(lambda branch: _alone(branch.child))
        case Band(statements, members, child):
            changed = tuple(
                replace(member, annotation=ALONE)
                if isinstance(member.annotation, Parallel)
                else member
                for member in members
            )
            return Band(statements, changed, _alone(child))
