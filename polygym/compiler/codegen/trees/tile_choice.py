"""Which tile sizes a band gets: those of the mapping, else what the model says.

A member is not tiled where tiles of it exist further out, nor where it is a combination of loops
around it: tiles would cut the same points once more.
"""

from __future__ import annotations

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.trees.model import (
    few_rows,
    larger_stencil,
    more_rows,
    outer_sizes,
    skewed_stencil,
    tile_sizes,
)
from polygym.compiler.codegen.trees.points import Arrangement, arrangement
from polygym.compiler.codegen.trees.reduction import Reduction
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.skewed import skewed_arrays
from polygym.compiler.codegen.trees.surroundings import Surroundings
from polygym.compiler.codegen.trees.tree import Band
from polygym.compiler.codegen.trees.trips import are_even, length, lengths, width
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.innermost import equations, independent

SINKING = 64
"""The default size of the tiles of a band whose points move elsewhere."""
TERMS = 16
"""The default size of tiles before which terms run; those of the tiles at the ends do not."""
_SWEEP = 512
_FREE, _LEAST_FREE = 64, 16
_COPIES = 8
_LONGEST = 2048


def sizes_of_points(
    band: Band,
    found: Arrangement,
    tiled: tuple[int, ...],
    around: Surroundings,
    setting: Setting,
) -> tuple[int, ...]:
    """Return the tile sizes of a band below which there are no more loops; 1 leaves one whole."""
    mapping, members, chosen = setting.mapping, band.members, found.roles
    sizes = mapping.tile_for(len(members))
    if sizes is None:
        sizes = setting.remembered("tiles", band, around, lambda own: _of_model(band, around, own))
    sizes = _fresh(band, sizes, tiled, around, setting.scop)
    if around.parallel or not mapping.shares or any(size > 1 for size in sizes):
        return sizes
    # What is parallel must not be what runs in vectors: a loop has one annotation.
    busy = (chosen.vector, chosen.jammed)
    coincident = [place for place, member in enumerate(members) if member.coincident]
    if coincident and all(place in busy for place in coincident):
        first = coincident[0]
        size = _SWEEP if first == chosen.vector else SINKING
        return tuple(size if place == first else 1 for place in range(len(members)))
    return sizes


def _of_model(band: Band, around: Surroundings, setting: Setting) -> tuple[int, ...]:
    """Return the tile sizes of a band where none are asked for."""
    chosen = arrangement(band, around, setting)
    mapping, members, roles = setting.mapping, band.members, chosen.roles
    if chosen.swept is not None:
        swept = _swept(band, chosen.swept, around, setting)
        if swept is not None:
            return swept
    sizes = tile_sizes(
        members,
        setting.moves(band.statements, around.rows, members),
        roles,
        setting.scop.widest(band.statements),
        setting.machine,
        rewarding=chosen.is_rewarding,
    )
    skewed = frozenset[str]()
    if chosen.diagonal:
        skewed = skewed_arrays(chosen.groups[0], setting)
    if chosen.has_vectors and not any(member.coincident for member in members):
        sizes = _of_stencil(sizes, band, around, setting)
    elif skewed:
        sizes = _of_stencil(sizes, band, around, setting)
        bytes_ = sum(setting.scop.array(name).type.size for name in skewed)
        sizes = skewed_stencil(sizes, bytes_, setting.machine)
    if setting.sizes is not None and roles.is_product:
        names, parameters = band.statements, around.parameters
        found = lengths(setting.scop, names, members, parameters, setting.sizes)
        element = setting.scop.widest(names)
        assert roles.jammed is not None
        sizes = more_rows(
            sizes,
            roles,
            found[roles.jammed],
            mapping.threads if mapping.shares and not around.parallel else 1,
            are_even=are_even(setting.scop, names, band.members[roles.jammed], setting.sizes),
        )
        sizes = few_rows(sizes, roles, found, element, setting.machine, mapping.threads)
    return sizes


def _of_stencil(
    sizes: tuple[int, ...], band: Band, around: Surroundings, setting: Setting
) -> tuple[int, ...]:
    """Return the tile sizes of a stencil in vectors, larger where its loops are long enough."""
    if setting.sizes is None or max(sizes[1:], default=1) == 1:
        return sizes
    first, second, *_ = band.members
    names, parameters = band.statements, around.parameters
    reach = width(setting.scop, names, second, first, parameters, setting.sizes)
    return larger_stencil(sizes, reach, setting.mapping.threads)


def _swept(
    band: Band, swept: int, around: Surroundings, setting: Setting
) -> tuple[int, ...] | None:
    """Return the tile sizes of rows that run through memory: as long as threads leave them.

    What is added up along a part of a row stays near meanwhile, so there is an end to it.
    """
    mapping, member = setting.mapping, band.members[swept]
    if setting.sizes is None:
        return None
    others = (one.coincident for place, one in enumerate(band.members) if place != swept)
    alone = not (around.parallel or any(others))
    names, parameters = band.statements, around.parameters
    long = length(setting.scop, names, member, parameters, setting.sizes)
    share = _share(long, mapping) if alone and mapping.shares else long
    size = min(_LONGEST, max(SINKING, share))
    return tuple(size if place == swept else 1 for place in range(len(band.members)))


def sizes_with_free(
    band: Band, tiled: tuple[int, ...], around: Surroundings, setting: Setting
) -> tuple[int, ...]:
    """Return the tile sizes of a band of which some tiles may hold nothing that waits but sums.

    All are the same, so that few tiles are on a diagonal, where they wait; and there are eight
    along each loop, unless that makes them too small. Those of two loops, in which little is read
    again, are larger, so that threads meet less often.
    """
    count, names = len(band.members), band.statements
    sizes = setting.mapping.tile_for(count)
    if sizes is None:
        assert setting.sizes is not None
        found = lengths(setting.scop, names, band.members, around.parameters, setting.sizes)
        eighth = max(found) // 8 // _LEAST_FREE * _LEAST_FREE
        most = _FREE if count > 2 else 2 * _FREE
        sizes = (max(2 * _LEAST_FREE, min(most, eighth)),) * count
    return _fresh(band, sizes, tiled, around, setting.scop)


def sizes_with_terms(
    band: Band, tiled: tuple[int, ...], around: Surroundings, setting: Setting
) -> tuple[int, ...]:
    """Return the tile sizes of a band above a sum of which some terms may run before their tile."""
    sizes = setting.mapping.tile_for(len(band.members)) or (TERMS,) * len(band.members)
    return _fresh(band, sizes, tiled, around, setting.scop)


def sizes_of_free(found: Reduction, mapping: Mapping, *, parallel: bool) -> tuple[int, ...]:
    """Return the tile sizes of independent members around a sum: those that are asked for, if any.

    Else those that keep vectors near; else, where all members run in vectors or in copies, threads
    need tiles, two for each.
    """
    lengths, busy = found.lengths, found.busy
    count = len(lengths)
    if (asked := mapping.tile_for(count)) is not None:
        return asked
    if max(found.sizes, default=1) > 1:
        return found.sizes
    nothing = (1,) * count
    if parallel or not mapping.shares or len(busy) < count:
        return nothing
    return (min(SINKING, _share(lengths[0], mapping)), *nothing[1:])


def _share(length: int, mapping: Mapping) -> int:
    """Return the iterations of a tile where each thread gets two, in whole copies if several."""
    share = -(-length // (2 * mapping.threads))
    return -(-share // _COPIES) * _COPIES if share > _COPIES else share


def sizes_above(
    band: Band, tiled: tuple[int, ...], around: Surroundings, mapping: Mapping, scop: Scop
) -> tuple[int, ...]:
    """Return the tile sizes of a band that keeps further loops below it.

    Unless sizes are asked for, tiles are made only where they are what threads need: of bands
    without a coincident member, for wavefronts. Tiles of a single loop change no order.
    """
    nothing = (1,) * len(band.members)
    sizes = mapping.tile_for(len(band.members))
    if sizes is None:
        if around.parallel or not mapping.shares or not mapping.wavefront:
            return nothing
        sizes = outer_sizes(band.members)
    sizes = _fresh(band, sizes, tiled, around, scop)
    return sizes if sum(size > 1 for size in sizes) > 1 else nothing


def sizes_partly(
    band: Band, tiled: tuple[int, ...], around: Surroundings, setting: Setting
) -> tuple[int, ...]:
    """Return the tile sizes of a band of which some points stay above a sequence, others sink.

    If no member is coincident, what one iteration leaves in a tile stays near for the next.
    """
    nothing = (1,) * len(band.members)
    sizes = setting.mapping.tile_for(len(band.members))
    if sizes is None:
        if any(member.coincident for member in band.members):
            return nothing
        sizes = tuple(SINKING if size > 1 else 1 for size in outer_sizes(band.members))
    sizes = _fresh(band, sizes, tiled, around, setting.scop)
    return sizes if sum(size > 1 for size in sizes) > 1 else nothing


def _fresh(
    band: Band, sizes: tuple[int, ...], tiled: tuple[int, ...], around: Surroundings, scop: Scop
) -> tuple[int, ...]:
    """Return the sizes with 1 for members that are tiled already, or no loops of their own."""
    new = around.memory.of(("new", band, around), lambda: _new(band, around, scop))
    return tuple(
        size if place in new and tiled[place] == 1 else 1 for place, size in enumerate(sizes)
    )


def _new(band: Band, around: Surroundings, scop: Scop) -> frozenset[int]:
    """Return which members are loops of their own: no combinations of those around."""
    new: set[int] = set()
    for place, name in enumerate(band.statements):
        fixed = equations(scop.statement(name).domain)
        before = [*fixed, *(row.iterators for row in around.rows[name])]
        own = [member.rows[place].iterators for member in band.members]
        new.update(independent(own, before))
    return frozenset(new)
