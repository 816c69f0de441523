"""Tiles in which nothing is waited for but terms of one sum: they have loops of their own.

In a factorisation of a matrix no loop is coincident, since what is computed is used further on. But
most tiles use only what other tiles have computed::

    for i, j: for k < j: S: A[i][j] -= A[i][k] * A[j][k];  T: A[i][j] /= A[j][j]      (j < i)

    Band(⌊i/32⌋, ⌊j/32⌋, ⌊k/32⌋) → Band(i, j, k) → {S, T}
        →   Band(⌊i/32⌋, ⌊j/32⌋, ⌊k/32⌋) → Sequence{ where ⌊k/32⌋ < ⌊j/32⌋: S: Band(i, j, k: held)
                                                      else: Band(i, j, k) → {S, T} }

In a tile (a, b, c) with c < b the reads A[i][k] and A[j][k] are of columns in c, and what is
written is in columns of b: only S at (i, j) waits, for S at the same (i, j) and a smaller k. So
there i and j are coincident, and S is a product: vectors, copies, its element in a register.

*Which tiles.* A pair (s, t) that no loop around orders *holds up* its tile if both ends are in it,
unless it is one of a sum: s and t of one statement, δ = 0 on all members but the one along which
that statement keeps writing one element. With N the map from instances to the numbers of their
tiles, the tiles are

    F = N(all instances) - { N(s) : (s, t) holds up, N(s) = N(t) }.

What is held up is taken too large where isl's sets would need more variables; then fewer tiles are
free. In the example S(i, j, k) → S(i, j', j) has the tiles (a, b, c) and (a, b', b): where they are
one, b = c.

Side conditions: none beyond those of tiles. An instance is in one tile, so whatever runs there may
run in any order that the pairs inside allow, and for the tiles of F those are the pairs of sums.
Nothing that a tile of F reads, other than its own elements, is written in it; so reads may be
turned there that could not be anywhere else (codegen/loops/tile_plan.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygym.compiler.codegen.common.sizes import at_sizes
from polygym.compiler.codegen.trees.moves import Move
from polygym.compiler.codegen.trees.part import Part
from polygym.compiler.codegen.trees.points import Arrangement, parted
from polygym.compiler.codegen.trees.roles import Roles, roles
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tile_numbers import TileNumbers, conditions_of, simple
from polygym.compiler.codegen.trees.tree import (
    Band,
    Branch,
    Leaf,
    Member,
    Sequence,
    Tree,
    restricted,
)
from polygym.compiler.codegen.trees.where import Inequality, Where
from polygym.compiler.poly.distance import Pairs


@dataclass(frozen=True)
class FreeTiles:
    """The ``band`` of those statements that run in free tiles, and what they do there.

    ``where`` says which tiles these are, whose ``numbers`` are those of all statements around.
    """

    band: Band
    numbers: tuple[Part, ...]
    where: Where
    arrangement: Arrangement
    setting: Setting


def may_have_free_tiles(band: Band, around: Surroundings, setting: Setting) -> bool:
    """Whether a statement of a band would be a product if its sum were all there is to wait for."""
    if setting.sizes is None or len(band.members) < 2 or not setting.mapping.registers:
        return False
    if any(member.coincident for member in band.members) or not setting.has_vectors:
        return False
    return setting.memory.of(
        ("may be free", band, around, setting.packing),
        lambda: any(useful for _, useful in _sums(band, around, _turning(setting)).values()),
    )


def free_tiles(
    band: Band, level: tuple[Member, ...], around: Surroundings, setting: Setting
) -> FreeTiles | None:
    """Return what is done in the free tiles of a band; None where there are none of use.

    ``level`` are the loops over tiles right around its points.
    """
    numbers = tuple(dict.fromkeys(part for member in level for part in member.parts))
    setting = _turning(setting)
    sums = {name: held for name, (held, _) in _sums(band, around, setting).items()}
    if not numbers or setting.sizes is None:
        return None
    tiles = _Tiles(setting.scop, band, numbers, around.parameters, setting.sizes)
    told = setting.memory.of(
        ("free", band, numbers, tuple(sums.items()), around), lambda: _told(tiles, sums, around)
    )
    if told is None:
        return None
    conditions, names = told
    places = [band.statements.index(name) for name in names]
    own = tuple(Part(tuple(one.rows[k] for k in places), one.size) for one in numbers)
    members = tuple(restricted(one, band.statements, names) for one in band.members)
    child: Tree = Leaf()
    if len(names) > 1:
        child = Sequence(tuple(Branch((name,), Leaf()) for name in names))
    pairs = tuple(tiles.sum_pairs(pair, sums, around) for pair in around.pairs)
    below = replace(
        around, pairs=tuple(one for one in pairs if not one.is_empty), parallel=True
    ).within(names)
    alone = Band(names, below.reviewed(members, names), child)
    found = parted(alone, below, setting)
    if found is None or not any(
        _is_useful(one.roles, len(band.members)) and one.held for one in found.groups
    ):
        return None
    return FreeTiles(alone, numbers, Where(own, conditions), found, setting)


def _told(
    tiles: _Tiles, sums: dict[str, int], around: Surroundings
) -> tuple[tuple[tuple[Inequality, ...], ...], tuple[str, ...]] | None:
    """Return what tells free tiles from the others, and the statements that run in some of them."""
    inside = {name: tiles.of(name) for name in tiles.band.statements}
    free = isl.Set.empty(tiles.space)
    for name in sums:
        free = free.union(inside[name])
    for pair in around.pairs:
        free = free.subtract(tiles.held_up(pair, sums, around)).coalesce()
        if free.is_empty():
            return None
    conditions = conditions_of(free, inside)
    if conditions is None:
        return None
    there = isl.Set(tiles.where_text(conditions))
    return conditions, tuple(name for name in inside if not inside[name].is_disjoint(there))


def _turning(setting: Setting) -> Setting:
    """Return the setting of tiles in which nothing that is read is written."""
    if setting.packing is None:
        return setting
    return replace(setting, packing=replace(setting.packing, is_steady=True))


def _sums(band: Band, around: Surroundings, setting: Setting) -> dict[str, tuple[int, bool]]:
    """Return the member along which a statement adds up, and whether it would be a product."""
    found: dict[str, tuple[int, bool]] = {}
    for name in band.statements:
        if not setting.scop.statement(name).own_reads:
            continue
        members = tuple(
            replace(restricted(one, band.statements, (name,)), coincident=True)
            for one in band.members
        )
        moves = setting.moves((name,), around.rows, members)
        held = [place for place, row in enumerate(moves) if row[name].write is Move.SAME]
        if not held:
            continue
        chosen = roles(members, moves, has_vectors=True, registers=True)
        useful = _is_useful(chosen, len(members)) and chosen.held == held[-1]
        found[name] = held[-1], useful
    return found


def _is_useful(chosen: Roles, members: int) -> bool:
    """Whether loops would be a product, or two loops a sum with several rows at once."""
    return chosen.is_product or (
        members == 2 and chosen.vector is None and chosen.jammed is not None
    )


@dataclass(frozen=True)
class _Tiles(TileNumbers):
    """The tiles, and what holds them up."""

    def held_up(self, pair: Pairs, sums: dict[str, int], around: Surroundings) -> isl.Set:
        """Return the tiles that a pair of instances holds up, or a few more."""
        points = pair.points
        alike = self._of_a_sum(pair, sums, around)
        if alike is not None:
            points = points.subtract(alike.points)
        numbers = at_sizes(points, self.sizes).apply(self._both(pair))
        count = len(self.numbers)
        for place in range(count):
            numbers = numbers.equate(isl.dim_type.set, place, isl.dim_type.set, count + place)
        return simple(numbers.project_out(isl.dim_type.set, count, count))

    def sum_pairs(self, pair: Pairs, sums: dict[str, int], around: Surroundings) -> Pairs:
        """Return what is left of a pair in free tiles: what belongs to a sum."""
        alike = self._of_a_sum(pair, sums, around)
        if alike is not None:
            return alike
        return replace(pair, points=isl.Set.empty(pair.points.get_space()))

    def _of_a_sum(self, pair: Pairs, sums: dict[str, int], around: Surroundings) -> Pairs | None:
        """Return those pairs that are of one sum."""
        name = pair.dependence.source
        if name != pair.dependence.sink or name not in sums:
            return None
        place = self.band.statements.index(name)
        for number, member in enumerate(self.band.members):
            if number != sums[name]:
                row = member.rows[place]
                pair = pair.untouched_by(pair.distance(row, row, around.parameters))
        return pair

    def _both(self, pair: Pairs) -> isl.Map:
        """Return the map from pairs to the numbers of the source's tile and the sink's."""
        ends = (pair.dependence.source, pair.dependence.sink)
        names, texts = [], []
        for end, letter in zip(ends, "st", strict=True):
            own = [f"{letter}{k}" for k in range(self.scop.statement(end).depth)]
            names += own
            texts.append(self.texts(self.band.statements.index(end), own))
        return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(texts)}] }}")
