"""Tile sizes of a band: those of the mapping, else those of the model.

A member is not tiled where tiles of it exist further out, nor where it is a combination of loops
around it: tiles would cut the same points once more.
"""

from polygym.codegen.recurrences.skewed_copies.analysis import skewed_arrays
from polygym.codegen.tree.analysis import default_sizes
from polygym.codegen.tree.analysis.planner_context import THREADED_LOOP_OPTIONS, PlannerContext
from polygym.codegen.tree.analysis.trip_counts import has_uniform_work, inner_trip_count
from polygym.codegen.tree.inner_loops.arrangement import Arrangement, choose_arrangement
from polygym.codegen.tree.inner_loops.nested_reduction import NestedReduction
from polygym.codegen.tree.ir import Band
from polygym.codegen.tree.loop_context import LoopContext
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.innermost import domain_equations, independent_rows


def point_band_sizes(
    band: Band,
    arrangement: Arrangement,
    tiled: tuple[int, ...],
    loop_context: LoopContext,
    context: PlannerContext,
) -> tuple[int, ...]:
    """Return the tile sizes of a band below which there are no more loops; 1 leaves one whole."""
    mapping, members, chosen = context.mapping, band.members, arrangement.roles
    sizes = mapping.tile_for(len(members))
    if sizes is None:
        sizes = context.memoized(
            "tiles",
            band,
            loop_context,
            lambda own: _default_sizes(band, loop_context, own),
            THREADED_LOOP_OPTIONS,
        )
    sizes = _untiled_sizes(band, sizes, tiled, loop_context, context.scop)
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


def _default_sizes(
    band: Band, loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a band where none are asked for."""
    chosen = choose_arrangement(band, loop_context, context)
    mapping, members, roles = context.mapping, band.members, chosen.roles
    if chosen.streamed_member is not None:
        swept = _streamed_row_sizes(band, chosen.streamed_member, loop_context, context)
        if swept is not None:
            return swept
    sizes = default_sizes.default_tile_sizes(
        members,
        context.access_strides(band.statements, loop_context.rows, members),
        roles,
        context.scop.widest_element(band.statements),
        context.machine,
        rewarding=chosen.is_profitable,
    )
    skewed = frozenset[str]()
    if chosen.is_diagonal:
        skewed = skewed_arrays(chosen.groups[0], context)
    if chosen.has_vectors and not any(member.coincident for member in members):
        sizes = _stencil_sizes(sizes, band, loop_context, context)
    elif skewed:
        sizes = _stencil_sizes(sizes, band, loop_context, context)
        bytes_ = sum(context.scop.array(name).type.size for name in skewed)
        sizes = default_sizes.skewed_stencil_tiles(sizes, bytes_, context.machine)
    if context.sizes is not None and roles.has_all_roles:
        names = band.statements
        found = context.trip_counts(names, members, loop_context)
        element = context.scop.widest_element(names)
        assert roles.jammed is not None
        sizes = default_sizes.enlarged_row_tiles(
            sizes,
            roles,
            found[roles.jammed],
            mapping.threads if mapping.is_parallel and not loop_context.is_parallel else 1,
            are_even=has_uniform_work(
                context.scop, names, band.members[roles.jammed], context.sizes
            ),
        )
        sizes = default_sizes.whole_row_tiles(
            sizes, roles, found, element, context.machine, mapping.threads
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
) -> tuple[int, ...] | None:
    """Return the tile sizes of rows that run through memory: as long as threads leave them.

    What is added up along a part of a row stays near meanwhile, so there is an end to it.
    """
    mapping, member = context.mapping, band.members[streamed]
    if context.sizes is None:
        return None
    others = (
        band_member.coincident
        for place, band_member in enumerate(band.members)
        if place != streamed
    )
    alone = not (loop_context.is_parallel or any(others))
    long = context.trip_count(band.statements, member, loop_context)
    share = _sizes_per_thread(long, mapping) if alone and mapping.is_parallel else long
    size = min(TUNING.max_streamed_tile, max(TUNING.sink_tile, share))
    return tuple(size if place == streamed else 1 for place in range(len(band.members)))


def independent_tile_sizes(
    band: Band, tiled: tuple[int, ...], loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a band of which some tiles may hold nothing that waits but sums.

    All are the same, so that few tiles are on a diagonal, where they wait; and there are eight
    along each loop, unless that makes them too small. Those of two loops, in which little is read
    again, are larger, so that threads meet less often.
    """
    count, names = len(band.members), band.statements
    sizes = context.mapping.tile_for(count)
    if sizes is None:
        found = context.trip_counts(names, band.members, loop_context)
        eighth = max(found) // 8 // TUNING.min_independent_tile * TUNING.min_independent_tile
        most = TUNING.independent_tile if count > 2 else 2 * TUNING.independent_tile
        sizes = (max(2 * TUNING.min_independent_tile, min(most, eighth)),) * count
    return _untiled_sizes(band, sizes, tiled, loop_context, context.scop)


def early_term_sizes(
    band: Band, tiled: tuple[int, ...], loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a band above a sum of which some terms may run before their tile."""
    sizes = context.mapping.tile_for(len(band.members)) or (TUNING.term_tile,) * len(band.members)
    return _untiled_sizes(band, sizes, tiled, loop_context, context.scop)


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


def outer_band_sizes(
    band: Band, tiled: tuple[int, ...], loop_context: LoopContext, mapping: Mapping, scop: Scop
) -> tuple[int, ...]:
    """Return the tile sizes of a band that keeps further loops below it.

    Unless sizes are asked for, tiles are made only where they are what threads need: of bands
    without a coincident member, for wavefronts. Tiles of a single loop change no order.
    """
    nothing = (1,) * len(band.members)
    sizes = mapping.tile_for(len(band.members))
    if sizes is None:
        if loop_context.is_parallel or not mapping.is_parallel or not mapping.wavefront:
            return nothing
        sizes = default_sizes.outer_tile_sizes(band.members)
    sizes = _untiled_sizes(band, sizes, tiled, loop_context, scop)
    return sizes if sum(size > 1 for size in sizes) > 1 else nothing


def partly_sunk_sizes(
    band: Band, tiled: tuple[int, ...], loop_context: LoopContext, context: PlannerContext
) -> tuple[int, ...]:
    """Return the tile sizes of a band of which some points stay above a sequence, others sink.

    If no member is coincident, what one iteration leaves in a tile stays near for the next.
    """
    nothing = (1,) * len(band.members)
    sizes = context.mapping.tile_for(len(band.members))
    if sizes is None:
        if any(member.coincident for member in band.members):
            return nothing
        sizes = tuple(
            TUNING.sink_tile if size > 1 else 1
            for size in default_sizes.outer_tile_sizes(band.members)
        )
    sizes = _untiled_sizes(band, sizes, tiled, loop_context, context.scop)
    return sizes if sum(size > 1 for size in sizes) > 1 else nothing


def _untiled_sizes(
    band: Band,
    sizes: tuple[int, ...],
    tiled: tuple[int, ...],
    loop_context: LoopContext,
    scop: Scop,
) -> tuple[int, ...]:
    """Return the sizes with 1 for members that are tiled already, or no loops of their own."""
    new = loop_context.memo.get_or_compute(
        ("new", band, loop_context), lambda: _independent_members(band, loop_context, scop)
    )
    return tuple(
        size if place in new and tiled[place] == 1 else 1 for place, size in enumerate(sizes)
    )


def _independent_members(band: Band, loop_context: LoopContext, scop: Scop) -> frozenset[int]:
    """Return which members are loops of their own: no combinations of those around."""
    new: set[int] = set()
    for place, name in enumerate(band.statements):
        fixed = domain_equations(scop.statement(name).domain)
        before = [*fixed, *(row.iterators for row in loop_context.rows[name])]
        own = [member.rows[place].iterators for member in band.members]
        new.update(independent_rows(own, before))
    return frozenset(new)
