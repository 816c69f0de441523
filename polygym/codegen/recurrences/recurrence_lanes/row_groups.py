"""Row groups: rows of an array that share a transposed tile.

::

    q[i][j] = a * v[i - 1][j] + b * v[i][j] + c * v[i + 1][j] - d * q[i][j - 1]

While 16 rows i run in lanes, these reads of v are of 18 rows together. They are turned in blocks of
8 rows: each read has 2 of these in a tile of its own, 6 in all; a tile for the three of them has 3,
and the reads are of its rows 0 to 15, 1 to 16 and 2 to 17. Two reads that are 100 rows apart have 4
blocks in tiles of their own, and 15 together.

**Shifts.** Let the row of an access have the subscripts s · i + c, with integers s and whatever i
does not change in c. Another one reads, at i, the row that this one reads at i + m exactly if its
subscripts are s · (i + m) + c, that is if they differ by m · s. Then it is *shifted* by m; the
accesses that are shifted rows of each other are a *family*. Of A[2 * i], A[2 * i + 1] and
A[2 * i + 4] the first and the last one are, by 2.

**Runs.** The shifts of a family, in their order, are cut into runs, each of which gets a tile: so
that the tiles have the least number of elements to turn, where blocks are whole; of equally many,
so that no more share a tile than must. That is a shortest way: the best cut of the first k shifts
ends with a run from some shift on, in front of which the best cut stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.ir import Index
from polygym.codegen.loopir.linear_sums import to_linear_sum

SubscriptTerms: TypeAlias = frozenset[tuple[Index, int]]
RowKey: TypeAlias = tuple[tuple[SubscriptTerms, int], ...]
"""Subscripts of a row, as sums."""


def row_key_and_shift(subscripts: Sequence[Index], rows: str) -> tuple[RowKey, int]:
    """Return the family of a row, and its shift there: that of the row for which it would be 0.

    In one of the subscripts, the loop over ``rows`` has a coefficient other than 0.
    """
    steps = [coefficient(subscript, rows) or 0 for subscript in subscripts]
    sums = [to_linear_sum(subscript) for subscript in subscripts]
    moved = next(place for place, step in enumerate(steps) if step)
    shift = sums[moved][1] // steps[moved]
    family = (
        (frozenset(terms.items()), constant - shift * step)
        for (terms, constant), step in zip(sums, steps, strict=True)
    )
    return tuple(family), shift


@dataclass(frozen=True, slots=True)
class NearRow:
    """A row of a family: its ``shift``, and the least and the greatest column that is accessed."""

    shift: int
    least: int
    greatest: int


@dataclass(frozen=True, slots=True)
class TileFormat:
    """Least size of a tile: ``height`` rows in blocks of ``block_rows``, and ``columns``.

    What shares a tile is ``max_column_gap`` columns from each other at most.
    """

    height: int
    block_rows: int
    columns: int
    max_column_gap: int

    def transposed_elements(self, rows: Sequence[NearRow]) -> int | None:
        """Return how many elements are turned for some rows in a tile; None where none may be."""
        span = max(row.greatest for row in rows) - min(row.least for row in rows)
        if span > self.max_column_gap and len(rows) > 1:
            return None
        beyond = rows[-1].shift - rows[0].shift
        return (
            -(-(self.height + beyond) // self.block_rows) * self.block_rows * (self.columns + span)
        )


def group_rows(rows: Sequence[NearRow], tile_format: TileFormat) -> tuple[tuple[NearRow, ...], ...]:
    """Return the rows of a family, which have different shifts, in runs that share a tile each."""
    ordered = sorted(rows, key=lambda row: row.shift)
    # Of the first k rows: what is turned, the most rows in a run squared and added, and the runs.
    best: list[tuple[int, int, tuple[tuple[NearRow, ...], ...]]] = [(0, 0, ())]
    for end in range(1, len(ordered) + 1):
        found = []
        for start in range(end):
            run = tuple(ordered[start:end])
            turned = tile_format.transposed_elements(run)
            if turned is not None:
                before = best[start]
                found.append((before[0] + turned, before[1] + len(run) ** 2, (*before[2], run)))
        best.append(min(found, key=lambda one: one[:2]))
    return best[-1][2]
