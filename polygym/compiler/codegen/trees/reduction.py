"""Sums over several loops: the element stays in a register through all of them.

::

    Band(n, o, y, x: coincident, i) → Band(p) → Band(q)         (O[n, o, y, x] += …, a convolution)
        →   Band(n, y) → Band(o: jammed, x: vector) → Band(i) → Band(p) → Band(q: all three hold)

The three loops of the sum cannot be permuted, since its terms are added up in their order; so they
are three bands. Run through each other (:mod:`polygym.compiler.codegen.trees.through`), a block of
O would be loaded and stored once for every q, of which there may be three. Here it is once
altogether.

Statements that share the coincident members, one that sets O to zero, say, part ways below those
that nobody needs for vectors or copies, each with its own loops::

    Band(n, y) → Sequence{ S: Band(o, x: vector), T: Band(o: jammed, x: vector) → Band(i) → … }

Side conditions: that of a permutable band, whose coincident members go first, in any order; the
loops of each statement below stay in their order; and where statements part ways, that there is an
order of them in which no pair leads backwards while the coincident members stand. That registers
may hold the element through all of the loops is decided exactly
(:mod:`polygym.compiler.codegen.trees.hold`).

Vectors may run along a member though the elements of the sum are far apart in memory along it: they
are stored once, one by one, after all terms (:mod:`polygym.compiler.codegen.trees.vector_choice`).

Where a mapping asks for an order of the band's loops
(:mod:`polygym.compiler.codegen.trees.point_order`), they run in it if they can in these bands, and
there is no such form if they cannot.

It pays while what the sum reads for one block, a column as wide as the block of vectors and as long
as the sum, fits into the level 2 cache; sums for which one vector's column does not are better cut
into tiles. So it is done at known sizes only. What each statement does, and whether it pays, is
decided in :mod:`polygym.compiler.codegen.trees.sum_choice`; here its loops are found, and put
together.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.common.loop_annotation import Hold, Jam, LoopAnnotation, Vector
from polygym.compiler.codegen.trees.moves import Move
from polygym.compiler.codegen.trees.pairs import in_order
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.sum_choice import SumChoice, SumLoops, sum_choice
from polygym.compiler.codegen.trees.surroundings import Surroundings
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
from polygym.compiler.codegen.trees.trips import lengths


@dataclass(frozen=True)
class Reduction:
    """The ``tree`` of the points, and the independent members that can be tiled around it.

    ``places`` are the positions of these in the band that they come from, ``lengths`` how many
    iterations they have at most, ``sizes`` those of tiles that keep vectors near, 1 for none;
    ``busy`` are those that have annotations in the tree.
    """

    places: tuple[int, ...]
    lengths: tuple[int, ...]
    sizes: tuple[int, ...]
    busy: frozenset[int]
    tree: Tree


@dataclass(frozen=True)
class _Split:
    """The members of a band: ``free`` ones, at ``places``, those that stay ``outer``, and the rest.

    Of the others some statement writes another element when an outer one advances, and the same
    when one of the ``summed`` does.
    """

    band: Band
    places: tuple[int, ...]
    outer: tuple[Member, ...]
    summed: tuple[Member, ...]

    @property
    def free(self) -> tuple[Member, ...]:
        """The independent members."""
        return tuple(self.band.members[place] for place in self.places)

    def loops(self, name: str) -> SumLoops:
        """Return the loops of one statement; of its sum those that move in its iterators."""
        free, outer, inner = (
            tuple(restricted(member, self.band.statements, (name,)) for member in part)
            for part in (self.free, self.outer, self.summed)
        )
        below = (*inner, *path(self.band.child, name))
        summed = tuple(member for member in below if any(member.rows[0].iterators))
        return SumLoops(name, free, outer, summed)


def reduction(band: Band, around: Surroundings, setting: Setting) -> Reduction | None:
    """Return the points of a band with a sum over several loops below, arranged; None if unfit."""
    return setting.remembered("reduction", band, around, lambda own: _reduction(band, around, own))


def _reduction(band: Band, around: Surroundings, setting: Setting) -> Reduction | None:
    sizes = setting.sizes
    if sizes is None or not setting.mapping.registers or not setting.has_vectors:
        return None
    split, order = setting.memory.of(
        ("split", band, around, setting.packing), lambda: _split(band, around, setting)
    )
    if order is None or not split.free:
        return None
    chosen = _choices(split, [name for (name,) in order], around, setting)
    if not any(one.is_held and len(one.loops.summed) > 1 for one in chosen):
        return None
    busy = frozenset(place for one in chosen for place in one.annotations)
    reach = lengths(setting.scop, band.statements, split.free, around.parameters, sizes)
    near = tuple(
        min((one.tiles[place] for one in chosen if place in one.tiles), default=1)
        for place in range(len(split.free))
    )
    tree = _tree(split, chosen, sorted(busy), _ranks(split, setting))
    if not all(setting.is_ordered(path(tree, name), band, name) for name in band.statements):
        return None
    return Reduction(split.places, reach, near, busy, tree)


def _ranks(split: _Split, setting: Setting) -> tuple[int, ...]:
    """Return how far inside each free member is to run: 0 where nothing is asked for."""
    last = setting.last(split.band.statements, split.band.members)
    return tuple(last.index(place) + 1 if place in last else 0 for place in split.places)


def _split(
    band: Band, around: Surroundings, setting: Setting
) -> tuple[_Split, tuple[tuple[str, ...], ...] | None]:
    """Tell the members of a band apart, and find an order for its statements inside of them."""
    places = tuple(place for place, member in enumerate(band.members) if member.coincident)
    staying = tuple(member for member in band.members if not member.coincident)
    outer = tuple(member for member in staying if _moves_on(member, band, around, setting))
    summed = tuple(member for member in staying if member not in outer)
    split = _Split(band, places, outer, summed)
    inside = around.inside((*split.outer, *split.free), band.statements)
    return split, in_order([(name,) for name in band.statements], inside.pairs)


def _moves_on(member: Member, band: Band, around: Surroundings, setting: Setting) -> bool:
    """Whether some statement writes another element when the member of its band advances."""
    for name in band.statements:
        own = [restricted(one, band.statements, (name,)) for one in band.members]
        moves = setting.moves((name,), around.rows, [*own, *path(band.child, name)])
        if moves[band.members.index(member)][name].write is not Move.SAME:
            return True
    return False


def _choices(
    split: _Split, order: Many[str], around: Surroundings, setting: Setting
) -> tuple[SumChoice, ...]:
    """Return what the statements do, in their order; nothing where one of them is unfit."""
    found = []
    for name in order:
        one = sum_choice(split.loops(name), around, setting)
        if one is None:
            return ()
        found.append(one)
    return tuple(found)


def _tree(split: _Split, chosen: Many[SumChoice], busy: Many[int], ranks: Many[int]) -> Band:
    """Return the loops that all statements share, and below them the branch of each.

    Of the free members without annotations those come last that need the same vectors again in
    every iteration, and behind them those that are asked for, by their ``ranks``.
    """
    free, statements = split.free, split.band.statements
    order = sorted(range(len(free)), key=lambda place: (ranks[place], _is_again(place, chosen)))
    common = tuple(free[place] for place in order if place not in busy)
    branches = tuple(Branch((one.loops.statement,), _branch(one, busy, ranks)) for one in chosen)
    below = branches[0].child if len(branches) == 1 else Sequence(branches)
    return Band(statements, (*common, *split.outer), below)


def _is_again(place: int, chosen: Many[SumChoice]) -> bool:
    """Whether sums need the same vectors in every iteration of a free member."""
    return all(place in one.again for one in chosen if one.is_held)


def _branch(one: SumChoice, busy: Many[int], asked: Many[int]) -> Band:
    """Return the loops of one statement below those that all of them share.

    Free members without an annotation come first, then the jammed one, then the one that runs in
    vectors, then those that are asked for.
    """
    name = (one.loops.statement,)
    ranks: dict[type[LoopAnnotation], int] = {Jam: 1, Vector: 2}
    annotations = {place: one.annotations.get(place, ALONE) for place in busy}
    order = sorted(
        busy, key=lambda place: (asked[place], ranks.get(type(annotations[place]), 0), place)
    )
    members = tuple(
        replace(one.loops.free[place], annotation=annotations[place]) for place in order
    )
    below: Tree = Leaf()
    for member in reversed(one.loops.summed):
        held = replace(member, coincident=False, annotation=Hold(frozenset(name)))
        below = Band(name, (held,), below)
    return Band(name, members, below)
