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
turned there that could not be anywhere else (codegen/transforms/tile_packing_plan.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygym.codegen.tree import ir as tree_ir
from polygym.codegen.tree.analysis.access_strides import StrideKind
from polygym.codegen.tree.analysis.loop_roles import LoopRoles, assign_roles
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.tile_coordinates import (
    TileCoordinates,
    separating_conditions,
    without_existentials,
)
from polygym.codegen.tree.inner_loops.arrangement import Arrangement, distributed_arrangement
from polygym.codegen.tree.loop_context import LoopContext
from polygym.mapping.sizes import at_sizes
from polygym.poly.distance import DependencePairs


@dataclass(frozen=True)
class IndependentTiles:
    """The ``band`` of those statements that run in free tiles, and what they do there.

    ``predicate`` says which tiles these are, whose ``terms`` are those of all statements around.
    """

    band: tree_ir.Band
    tile_coordinates: tuple[tree_ir.FlooredRow, ...]
    predicate: tree_ir.TilePredicate
    arrangement: Arrangement
    context: PlannerContext


def may_have_independent_tiles(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> bool:
    """Whether a statement of a band would be a product if its sum were all there is to wait for."""
    if context.sizes is None or len(band.members) < 2 or not context.mapping.scalar_replacement:
        return False
    if any(member.coincident for member in band.members) or not context.has_vectors:
        return False

    def members() -> dict[str, tuple[int, bool]]:
        return _reduction_members(band, loop_context, _read_only_context(context))

    return context.memo.get_or_compute(
        ("may be free", band, loop_context, context.packing),
        lambda: any(useful for _, useful in members().values()),
    )


def find_independent_tiles(
    band: tree_ir.Band,
    level: tuple[tree_ir.BandMember, ...],
    loop_context: LoopContext,
    context: PlannerContext,
) -> IndependentTiles | None:
    """Return what is done in the free tiles of a band; None where there are none of use.

    ``level`` are the loops over tiles right around its points.
    """
    numbers = tuple(dict.fromkeys(part for member in level for part in member.terms))
    context = _read_only_context(context)
    reduced = _reduction_members(band, loop_context, context)
    sums = {name: held for name, (held, _) in reduced.items()}
    if not numbers or context.sizes is None:
        return None
    tiles = _TileSets(context.scop, band, numbers, loop_context.parameters, context.sizes)
    told = context.memo.get_or_compute(
        ("free", band, numbers, tuple(sums.items()), loop_context),
        lambda: _tile_conditions(tiles, sums, loop_context),
    )
    if told is None:
        return None
    conditions, names = told
    places = [band.statements.index(name) for name in names]
    own = tuple(
        tree_ir.FlooredRow(tuple(part.rows[k] for k in places), part.size) for part in numbers
    )
    members = tuple(tree_ir.restrict_member(m, band.statements, names) for m in band.members)
    child: tree_ir.Tree = tree_ir.Leaf()
    if len(names) > 1:
        branches = (tree_ir.Branch((name,), tree_ir.Leaf()) for name in names)
        child = tree_ir.SequenceNode(tuple(branches))
    pairs = (tiles.reduction_pairs(pair, sums, loop_context) for pair in loop_context.pairs)
    left = tuple(pair for pair in pairs if not pair.is_empty)
    below = replace(loop_context, pairs=left, is_parallel=True).for_branch(names)
    alone = tree_ir.Band(names, below.with_coincidence(members, names), child)
    arrangement = distributed_arrangement(alone, below, context)
    if arrangement is None or not any(
        _is_profitable(group.roles, len(band.members)) and group.replaced_statements
        for group in arrangement.groups
    ):
        return None
    where = tree_ir.TilePredicate(own, conditions)
    return IndependentTiles(alone, numbers, where, arrangement, context)


def _tile_conditions(
    tiles: _TileSets, sums: dict[str, int], loop_context: LoopContext
) -> tuple[tuple[tuple[tree_ir.Inequality, ...], ...], tuple[str, ...]] | None:
    """Return what tells free tiles from the others, and the statements that run in some of them."""
    inside = {name: tiles.tiles_of(name) for name in tiles.band.statements}
    free = isl.Set.empty(tiles.space)
    for name in sums:
        free = free.union(inside[name])
    for pair in loop_context.pairs:
        free = free.subtract(tiles.dependent_tiles(pair, sums, loop_context)).coalesce()
        if free.is_empty():
            return None
    conditions = separating_conditions(free, inside)
    if conditions is None:
        return None
    there = isl.Set(tiles.condition_text(conditions))
    return conditions, tuple(name for name in inside if not inside[name].is_disjoint(there))


def _read_only_context(context: PlannerContext) -> PlannerContext:
    """Return the setting of tiles in which nothing that is read is written."""
    if context.packing is None:
        return context
    return replace(context, packing=replace(context.packing, is_read_only=True))


def _reduction_members(
    band: tree_ir.Band, loop_context: LoopContext, context: PlannerContext
) -> dict[str, tuple[int, bool]]:
    """Return the member along which a statement adds up, and whether it would be a product."""
    result: dict[str, tuple[int, bool]] = {}
    for name in band.statements:
        if not context.scop.statement(name).accumulator_reads:
            continue
        members = tuple(
            replace(tree_ir.restrict_member(band_member, band.statements, (name,)), coincident=True)
            for band_member in band.members
        )
        moves = context.access_strides((name,), loop_context.rows, members)
        held = [place for place, row in enumerate(moves) if row[name].write is StrideKind.ZERO]
        if not held:
            continue
        chosen = assign_roles(members, moves, has_vectors=True, registers=True)
        useful = _is_profitable(chosen, len(members)) and chosen.reduction == held[-1]
        result[name] = held[-1], useful
    return result


def _is_profitable(chosen: LoopRoles, members: int) -> bool:
    """Whether loops would be a product, or two loops a sum with several rows at once."""
    return chosen.has_all_roles or (
        members == 2 and chosen.vector is None and chosen.jammed is not None
    )


@dataclass(frozen=True)
class _TileSets(TileCoordinates):
    """The tiles, and what holds them up."""

    def dependent_tiles(
        self, pair: DependencePairs, sums: dict[str, int], loop_context: LoopContext
    ) -> isl.Set:
        """Return the tiles that a pair of instances holds up, or a few more."""
        points = pair.points
        alike = self._same_reduction(pair, sums, loop_context)
        if alike is not None:
            points = points.subtract(alike.points)
        numbers = at_sizes(points, self.sizes).apply(self._tile_pairs(pair))
        count = len(self.terms)
        for place in range(count):
            numbers = numbers.equate(isl.dim_type.set, place, isl.dim_type.set, count + place)
        return without_existentials(numbers.project_out(isl.dim_type.set, count, count))

    def reduction_pairs(
        self, pair: DependencePairs, sums: dict[str, int], loop_context: LoopContext
    ) -> DependencePairs:
        """Return what is left of a pair in free tiles: what belongs to a sum."""
        alike = self._same_reduction(pair, sums, loop_context)
        if alike is not None:
            return alike
        return replace(pair, points=isl.Set.empty(pair.points.get_space()))

    def _same_reduction(
        self, pair: DependencePairs, sums: dict[str, int], loop_context: LoopContext
    ) -> DependencePairs | None:
        """Return those pairs that are of one sum."""
        name = pair.dependence.source
        if name != pair.dependence.sink or name not in sums:
            return None
        place = self.band.statements.index(name)
        for number, member in enumerate(self.band.members):
            if number != sums[name]:
                row = member.rows[place]
                pair = pair.unordered_by(pair.distance(row, row, loop_context.parameters))
        return pair

    def _tile_pairs(self, pair: DependencePairs) -> isl.Map:
        """Return the map from pairs to the numbers of the source's tile and the sink's."""
        ends = (pair.dependence.source, pair.dependence.sink)
        names, texts = [], []
        for end, letter in zip(ends, "st", strict=True):
            own = [f"{letter}{k}" for k in range(self.scop.statement(end).depth)]
            names += own
            texts.append(self.coordinate_texts(self.band.statements.index(end), own))
        return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(texts)}] }}")
