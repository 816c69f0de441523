"""Tile sizes of a band: those of the mapping, else those of the model.

A member is not tiled where tiles of it exist further out, nor where it is a combination of loops
around it: tiles would cut the same points once more.
"""

from dataclasses import dataclass

from polygym.codegen.recurrences.skewed_copies.analysis import skewed_arrays
from polygym.codegen.tree.analysis import default_sizes
from polygym.codegen.tree.analysis.planner_context import THREADED_LOOP_OPTIONS, PlannerContext
from polygym.codegen.tree.analysis.trip_counts import has_uniform_work, inner_trip_count
from polygym.codegen.tree.inner_loops.arrangement import Arrangement, choose_arrangement
from polygym.codegen.tree.inner_loops.nested_reduction import NestedReduction
from polygym.codegen.tree.inner_loops.register_blocking import choose_block
from polygym.codegen.tree.ir import Band
from polygym.codegen.tree.loop_context import LoopContext
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.innermost import domain_equations, independent_rows


@dataclass(frozen=True)
class TiledBand:
    """A band of points, the loops around it, and the tile sizes that its members have there."""

    band: Band
    tiled: tuple[int, ...]
    loop_context: LoopContext

    def remaining(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes with 1 for members that are tiled further out."""
        pairs = zip(sizes, self.tiled, strict=True)
        return tuple(1 if done > 1 else size for size, done in pairs)

    def merged(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes of the tiles that members have now, from before or from here."""
        return tuple(map(max, self.tiled, sizes))

    def untiled(self, sizes: tuple[int, ...], scop: Scop) -> tuple[int, ...]:
        """Return the sizes with 1 for members tiled already, or that are no loops of their own."""
        band, around = self.band, self.loop_context
        new = around.memo.get_or_compute(
            ("new", band, around), lambda: _independent_members(band, around, scop)
        )
        pairs = enumerate(zip(sizes, self.tiled, strict=True))
        return tuple(size if place in new and done == 1 else 1 for place, (size, done) in pairs)


def point_band_sizes(
    nest: TiledBand, arrangement: Arrangement, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a band below which there are no more loops; 1 leaves one whole."""
    band, loop_context, mapping = nest.band, nest.loop_context, context.mapping
    members, chosen = band.members, arrangement.roles
    sizes = mapping.tile_for(len(members)) or context.memoized(
        "tiles",
        band,
        loop_context,
        lambda own: _default_sizes(band, loop_context, own),
        THREADED_LOOP_OPTIONS,
    )
    sizes = nest.untiled(sizes, context.scop)
    if loop_context.is_parallel or not mapping.is_parallel or any(size > 1 for size in sizes):
        return sizes
    # What is parallel must not be what runs in vectors: a loop has one annotation.
    busy = (chosen.vector, chosen.jammed)
    coincident = [place for place, member in enumerate(members) if member.coincident]
    if coincident and all(place in busy for place in coincident):
        first = coincident[0]
        size = TUNING.stream_tile if first == chosen.vector else TUNING.sink_tile
        return tuple(size if place == first else 1 for place in range(len(members)))
    return sizes


def strip_sizes(
    nest: TiledBand, arrangement: Arrangement, sizes: tuple[int, ...], context: PlannerContext
) -> tuple[int, ...]:
    """Return the heights of the strips in the tiles of a stencil over time; 1 for no strips.

    Where the time t is the outermost loop of a tile, each step takes all rows of the tile from the
    level 2 cache. A strip of the r rows that are jammed runs through all times of the tile first::

        for t: for x: ...    →    for ⌊x/r⌋: for t: for x in the strip: ...

    From one time to the next it moves by the skew, and finds its other rows in the level 1 cache.
    Side condition: that of tiles. Example: in the band (t, 2t + i, 2t + j) with tiles of 16 by 64
    by 256 and four rows jammed, the strips ⌊(2t + i)/4⌋ have the sizes (1, 4, 1). Of four rows of
    A and B, two are new at each time.
    """
    none = (1,) * len(sizes)
    is_asked = context.mapping.tile_for(len(sizes)) is not None
    waits = not any(member.coincident for member in nest.band.members)
    if is_asked or arrangement.outer != (0,) or not waits or sizes[0] == 1:
        return none
    heights = {
        (arrangement.inner[group.roles.jammed], choose_block(group, context).unroll_jam)
        for group in arrangement.groups
        if group.has_vectors and group.roles.jammed is not None and group.roles.reduction is None
    }
    strip, height = max(heights, default=(0, 1))
    if {place for place, _ in heights} != {strip} or not 1 < 2 * height <= sizes[strip]:
        return none
    return tuple(height if place == strip else 1 for place in range(len(sizes)))


def _default_sizes(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a band where none are asked for."""
    chosen = choose_arrangement(band, loop_context, context)
    mapping, members, roles = context.mapping, band.members, chosen.roles
    if chosen.streamed_member is not None and context.sizes is not None:
        return _streamed_row_sizes(band, chosen.streamed_member, loop_context, context)
    sizes = default_sizes.default_tile_sizes(
        members,
        context.access_strides(band.statements, loop_context.rows, members),
        roles,
        context.scop.widest_element(band.statements),
        context.machine,
        rewarding=chosen.is_profitable,
    )
    skewed = skewed_arrays(chosen.groups[0], context) if chosen.is_diagonal else ()
    if chosen.has_vectors and not any(member.coincident for member in members):
        sizes = _stencil_sizes(sizes, band, loop_context, context)
    elif skewed:
        sizes = _stencil_sizes(sizes, band, loop_context, context)
        bytes_ = sum(context.scop.array(name).type.size for name in skewed)
        sizes = default_sizes.skewed_stencil_tiles(sizes, bytes_, context.machine)
    if context.sizes is not None and roles.has_all_roles:
        names = band.statements
        trips = context.trip_counts(names, members, loop_context)
        element = context.scop.widest_element(names)
        assert roles.jammed is not None
        sizes = default_sizes.enlarged_row_tiles(
            sizes,
            roles,
            trips[roles.jammed],
            mapping.threads if mapping.is_parallel and not loop_context.is_parallel else 1,
            are_even=has_uniform_work(context.scop, names, members[roles.jammed], context.sizes),
        )
        sizes = default_sizes.whole_row_tiles(
            sizes, roles, trips, element, context.machine, mapping.threads
        )
    return sizes


def _stencil_sizes(
    sizes: tuple[int, ...], band: Band, loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a stencil in vectors, larger where its loops are long enough."""
    if context.sizes is None or max(sizes[1:], default=1) == 1:
        return sizes
    first, second, *_ = band.members
    names, parameters = band.statements, loop_context.parameters
    reach = inner_trip_count(context.scop, names, second, first, parameters, context.sizes)
    return default_sizes.larger_stencil_tiles(sizes, reach, context.mapping.threads)


def _streamed_row_sizes(
    band: Band, streamed: int, loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of rows that run through memory: as long as threads leave them.

    What is added up along a part of a row stays near meanwhile, so there is an end to it.
    """
    mapping, member = context.mapping, band.members[streamed]
    others = (m.coincident for place, m in enumerate(band.members) if place != streamed)
    alone = not (loop_context.is_parallel or any(others))
    long = context.trip_count(band.statements, member, loop_context)
    share = _sizes_per_thread(long, mapping) if alone and mapping.is_parallel else long
    size = min(TUNING.max_streamed_tile, max(TUNING.sink_tile, share))
    return tuple(size if place == streamed else 1 for place in range(len(band.members)))


def independent_tile_sizes(nest: TiledBand, context: PlannerContext) -> tuple[int, ...]:
    """Return the tile sizes of a band of which some tiles may hold nothing that waits but sums.

    All are the same, so that few tiles are on a diagonal, where they wait; and there are eight
    along each loop, unless that makes them too small. Those of two loops, in which little is read
    again, are larger, so that threads meet less often.
    """
    band = nest.band
    count = len(band.members)
    sizes = context.mapping.tile_for(count)
    if sizes is None:
        trips = context.trip_counts(band.statements, band.members, nest.loop_context)
        eighth = max(trips) // 8 // TUNING.min_independent_tile * TUNING.min_independent_tile
        most = TUNING.independent_tile if count > 2 else 2 * TUNING.independent_tile
        sizes = (max(2 * TUNING.min_independent_tile, min(most, eighth)),) * count
    return nest.untiled(sizes, context.scop)


def early_term_sizes(nest: TiledBand, context: PlannerContext) -> tuple[int, ...]:
    """Return the tile sizes of a band above a sum of which some terms may run before their tile."""
    count = len(nest.band.members)
    sizes = context.mapping.tile_for(count) or (TUNING.term_tile,) * count
    return nest.untiled(sizes, context.scop)


def reduction_sizes(
    reduction: NestedReduction, mapping: Mapping, *, parallel: bool
) -> tuple[int, ...]:
    """Return the tile sizes of independent members around a sum: those that are asked for, if any.

    Else those that keep vectors near; else, where all members run in vectors or in copies, threads
    need tiles, two for each.
    """
    lengths, busy = reduction.lengths, reduction.annotated_members
    count = len(lengths)
    if (asked := mapping.tile_for(count)) is not None:
        return asked
    if max(reduction.sizes, default=1) > 1:
        return reduction.sizes
    nothing = (1,) * count
    if parallel or not mapping.is_parallel or len(busy) < count:
        return nothing
    return (min(TUNING.sink_tile, _sizes_per_thread(lengths[0], mapping)), *nothing[1:])


def _sizes_per_thread(length: int, mapping: Mapping) -> int:
    """Return the iterations of a tile where each thread gets two, in whole copies if several."""
    share = -(-length // (2 * mapping.threads))
    return (
        -(-share // TUNING.tile_multiple) * TUNING.tile_multiple
        if share > TUNING.tile_multiple
        else share
    )


def outer_band_sizes(nest: TiledBand, mapping: Mapping, scop: Scop) -> tuple[int, ...]:
    """Return the tile sizes of a band that keeps further loops below it.

    Unless sizes are asked for, tiles are made only where they are what threads need: of bands
    without a coincident member, for wavefronts. Tiles of a single loop change no order.
    """
    members = nest.band.members
    sizes = mapping.tile_for(len(members))
    if sizes is None:
        if nest.loop_context.is_parallel or not mapping.is_parallel or not mapping.wavefront:
            return (1,) * len(members)
        sizes = default_sizes.outer_tile_sizes(members)
    return _several_tiled(nest.untiled(sizes, scop))


def partly_sunk_sizes(nest: TiledBand, context: PlannerContext) -> tuple[int, ...]:
    """Return the tile sizes of a band of which some points stay above a sequence, others sink.

    If no member is coincident, what one iteration leaves in a tile stays near for the next.
    """
    members = nest.band.members
    sizes = context.mapping.tile_for(len(members))
    if sizes is None:
        if any(member.coincident for member in members):
            return (1,) * len(members)
        outer = default_sizes.outer_tile_sizes(members)
        sizes = tuple(TUNING.sink_tile if size > 1 else 1 for size in outer)
    return _several_tiled(nest.untiled(sizes, context.scop))


def _several_tiled(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes, or no tiles where fewer than two members have some."""
    return sizes if sum(size > 1 for size in sizes) > 1 else (1,) * len(sizes)


def _independent_members(band: Band, loop_context: LoopContext, scop: Scop) -> frozenset[int]:
    """Return which members are loops of their own: no combinations of those around."""
    new: set[int] = set()
    for place, name in enumerate(band.statements):
        fixed = domain_equations(scop.statement(name).domain)
        before = [*fixed, *(row.iterators for row in loop_context.rows[name])]
        own = [member.rows[place].iterators for member in band.members]
        new.update(independent_rows(own, before))
    return frozenset(new)
