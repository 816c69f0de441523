"""Terms of a sum that need nothing of their tile: they run before it, as a product.

Where the terms of a sum may be taken in any order, they need not wait until their element has been
set out upon, nor for each other; what they read has to be complete, no more. In tiles of a band
that is so for most of them::

    for i downwards: for j upwards:                        (tiles a of i, b of j)
      S: t[i][j] = max(t[i][j], t[i][j - 1])
      T: for i < k < j:  t[i][j] = max(t[i][j], t[i][k] + t[k + 1][j])

    Band(a, b) → Band(i, j) → Sequence{ S; T: Band(k) }
        →   Band(a, b) → Sequence{ where nothing of tile c of k is of tile (a, b):
                                       T: Band(c) → Band(i, j: vector, k: held)
                                   S, and T of the other c: Band(i, j) → Sequence{ S; T: Band(k) } }

With tiles of 32, all t[i][k] are complete before the tile begins if k is in another tile than j,
and all t[k + 1][j] if k + 1 is in another tile than i. So T for a tile c strictly between is a
product of two blocks, but for the operator: vectors, copies, its element in a register. What is
left are the two c at the ends, a few hundredths of all where there are many tiles.

*Which terms.* Let E map an instance to the values of all loops around, tiles included, and let C
be the pairs that have to keep their order (:mod:`polygym.compiler.codegen.common.sum_order`). Late
is what waits for something in its own tile,

    L = { t : s → t in C, E(s) = E(t) },

and with N the numbers of tiles, that of k too, the terms with numbers in F = N(T) - N(L) run first.

Side condition: that the terms may be taken in any order: of integers always, of floats under
``reassociate=on``. For then, within one tile, nothing that has to run before one of F runs at all,
and what has to run after one of F does, since F comes first. Between tiles nothing changes. Among
themselves the terms of F keep the order that they have, which only those of one element need.

It is done at known sizes, for one statement of a band, the only one of its loop along the sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygym.compiler.codegen.common.sizes import at_sizes
from polygym.compiler.codegen.common.sum_order import conflicts, free_sums
from polygym.compiler.codegen.trees.moves import Move
from polygym.compiler.codegen.trees.part import Part
from polygym.compiler.codegen.trees.points import Arrangement, parted
from polygym.compiler.codegen.trees.roles import roles
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tile_numbers import TileNumbers, conditions_of, floors
from polygym.compiler.codegen.trees.tree import Band, Leaf, Member, path, restricted
from polygym.compiler.codegen.trees.trips import length
from polygym.compiler.codegen.trees.where import Where
from polygym.compiler.poly.schedule import Row

_FEWEST_TILES = 4
_VECTORS = 2


@dataclass(frozen=True)
class Terms:
    """The statement ``name`` of a band, with the loop of its sum, and the ``sums`` like it."""

    name: str
    along: Member
    sums: frozenset[str]


@dataclass(frozen=True)
class FreeTerms:
    """What is done with terms that need nothing of their tile.

    They run in ``tiles``, a loop over those along the sum, and in the points of the ``band`` inside
    as arranged under a ``setting``. ``where`` tells them from the others; ``rest`` is the same for
    all statements.
    """

    band: Band
    tiles: Member
    arrangement: Arrangement
    where: Where
    rest: Where
    setting: Setting


def terms_of(band: Band, around: Surroundings, setting: Setting) -> Terms | None:
    """Return a sum below a band that would be a product if its terms had nothing to wait for."""
    return setting.remembered("terms", band, around, lambda own: _terms_of(band, around, own))


def _terms_of(band: Band, around: Surroundings, setting: Setting) -> Terms | None:
    mapping, scop = setting.mapping, setting.scop
    if setting.sizes is None or not (setting.has_vectors and mapping.registers):
        return None
    if not mapping.is_tiled or mapping.order or len(band.members) < 2:
        return None
    for name in band.statements:
        below = path(band.child, name)
        if (
            not scop.statement(name).own_reads
            or len(below) != 1
            or not any(below[0].rows[0].iterators)
        ):
            continue
        sums = free_sums(scop, name, reassociate=mapping.reassociate)
        if sums and _is_product(_points(band, name, below[0]), name, around, setting):
            return Terms(name, below[0], sums)
    return None


def free_terms(
    band: Band,
    terms: Terms,
    level: tuple[Member, ...],
    size: int,
    around: Surroundings,
    setting: Setting,
) -> FreeTerms | None:
    """Return which terms run before their tile, and how; None where they are few.

    ``level`` are the loops over tiles around the band, ``size`` is that of tiles along the sum.
    """
    scop, name, sizes = setting.scop, terms.name, setting.sizes
    assert sizes is not None
    setting = _narrow(size, name, setting)
    (row,) = terms.along.rows
    along = Member((Part((row,), size),), coincident=False)
    if length(scop, (name,), along, around.parameters, sizes) < _FEWEST_TILES:
        return None
    place = band.statements.index(name)
    numbers = tuple(dict.fromkeys(part for member in level for part in member.parts))
    own = (*(Part((part.rows[place],), part.size) for part in numbers), *along.parts)
    alone = Band((name,), _points(band, name, terms.along), Leaf())
    tiles = TileNumbers(scop, alone, own, around.parameters, sizes)
    inside = tiles.of(name)
    late = tiles.of_points(name, _late(band, terms, numbers, around, setting))
    conditions = conditions_of(inside.subtract(late).coalesce(), {name: inside})
    if not conditions or tiles.is_empty_where(name, conditions):
        return None
    below = _inside_of_tiles(band, terms, around)
    alone = replace(alone, members=below.reviewed(alone.members, (name,)))
    found = parted(alone, below, setting)
    if found is None or not any(one.roles.is_product and one.held for one in found.groups):
        return None
    rows = [
        row if one == name else _nothing(scop.statement(one).depth, len(around.parameters))
        for one in band.statements
    ]
    where = Where(own, conditions, alone=name, sums=terms.sums)
    every = (*numbers, Part(tuple(rows), size))
    rest = replace(where, numbers=every, is_other=True)
    return FreeTerms(alone, along, found, where, rest, setting)


def _narrow(size: int, name: str, setting: Setting) -> Setting:
    """Return the setting with as many vectors at once as a tile has."""
    if setting.mapping.vector_copies is not None:
        return setting
    most = max(1, size // setting.lanes((name,)))
    return replace(setting, mapping=replace(setting.mapping, vector_copies=min(_VECTORS, most)))


def _points(band: Band, name: str, along: Member) -> tuple[Member, ...]:
    """Return the loops over points around a term, as if they had nothing to wait for."""
    own = (restricted(one, band.statements, (name,)) for one in band.members)
    return (*(replace(one, coincident=True) for one in own), along)


def _is_product(
    members: tuple[Member, ...], name: str, around: Surroundings, setting: Setting
) -> bool:
    moves = setting.moves((name,), around.rows, members)
    last = len(members) - 1
    if moves[last][name].write is not Move.SAME:
        return False
    chosen = roles(members, moves, has_vectors=True, registers=True)
    return chosen.is_product and chosen.held == last


def _inside_of_tiles(band: Band, terms: Terms, around: Surroundings) -> Surroundings:
    """Return what surrounds free terms: there is nothing to order but those of one element."""
    own = around.within((terms.name,))
    place = band.statements.index(terms.name)
    pairs = own.pairs
    for member in band.members:
        row = member.rows[place]
        pairs = tuple(one.untouched_by(one.distance(row, row, own.parameters)) for one in pairs)
    left = tuple(one for one in pairs if not one.is_empty)
    return replace(own, pairs=left, parallel=True)


def _late(
    band: Band, terms: Terms, numbers: tuple[Part, ...], around: Surroundings, setting: Setting
) -> isl.Set:
    """Return the terms that wait for something in their own tile."""
    scop = setting.scop

    def there(name: str) -> isl.Map:
        """Return the map from instances to the values of all loops around the tile's points."""
        statement, place = scop.statement(name), band.statements.index(name)
        parts = [(row, 1) for row in around.rows[name]]
        parts += [(part.rows[place], part.size) for part in numbers]
        values = floors(parts, statement.iterators, around.parameters, setting.sizes)
        return isl.Map(f"{{ {name}[{', '.join(statement.iterators)}] -> [{values}] }}")

    own = there(terms.name)
    late = isl.Set.empty(own.domain().get_space())
    for source, sink, pairs in conflicts(scop, frozenset({terms.sums})):
        if sink != terms.name or source not in band.statements:
            continue
        together = there(source).apply_range(own.reverse())
        late = late.union(at_sizes(pairs, setting.sizes).intersect(together).range())
    return late


def _nothing(depth: int, parameters: int) -> Row:
    return Row((0,) * depth, (0,) * parameters, 0)
