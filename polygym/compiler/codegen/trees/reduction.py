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

It pays while what the sum reads for one block, a column as wide as the block of vectors and as long
as the sum, fits into the level 2 cache; longer sums are better cut into tiles. So it is done at
known sizes only.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from math import prod

from polygym.compiler.codegen.loop_annotation import SEQUENTIAL as ALONE
from polygym.compiler.codegen.loop_annotation import Hold, Jam, LoopAnnotation, Vector
from polygym.compiler.codegen.sizes import Sizes
from polygym.compiler.codegen.trees.arrange import roles
from polygym.compiler.codegen.trees.hold import holdable
from polygym.compiler.codegen.trees.moves import Move, table
from polygym.compiler.codegen.trees.pairs import in_order
from polygym.compiler.codegen.trees.points import Arranger
from polygym.compiler.codegen.trees.surroundings import Around
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
from polygym.compiler.codegen.trees.vector_choice import Sum, best_way


@dataclass(frozen=True)
class Reduction:
    """The ``tree`` of the points, and the independent members that can be tiled around it.

    ``places`` are the positions of these in the band that they come from, ``lengths`` how many
    iterations they have at most; ``busy`` are those that have annotations in the tree.
    """

    places: tuple[int, ...]
    lengths: tuple[int, ...]
    busy: frozenset[int]
    tree: Tree


@dataclass(frozen=True)
class _Own:
    """What one statement does: annotations of free members by their position, and the loops below.

    ``again`` are the free members that need the same vectors in every iteration.
    """

    statement: str
    annotations: dict[int, LoopAnnotation]
    summed: tuple[Member, ...]
    is_held: bool
    again: frozenset[int]


def reduction(band: Band, around: Around, arranger: Arranger) -> Reduction | None:
    """Return the points of a band with a sum over several loops below, arranged; None if unfit."""
    mapping, sizes = arranger.mapping, arranger.sizes
    if sizes is None or not mapping.registers or mapping.vector_bits == 0:
        return None
    places = tuple(place for place, member in enumerate(band.members) if member.coincident)
    free = tuple(band.members[place] for place in places)
    staying = tuple(member for member in band.members if not member.coincident)
    outer = tuple(m for m in staying if _moves_on(m, band, around, arranger))
    alone = [(name,) for name in band.statements]
    order = in_order(alone, around.inside((*outer, *free), band.statements).pairs)
    if order is None or not free:
        return None
    summed = tuple(member for member in staying if member not in outer)
    owns = []
    for (name,) in order:
        own = _own(name, band, (free, outer, summed), around, arranger, sizes)
        if own is None:
            return None
        owns.append(own)
    if not any(own.is_held and len(own.summed) > 1 for own in owns):
        return None
    busy = frozenset(place for own in owns for place in own.annotations)
    common = tuple(
        free[place]
        for place in sorted(range(len(free)), key=lambda place: _is_again(place, owns))
        if place not in busy
    )
    branches = tuple(Branch((own.statement,), _tree(own, band, free, sorted(busy))) for own in owns)
    below = branches[0].child if len(branches) == 1 else Sequence(branches)
    tree = Band(band.statements, (*common, *outer), below)
    return Reduction(
        places, lengths(arranger.scop, band.statements, free, around.parameters, sizes), busy, tree
    )


def _is_again(place: int, owns: Many[_Own]) -> bool:
    """Whether sums need the same vectors in every iteration of a free member."""
    return all(place in own.again for own in owns if own.is_held)


def _moves_on(member: Member, band: Band, around: Around, arranger: Arranger) -> bool:
    """Whether some statement writes another element when the member of its band advances."""
    for name in band.statements:
        loops = [restricted(one, band.statements, (name,)) for one in band.members]
        rows = [loop.rows for loop in (*loops, *path(band.child, name))]
        moves = table(arranger.scop, (name,), around.rows, rows, arranger.packing)
        if moves[band.members.index(member)][name].write is not Move.SAME:
            return True
    return False


def _own(
    name: str,
    band: Band,
    parts: tuple[tuple[Member, ...], tuple[Member, ...], tuple[Member, ...]],
    around: Around,
    arranger: Arranger,
    sizes: Sizes,
) -> _Own | None:
    """Return what one of the statements does with the free members; None without vectors.

    ``parts`` are the free members of the band, those that run outside, and those of the sum.
    """
    statement = arranger.scop.statement(name)
    free, outer, inner = (
        tuple(restricted(member, band.statements, (name,)) for member in part) for part in parts
    )
    summed = tuple(m for m in (*inner, *path(band.child, name)) if any(m.rows[0].iterators))
    members = (*free, *summed)
    rows = {name: (*around.rows[name], *(member.rows[0] for member in outer))}
    moves = table(arranger.scop, (name,), rows, [m.rows for m in members], arranger.packing)
    standing = {name: (*rows[name], *(member.rows[0] for member in free))}
    held = (
        bool(summed)
        and all(moves[place][name].write is Move.SAME for place in range(len(free), len(members)))
        and bool(holdable(arranger.scop, (name,), (name,), standing))
    )
    if summed and not held:
        return None
    reach = lengths(arranger.scop, (name,), members, around.parameters, sizes)
    count, terms = len(free), prod(reach[len(free) :])
    own = tuple(row[name] for row in moves[:count])
    found = Sum(statement, own, reach[:count], terms, held)
    vector = roles(members, moves, vectors=True, hold=True).vector
    bits = arranger.mapping.vector_bits or arranger.machine.vector_bits
    way = best_way(
        found,
        vector if vector is not None and vector < count else None,
        [member.coincident for member in free],
        bits // (8 * arranger.scop.widest((name,))),
        arranger.machine,
    )
    if way is None:
        return None
    vectors = arranger.mapping.vector_copies or way.copies.vectors
    jam = arranger.mapping.unroll_jam or way.copies.jam
    if terms * vectors * bits // 8 > arranger.machine.level_2 // 2:
        return None
    annotations: dict[int, LoopAnnotation] = {way.vector: Vector(bits, vectors)}
    if way.jammed is not None and jam > 1:
        annotations[way.jammed] = Jam(jam)
    return _Own(name, annotations, summed, held, found.again(way.vector))


def _tree(own: _Own, band: Band, free: tuple[Member, ...], busy: Many[int]) -> Band:
    """Return the loops of one statement below those that all of them share.

    Free members without an annotation come first, then the jammed one, then the one that runs in
    vectors.
    """
    name = (own.statement,)
    ranks: dict[type[LoopAnnotation], int] = {Jam: 1, Vector: 2}
    annotations = {place: own.annotations.get(place, ALONE) for place in busy}
    order = sorted(busy, key=lambda place: (ranks.get(type(annotations[place]), 0), place))
    members = tuple(
        replace(restricted(free[place], band.statements, name), annotation=annotations[place])
        for place in order
    )
    below: Tree = Leaf()
    for member in reversed(own.summed):
        held = replace(member, coincident=False, annotation=Hold(frozenset(name)))
        below = Band(name, (held,), below)
    return Band(name, members, below)
