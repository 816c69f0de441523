"""Loops that wait for nothing but sums, shared out among threads.

::

    for i: for j:                          each of two threads has a zeroed copy of q, for its i's
      { q[j] += A[i][j];   →                 for its i: for j: { own q[j] += A[i][j]; … }
        t[i] += A[i][j]; }                 then q[j] = (q[j] + first q[j]) + second q[j]

Every iteration of i waits for the one before, but only because all add to the same elements. If
terms may be added in any order, threads may have copies of q of their own, which begin with what
changes nothing and are taken together at the end, in the order of the parts of the loop: for a
number of threads the result is always the same. Of integers it is that of the source, bit for bit;
for floats ``reassociate=on`` has to allow it. Elements may be computed ones: a thread has its own
histogram.

Let P be the pairs of instances that depend on each other, are inside of one execution of the loop,
and differ in its counter. The loop may be shared out if every one of P is on an array R, of which

* all that the statements inside do is to reduce it (R[f] = R[f] ⊕ e), with one operator
  (:mod:`polygym.codegen.common.scattered_reductions`);
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

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP as ALONE
from polygym.codegen.common.loop_annotation import (
    LaneRows,
    ParallelLoop,
    ScalarReplacement,
    SequentialLoop,
)
from polygym.codegen.common.reductions import ReductionOperator
from polygym.codegen.common.scattered_reductions import reduction_of
from polygym.codegen.tree.analysis.trip_counts import row_trip_count
from polygym.codegen.tree.ir import (
    Band,
    BandMember,
    Branch,
    Leaf,
    SequenceNode,
    Tree,
    loop_path,
    map_members,
    restrict_member,
    subtrees,
)
from polygym.codegen.tree.loop_context import LoopContext, order_groups
from polygym.codegen.tree.planning_memo import NO_MEMO
from polygym.ir.scop import Scop, Statement, StorageClass
from polygym.mapping.mapping import Mapping, WorkSharing
from polygym.mapping.sizes import Sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.evaluation import evaluate_extent

_ReducedArrays: TypeAlias = tuple[tuple[str, ReductionOperator], ...]
"""Arrays of which threads have copies, and what takes these together."""


@dataclass(frozen=True)
class ReductionParallelizer:
    """Parallelize loops that carry sums; copies up to ``cached_bytes`` stay in a cache."""

    scop: Scop
    mapping: Mapping
    parameters: tuple[str, ...]
    sizes: Sizes
    cached_bytes: int

    def parallelize_tree(self, tree: Tree, around: LoopContext) -> Tree:
        """Return a tree in which such loops run in threads, inside of some loops."""
        match tree:
            case Leaf():
                return tree
            case SequenceNode():
                return tree.with_children(
                    lambda part: self.parallelize_tree(
                        part.child, around.for_branch(part.statements)
                    )
                )
            case Band():
                return self._parallelize_band(tree, around)

    def _parallelize_band(self, band: Band, around: LoopContext) -> Tree:
        if any(isinstance(member.annotation, ParallelLoop) for member in band.members):
            return band
        inside = around
        for place, member in enumerate(band.members):
            if isinstance(member.annotation, SequentialLoop | ScalarReplacement):
                sums = self._privatized_arrays(band, member, inside)
                if sums and self._is_profitable(band, place, sums):
                    return self._parallelized(band, place, sums)
            # Tiles, and sums of them, may leave all pairs unordered.
            if len(member.terms) == 1 and member.terms[0].size == 1:
                inside = inside.inside_loop(member.rows, band.statements)
        tree = self.parallelize_tree(band.child, inside)
        if tree == band.child and (apart := self._distributed(band, around)) is not None:
            return apart
        return replace(band, child=tree)

    def _distributed(self, band: Band, around: LoopContext) -> Tree | None:
        """Return a band in threads whose statements part ways first; None where that is no help.

        What sets an element before its terms, or reads it after them, may have become part of the
        same loops, at their first iteration or their last: it can run apart where no pair of what
        the loops around leave unordered leads backwards.
        """
        names = band.statements
        reduced = {
            self.scop.statement(name).write.array
            for name in names
            if reduction_of(self.scop.statement(name)) is not None
        }
        others = [name for name in names if self._uses_otherwise(name, reduced)]
        rest = tuple(name for name in names if name not in others)
        turned = any(isinstance(member.annotation, LaneRows) for member in band.members)
        if not (others and rest) or turned:
            return None
        order = order_groups([*((name,) for name in others), rest], around.pairs)
        if order is None:
            return None
        branches = tuple(Branch(group, _restrict_tree(band, group)) for group in order)
        tree = self.parallelize_tree(SequenceNode(branches), around)
        return tree if any(loop.reductions for loop in _parallel_annotations(tree)) else None

    def _uses_otherwise(self, name: str, reduced: Collection[str]) -> bool:
        """Whether a statement does something else with arrays that others reduce."""
        statement = self.scop.statement(name)
        reduction = reduction_of(statement)
        own = frozenset[int]() if reduction is None else reduction.own_reads
        accesses = [statement.write] if reduction is None else []
        accesses += [access for number, access in enumerate(statement.reads) if number not in own]
        return any(access.array in reduced for access in accesses)

    def _privatized_arrays(
        self, band: Band, member: BandMember, around: LoopContext
    ) -> _ReducedArrays:
        """Return the arrays of which threads need copies; nothing if those are not enough."""
        arrays: dict[str, None] = {}
        for pair in around.pairs:
            alone, names = replace(around, pairs=(pair,), memo=NO_MEMO), band.statements
            if all(
                alone.allows(part.rows, names) and alone.carries_none(part.rows, names)
                for part in member.terms
            ):
                continue
            (array, *others) = pair.dependence.arrays
            if others:
                return ()
            arrays[array] = None
        operators = tuple((array, self._operator(band, array)) for array in arrays)
        kept = tuple((array, operator) for array, operator in operators if operator is not None)
        return kept if len(kept) == len(operators) else ()

    def _operator(self, band: Band, array: str) -> ReductionOperator | None:
        """Return that with which statements reduce an array, if that is all they do with it."""
        if self.scop.array(array).storage_class is StorageClass.TILE:
            return None
        kinds: set[ReductionOperator] = set()
        for name in band.statements:
            statement = self.scop.statement(name)
            reduction = reduction_of(statement) if statement.write.array == array else None
            own = frozenset[int]() if reduction is None else reduction.own_reads
            if any(
                access.array == array and number not in own
                for number, access in enumerate(statement.reads)
            ):
                return None
            if statement.write.array != array:
                continue
            if reduction is None or not self._may_reorder(reduction.operator, statement):
                return None
            kinds.add(reduction.operator)
        return kinds.pop() if len(kinds) == 1 else None

    def _may_reorder(self, operator: ReductionOperator, statement: Statement) -> bool:
        """Whether terms may be taken in any order: of floats only where the mapping says so."""
        if statement.body.type.is_integer:
            return True
        return self.mapping.reassociate and not operator.is_min_max

    def _is_profitable(self, band: Band, place: int, sums: _ReducedArrays) -> bool:
        """Whether there is much more to do than copies have elements, which are not too many."""
        own = dict(self.mapping.for_nest(band.statements))
        if own.get("parallel", self.mapping.parallel) is WorkSharing.OFF:
            return False
        elements = bytes_of_all = 0
        for name, _ in sums:
            array = self.scop.array(name)
            count = prod(evaluate_extent(extent, self.sizes) for extent in array.extents)
            elements += count
            bytes_of_all += count * array.type.size
        threads = self.mapping.threads
        if threads * bytes_of_all > TUNING.max_reduction_copy_bytes:
            return False
        if bytes_of_all > self.cached_bytes and any(_parallel_annotations(band)):
            return False
        terms = max(self._term_count(band, place, name) for name in band.statements)
        copies = TUNING.min_terms_per_element * threads * elements
        return terms >= max(TUNING.min_parallel_work, copies)

    def _term_count(self, band: Band, place: int, name: str) -> int:
        """Return how many instances of a statement one execution of the loop has, at most."""
        statement = self.scop.statement(name)
        inside = loop_path(Band(band.statements, band.members[place:], band.child), name)
        rows = dict.fromkeys(part.rows[0] for member in inside for part in member.terms)
        return prod(row_trip_count(statement, row, self.parameters, self.sizes) for row in rows)

    def _parallelized(self, band: Band, place: int, sums: _ReducedArrays) -> Band:
        """Return the band with a member in threads, and nothing in threads inside of it."""
        member = band.members[place]
        held = member.annotation if isinstance(member.annotation, ScalarReplacement) else None
        own = replace(member, annotation=ParallelLoop(False, sums, held))
        members = (*band.members[:place], own, *band.members[place + 1 :])
        return Band(band.statements, members, _without_parallel_loops(band.child))


def _restrict_tree(tree: Tree, remaining: tuple[str, ...]) -> Tree:
    """Return a tree with some of its statements alone."""
    match tree:
        case Leaf():
            return tree
        case SequenceNode(branches):
            left = tuple(
                Branch(own, _restrict_tree(branch.child, own), branch.predicate)
                for branch in branches
                if (own := tuple(name for name in branch.statements if name in remaining))
            )
            alone = len(left) == 1 and left[0].predicate is None
            return left[0].child if alone else SequenceNode(left)
        case Band(statements, members, child):
            fewer = tuple(restrict_member(member, statements, remaining) for member in members)
            return Band(remaining, fewer, _restrict_tree(child, remaining))


def _parallel_annotations(tree: Tree) -> Iterator[ParallelLoop]:
    """Yield the loops of a tree that run in threads."""
    for band in subtrees(tree):
        for member in band.members if isinstance(band, Band) else ():
            if isinstance(member.annotation, ParallelLoop):
                yield member.annotation


def _without_parallel_loops(tree: Tree) -> Tree:
    """Return a tree whose loops run one after the other."""

    def sequential(member: BandMember) -> BandMember:
        is_parallel = isinstance(member.annotation, ParallelLoop)
        return replace(member, annotation=ALONE) if is_parallel else member

    return map_members(tree, sequential)
