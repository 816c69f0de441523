"""Levels of tiles: the bands of tiles that go around a band, the outermost first.

One level of tiles, or two: a tile of the outer level holds ``outer_tile`` tiles of the inner one.
The outermost level decides about threads. A coincident member goes to the front of it; where none
is, as in a stencil over time, its tiles form a wavefront, in diamonds if they can
(:mod:`polygym.codegen.tree.wavefront_members`)::

    Band(t, x)              tile=32               →  Band(⌊t/32⌋ + ⌊x/32⌋, ⌊x/32⌋: coincident)
    Band(i: coincident, j)  tile=32 outer_tile=2  →  Band(⌊i/64⌋, ⌊j/64⌋) → Band(⌊i/32⌋, ⌊j/32⌋)

Side condition: that of tiling, at every level: the band is permutable.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.codegen.tree.ir import BandMember
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.tree.transforms.tiling import coincident_first, tile_members
from polygym.codegen.tree.transforms.wavefront import diamond_member, wavefront_members
from polygym.mapping.mapping import Mapping


def tile_bands(
    members: Sequence[BandMember],
    sizes: tuple[int, ...],
    statements: tuple[str, ...],
    mapping: Mapping,
    loop_context: LoopContext,
) -> tuple[tuple[BandMember, ...], ...]:
    """Return the bands of tiles around a permutable band; a size of 1 leaves its member whole."""
    if not any(size > 1 for size in sizes):
        return ()
    shapes = list(members)
    wave = _wants_wavefront(members, sizes, mapping, loop_context)
    if wave and mapping.diamond:
        first, second, *_ = (place for place, size in enumerate(sizes) if size > 1)
        steep = loop_context.memo.get_or_compute(
            ("diamond", members[first], members[second], statements, loop_context),
            lambda: diamond_member(
                members[first],
                members[second],
                statements,
                loop_context.pairs,
                loop_context.parameters,
            ),
        )
        if steep is not None:
            shapes[first], shapes[second] = members[second], steep
            # Only tiles as wide one way as the other have corners that meet.
            sizes = tuple(
                sizes[second] if place == first else size for place, size in enumerate(sizes)
            )
    band_members = [tile_members(shapes, sizes)]
    larger = _outer_level_sizes(sizes, mapping.outer_tile_for(len(sizes)))
    if any(size > 1 for size in larger):
        band_members.insert(0, tile_members(shapes, larger))
    outermost = band_members[0]
    band_members[0] = (
        wavefront_members(outermost) if wave and len(outermost) > 1 else coincident_first(outermost)
    )
    return tuple(band_members)


def _wants_wavefront(
    members: Sequence[BandMember], sizes: Sequence[int], mapping: Mapping, loop_context: LoopContext
) -> bool:
    """Whether the tiles would have to run one after the other, though threads are waiting."""
    return (
        not loop_context.is_parallel
        and not any(member.coincident for member in members)
        and sum(size > 1 for size in sizes) > 1
        and mapping.is_parallel
        and mapping.wavefront
    )


def _outer_level_sizes(sizes: tuple[int, ...], outer: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes of the second level of tiles; 1 where there is none.

    >>> _larger((32, 1, 64), (4, 4, 1))
    (128, 1, 1)
    """
    return tuple(
        size * factor if size > 1 and factor > 1 else 1
        for size, factor in zip(sizes, outer, strict=True)
    )
