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
begins with a single tile. The points within a tile keep the order of t and x. Statements that share
the time t get a constant each, so that one that needs the other's result is not cut off before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polygym.codegen.tree.floored_row import FlooredRow
from polygym.codegen.tree.ir import BandMember
from polygym.poly.distance import DependencePairs
from polygym.poly.isl_values import to_int
from polygym.poly.schedule import ScheduleRow, combine_rows

_MAX_SLOPE = 4


def wavefront_members(members: Sequence[BandMember]) -> tuple[BandMember, ...]:
    """Return a permutable band's members with the first replaced by its sum with the second."""
    first, second, *others = members
    diagonal = BandMember((*first.terms, *second.terms), coincident=False)
    return (diagonal, BandMember(second.terms, coincident=True), *others)


def diamond_member(
    first: BandMember,
    second: BandMember,
    statements: tuple[str, ...],
    pairs: Sequence[DependencePairs],
    parameters: tuple[str, ...],
) -> BandMember | None:
    """Return c·first - second for the smallest c that keeps the band permutable, if one does."""
    for factor in range(1, _MAX_SLOPE + 1):
        rows = tuple(
            combine_rows(row, other, factor, -1)
            for row, other in zip(first.rows, second.rows, strict=True)
        )
        if all(row.is_constant for row in rows):
            continue
        shifts = _shifts(rows, statements, pairs, parameters)
        if shifts is not None:
            shifted = tuple(
                replace(row, constant=row.constant + shift)
                for row, shift in zip(rows, shifts, strict=True)
            )
            return BandMember((FlooredRow(shifted),), coincident=False)
    return None


def _shifts(
    rows: tuple[ScheduleRow, ...],
    statements: tuple[str, ...],
    pairs: Sequence[DependencePairs],
    parameters: tuple[str, ...],
) -> tuple[int, ...] | None:
    """Return constants to add to the rows, one a statement, so that no pair goes backwards.

    With δ ≥ m on all pairs S → T of a dependence, the constants must satisfy s_T ≥ s_S - m. The
    smallest ones from 0 on are longest paths, found by relaxing every dependence as often as there
    are statements; if something still grows then, there are none.
    """
    bounds = []
    for pair in pairs:
        source = statements.index(pair.dependence.source)
        sink = statements.index(pair.dependence.sink)
        least = pair.points.min_val(pair.distance(rows[source], rows[sink], parameters).form)
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
