"""Wavefronts: tiles that depend on each other run in parallel along diagonals.

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
begins with a single tile. The points within a tile keep the order of t and x.
"""

from __future__ import annotations

from collections.abc import Sequence

from polygym.codegen.trees.pairs import weakly_ordered
from polygym.codegen.trees.tree import Member, Part
from polygym.poly.distance import Pairs
from polygym.poly.schedule import added

_STEEPEST = 4


def wavefront(members: Sequence[Member]) -> tuple[Member, ...]:
    """Return a permutable band's members with the first replaced by its sum with the second."""
    first, second, *others = members
    diagonal = Member((*first.parts, *second.parts), coincident=False)
    return (diagonal, Member(second.parts, coincident=True), *others)


def diamond(
    first: Member,
    second: Member,
    statements: tuple[str, ...],
    pairs: Sequence[Pairs],
    parameters: tuple[str, ...],
) -> Member | None:
    """Return c·first - second for the smallest c that keeps the band permutable, if one does."""
    for factor in range(1, _STEEPEST + 1):
        rows = tuple(
            added(row, other, factor, -1)
            for row, other in zip(first.rows, second.rows, strict=True)
        )
        if all(row.is_constant for row in rows):
            continue
        if weakly_ordered(pairs, statements, rows, parameters):
            return Member((Part(rows),), coincident=False)
    return None
