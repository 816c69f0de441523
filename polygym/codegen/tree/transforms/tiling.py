"""Tiling: a band becomes a band of tiles around a band of points.

::

    Band(i, j) → child     →     Band(⌊i/32⌋, ⌊j/64⌋) → Band(i, j) → child

The instances run tile by tile. Side condition: the members may be permuted with each other, that
is, δ ≥ 0 on each of them for every pair that no outer loop orders. Then no pair goes back to an
earlier tile, since ⌊x/s⌋ only grows with x; and within a tile the points run in an order that was
legal. A member that is coincident has δ = 0, so both ends are in the same tile: the tiles are
coincident too.

Tiles may be tiled again: a tile of n tiles of size s is a tile of size n·s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from polygym.codegen.tree.floored_row import FlooredRow
from polygym.codegen.tree.ir import BandMember


def tile_members(members: Sequence[BandMember], sizes: Sequence[int]) -> tuple[BandMember, ...]:
    """Return the members that count tiles; a size of 1 leaves its member out."""
    return tuple(
        [
            _tile_member(member, size)
            for member, size in zip(members, sizes, strict=True)
            if size > 1
        ]
    )


@lru_cache(maxsize=4096)
def _tile_member(member: BandMember, size: int) -> BandMember:
    """Return the member that counts tiles of so many points of another one."""
    return BandMember((FlooredRow(member.rows, size),), member.coincident)


def coincident_first(members: Sequence[BandMember]) -> tuple[BandMember, ...]:
    """Return the members of a permutable band with those in front that can run in parallel.

    One parallel loop outside costs one start of the threads, inside it costs many.
    """
    return tuple(sorted(members, key=lambda member: not member.coincident))
