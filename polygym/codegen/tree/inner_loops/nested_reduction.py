"""Sums over several loops: the element stays in a register through all of them.

::

    Band(n, o, y, x: coincident, i) → Band(p) → Band(q)         (O[n, o, y, x] += …, a convolution)
        →   Band(n, y) → Band(o: jammed, x: vector) → Band(i) → Band(p) → Band(q: all three hold)

The three loops of the sum cannot be permuted, since its terms are added up in their order; so they
are three bands. Run through each other (:mod:`polygym.codegen.tree.transforms.sinking`),
a block of O would be loaded and stored once for every q, of which there may be three. Here it is
once altogether.

Statements that share the coincident members, one that sets O to zero, say, part ways below those
that nobody needs for vectors or copies, each with its own loops::

    Band(n, y) → Sequence{ S: Band(o, x: vector), T: Band(o: jammed, x: vector) → Band(i) → … }

Side conditions: that of a permutable band, whose coincident members go first, in any order; the
loops of each statement below stay in their order; and where statements part ways, that there is an
order of them in which no pair leads backwards while the coincident members stand. That registers
may hold the element through all of the loops is decided exactly
(:mod:`polygym.codegen.tree.analysis.scalar_replacement`).

Vectors may run along a member though the elements of the sum are far apart in memory along it: they
are stored once, one by one, after all terms (:mod:`polygym.codegen.tree.analysis.vector_choice`).

Where a mapping asks for an order of the band's loops
(:mod:`polygym.codegen.tree.analysis.loop_order`), they run in it if they can in these bands, and
there is no such form if they cannot.

It pays while what the sum reads for one block, a column as wide as the block of vectors and as long
as the sum, fits into the level 2 cache; sums for which one vector's column does not are better cut
into tiles. So it is done at known sizes only. What each statement does, and whether it pays, is
decided in ``choose_reduction``; here its loops are found, and put
together.
"""

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP as ALONE
from polygym.codegen.common.loop_annotation import (
    LoopAnnotation,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.tree import ir as tree_ir
from polygym.codegen.tree.analysis.access_strides import StrideKind
from polygym.codegen.tree.analysis.planner_context import THREADED_LOOP_OPTIONS, PlannerContext
from polygym.codegen.tree.inner_loops.reduction_choice import (
    ReductionChoice,
    ReductionNest,
    choose_reduction,
)
from polygym.codegen.tree.loop_context import LoopContext, order_groups


@dataclass(frozen=True)
class NestedReduction:
    """The ``tree`` of the points, and the independent members that can be tiled around it.

    ``places`` are the positions of these in the band that they come from, ``lengths``
    how many iterations they have at most, ``sizes`` those of tiles that keep vectors near, 1 for
    none; ``annotated_members`` are those that have annotations in the tree.
    """

    places: tuple[int, ...]
    lengths: tuple[int, ...]
    sizes: tuple[int, ...]
    annotated_members: frozenset[int]
    tree: tree_ir.Tree


@dataclass(frozen=True)
class _BandSplit:
    """The members of a band: ``free_members``, at ``places``, those that stay ``outer``, the rest.

    Of the others some statement writes another element when an outer one advances, and the same
    when one of the ``reduction_members`` does.
    """

    band: tree_ir.Band
    places: tuple[int, ...]
    outer: tuple[tree_ir.BandMember, ...]
    reduction_members: tuple[tree_ir.BandMember, ...]

    @property
    def free(self) -> tuple[tree_ir.BandMember, ...]:
        """The independent members."""
        return tuple(self.band.members[place] for place in self.places)

    def loops(self, name: str) -> ReductionNest:
        """Return the loops of one statement; of its sum those that move in its iterators."""
        free, outer, inner = (
            tuple(tree_ir.restrict_member(member, self.band.statements, (name,)) for member in part)
            for part in (self.free, self.outer, self.reduction_members)
        )
        below = (*inner, *tree_ir.loop_path(self.band.child, name))
        summed = tuple(member for member in below if any(member.rows[0].iterators))
        return ReductionNest(name, free, outer, summed)


def plan_nested_reduction(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> NestedReduction | None:
    """Return the points of a band with a sum over several loops below, arranged; None if unfit."""
    return context.memoized(
        "reduction",
        band,
        loop_context,
        lambda own: _plan_nested_reduction(band, loop_context, own),
        THREADED_LOOP_OPTIONS,
    )


def _plan_nested_reduction(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> NestedReduction | None:
    if context.sizes is None or not context.mapping.scalar_replacement or not context.has_vectors:
        return None
    split, order = context.memo.get_or_compute(
        ("split", band, loop_context, context.packing),
        lambda: _split_band(band, loop_context, context),
    )
    if order is None or not split.free:
        return None
    chosen = _statement_choices(split, [name for (name,) in order], loop_context, context)
    held = (choice.loops for choice in chosen if choice.is_replaced)
    if not any(len(loops.reduction_members) > 1 for loops in held):
        return None
    busy = frozenset(place for choice in chosen for place in choice.annotations)
    reach = context.trip_counts(band.statements, split.free, loop_context)
    near = tuple(
        min((pick.tile_sizes[place] for pick in chosen if place in pick.tile_sizes), default=1)
        for place in range(len(split.free))
    )
    tree = _shared_tree(split, chosen, sorted(busy), _inner_ranks(split, context))
    paths = ((name, tree_ir.loop_path(tree, name)) for name in band.statements)
    if not all(context.has_requested_order(path, band, name) for name, path in paths):
        return None
    return NestedReduction(split.places, reach, near, busy, tree)


def _inner_ranks(split: _BandSplit, context: PlannerContext) -> tuple[int, ...]:
    """Return how far inside each free member is to run: 0 where nothing is asked for."""
    last = context.innermost(split.band.statements, split.band.members)
    return tuple(last.index(place) + 1 if place in last else 0 for place in split.places)


def _split_band(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> tuple[_BandSplit, tuple[tuple[str, ...], ...] | None]:
    """Tell the members of a band apart, and find an order for its statements inside of them."""
    places = tuple(place for place, member in enumerate(band.members) if member.coincident)
    staying = tuple(member for member in band.members if not member.coincident)
    changes = _changes_written_element
    outer = tuple(own for own in staying if changes(own, band, loop_context, context))
    summed = tuple(member for member in staying if member not in outer)
    split = _BandSplit(band, places, outer, summed)
    inside = loop_context.inside_members((*split.outer, *split.free), band.statements)
    return split, order_groups([(name,) for name in band.statements], inside.pairs)


def _changes_written_element(
    member: tree_ir.BandMember,
    band: tree_ir.Band,
    loop_context: LoopContext,
    context: PlannerContext,
) -> bool:
    """Whether some statement writes another element when the member of its band advances."""
    for name in band.statements:
        own = [tree_ir.restrict_member(m, band.statements, (name,)) for m in band.members]
        loops = [*own, *tree_ir.loop_path(band.child, name)]
        moves = context.access_strides((name,), loop_context.rows, loops)
        if moves[band.members.index(member)][name].write is not StrideKind.ZERO:
            return True
    return False


def _statement_choices(
    split: _BandSplit, order: Many[str], loop_context: LoopContext, context: PlannerContext
) -> tuple[ReductionChoice, ...]:
    """Return what the statements do, in their order; nothing where one of them is unfit."""
    result = []
    for name in order:
        choice = choose_reduction(split.loops(name), loop_context, context)
        if choice is None:
            return ()
        result.append(choice)
    return tuple(result)


def _shared_tree(
    split: _BandSplit, choices: Many[ReductionChoice], busy: Many[int], ranks: Many[int]
) -> tree_ir.Band:
    """Return the loops that all statements share, and below them the branch of each.

    Of the free members without annotations those come last that need the same vectors again in
    every iteration, and behind them those that are asked for, by their ``ranks``.
    """
    free, statements = split.free, split.band.statements
    order = sorted(range(len(free)), key=lambda k: (ranks[k], _reloads_vectors(k, choices)))
    common = tuple(free[place] for place in order if place not in busy)
    branches = tuple(
        tree_ir.Branch((choice.loops.statement,), _statement_band(choice, busy, ranks))
        for choice in choices
    )
    below = branches[0].child if len(branches) == 1 else tree_ir.SequenceNode(branches)
    return tree_ir.Band(statements, (*common, *split.outer), below)


def _reloads_vectors(place: int, choices: Many[ReductionChoice]) -> bool:
    """Whether sums need the same vectors in every iteration of a free member."""
    return all(place in choice.reloading_members for choice in choices if choice.is_replaced)


def _statement_band(
    choice: ReductionChoice, busy: Many[int], member_ranks: Many[int]
) -> tree_ir.Band:
    """Return the loops of one statement below those that all of them share.

    Free members without an annotation come first, then the jammed one, then the one that runs in
    vectors, then those that are asked for.
    """
    name = (choice.loops.statement,)
    ranks: dict[type[LoopAnnotation], int] = {UnrollAndJam: 1, VectorLoop: 2}
    annotations = {place: choice.annotations.get(place, ALONE) for place in busy}
    order = sorted(busy, key=lambda k: (member_ranks[k], ranks.get(type(annotations[k]), 0), k))
    free = choice.loops.free_members
    members = tuple(replace(free[place], annotation=annotations[place]) for place in order)
    below: tree_ir.Tree = tree_ir.Leaf()
    for member in reversed(choice.loops.reduction_members):
        held = replace(member, coincident=False, annotation=ScalarReplacement(frozenset(name)))
        below = tree_ir.Band(name, (held,), below)
    return tree_ir.Band(name, members, below)
