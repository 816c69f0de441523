"""Tiling: a band becomes a band of tiles around a band of points.

::

    Band(i, j) → child     →     Band(⌊i/32⌋, ⌊j/64⌋) → Band(i, j) → child

The instances run tile by tile. Side condition: the members may be permuted with each other, that
is, δ ≥ 0 on each of them for every pair that no outer loop orders. Then no pair goes back to an
earlier tile, since ⌊x/s⌋ only grows with x; and within a tile the points run in an order that was
legal. A member that is coincident has δ = 0, so both ends are in the same tile: the tiles are
coincident too.

Tiles may be tiled again: a tile of n tiles of size s is a tile of size n·s.

Wavefronts: tiles that depend on each other run in parallel along diagonals.

::

    Band(⌊t/32⌋, ⌊x/32⌋)     →     Band(⌊t/32⌋ + ⌊x/32⌋, ⌊x/32⌋: coincident)

No member of a time-tiled stencil's band is coincident: tile (a, b) needs (a - 1, b) and (a, b - 1).
But all tiles with one sum a + b are independent. Side condition: the band is permutable. For a pair
that no outer loop orders, both tile numbers differ by at least 0; if the sums are equal, both are
equal, so the second member has δ = 0 on what the first leaves unordered.

Example: tiles (0, 1) and (1, 0) have the sum 1 and run together, after (0, 0).

*Diamond* tiles start all at once. With rows t and x that are permutable, so may be x and c·t - x
for some c: then tiles are cut along both diagonals of the (t, x) plane, their sum x + (c·t - x) is
c·t, and all tiles of one time are independent, from the first time on, where the wavefront above
begins with a single tile. The points within a tile keep the order of t and x. Statements that share
the time t get a constant each, so that one that needs the other's result is not cut off before it.

Levels of tiles: the bands of tiles that go around a band, the outermost first.

One level of tiles, or two: a tile of the outer level holds ``outer_tile`` tiles of the inner one.
The outermost level decides about threads. A coincident member goes to the front of it; where none
is, as in a stencil over time, its tiles form a wavefront, in diamonds if they can
(``wavefront_members``)::

    Band(t, x)              tile=32               →  Band(⌊t/32⌋ + ⌊x/32⌋, ⌊x/32⌋: coincident)
    Band(i: coincident, j)  tile=32 outer_tile=2  →  Band(⌊i/64⌋, ⌊j/64⌋) → Band(⌊i/32⌋, ⌊j/32⌋)

Side condition: that of tiling, at every level: the band is permutable.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from polygym.codegen.tree.ir import BandMember, FlooredRow
from polygym.codegen.tree.loop_context import LoopContext
from polygym.mapping.mapping import Mapping
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_values import to_int
from polygym.poly.schedule import ScheduleRow, combine_rows


def tile_members(members: Sequence[BandMember], sizes: Sequence[int]) -> tuple[BandMember, ...]:
    """Return the members that count tiles; a size of 1 leaves its member out."""
    pairs = zip(members, sizes, strict=True)
    return tuple([_tile_member(member, size) for member, size in pairs if size > 1])


@lru_cache(maxsize=4096)
def _tile_member(member: BandMember, size: int) -> BandMember:
    """Return the member that counts tiles of so many points of another one."""
    return BandMember((FlooredRow(member.rows, size),), member.coincident)


def coincident_first(members: Sequence[BandMember]) -> tuple[BandMember, ...]:
    """Return the members of a permutable band with those in front that can run in parallel.

    One parallel loop outside costs one start of the threads, inside it costs many.
    """
    return tuple(sorted(members, key=lambda member: not member.coincident))


def wavefront_members(members: Sequence[BandMember]) -> tuple[BandMember, ...]:
    """Return a permutable band's members with the first replaced by its sum with the second."""
    first, second, *others = members
    diagonal = BandMember((*first.terms, *second.terms), coincident=False)
    return (diagonal, BandMember(second.terms, coincident=True), *others)


def diamond_member(
    first: BandMember, second: BandMember, statements: tuple[str, ...], loop_context: LoopContext
) -> BandMember | None:
    """Return c·first - second for the smallest c that keeps the band permutable, if one does."""
    for factor in range(1, TUNING.max_diamond_slope + 1):
        pairs = zip(first.rows, second.rows, strict=True)
        rows = tuple(combine_rows(row, other, factor, -1) for row, other in pairs)
        if all(row.is_constant for row in rows):
            continue
        shifts = _shifts(rows, statements, loop_context)
        if shifts is not None:
            moved = zip(rows, shifts, strict=True)
            shifted = (replace(row, constant=row.constant + shift) for row, shift in moved)
            return BandMember((FlooredRow(tuple(shifted)),), coincident=False)
    return None


def _shifts(
    rows: tuple[ScheduleRow, ...], statements: tuple[str, ...], loop_context: LoopContext
) -> tuple[int, ...] | None:
    """Return constants to add to the rows, one a statement, so that no pair goes backwards.

    With δ ≥ m on all pairs S → T of a dependence, the constants must satisfy s_T ≥ s_S - m. The
    smallest ones from 0 on are longest paths, found by relaxing every dependence as often as there
    are statements; if something still grows then, there are none.
    """
    bounds = []
    for pair in loop_context.pairs:
        source = statements.index(pair.dependence.source)
        sink = statements.index(pair.dependence.sink)
        distance = pair.distance(rows[source], rows[sink], loop_context.parameters)
        least = pair.points.min_val(distance.form)
        if not least.is_int():
            return None  # it has no lower bound
        bounds.append((source, sink, to_int(least)))
    shifts = [0] * len(statements)
    for _ in range(len(statements) + 1):
        grown = list(shifts)
        for source, sink, least in bounds:
            grown[sink] = max(grown[sink], grown[source] - least)
        if grown == shifts:
            return tuple(shifts)
        shifts = grown
    return None


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
            lambda: diamond_member(members[first], members[second], statements, loop_context),
        )
        if steep is not None:
            shapes[first], shapes[second] = members[second], steep
            # Only tiles as wide one way as the other have corners that meet.
            sizes = (*sizes[:first], sizes[second], *sizes[first + 1 :])
    band_members = [tile_members(shapes, sizes)]
    larger = _outer_level_sizes(sizes, mapping.outer_tile_for(len(sizes)))
    if any(size > 1 for size in larger):
        band_members.insert(0, tile_members(shapes, larger))
    outermost = band_members[0]
    ordered = wavefront_members if wave and len(outermost) > 1 else coincident_first
    band_members[0] = ordered(outermost)
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

    >>> _outer_level_sizes((32, 1, 64), (4, 4, 1))
    (128, 1, 1)
    """
    pairs = zip(sizes, outer, strict=True)
    return tuple(size * factor if size > 1 and factor > 1 else 1 for size, factor in pairs)
