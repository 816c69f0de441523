"""The loops around a statement as a planned tree has them: how long each is, and what it moves.

The tree says which rows the loops count and in which tiles; everything else follows from the
statement's corners (:mod:`polygym.cost.reach`), without isl:

* The *length* of a loop is how many values its row takes between its least and its greatest, in
  tiles of s the number of tiles, and inside a tile of the same row no more than the tile's size.
* The rows of the innermost loops, those that are independent of rows further out, form a matrix A
  with θ = A·x, so that x = A⁻¹·θ: an access with subscripts F·x moves by the columns of F·A⁻¹, one
  for each loop, and by s times that for a loop over tiles of s.

Example: C[i][j] += A[i][k] * B[k][j] in tiles of 32 of all loops at n = 1000, from outside: lengths
32, 32, 32, 32, 32, 32 (the last tile has fewer points); A[i][k] moves by (32, 0), (0, 0), (0, 32),
(1, 0), (0, 0), (0, 1).

How many elements an access touches inside loops: every subscript takes no more values than lie
between its ends, 1 + Σ |c|·(length - 1), no more than the array has, and all together no more than
the loops on which they depend have iterations. For accesses whose subscripts each follow loops of
their own that is the exact number (the tests enumerate).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polygym.compiler.codegen.loop_annotation import LoopAnnotation
from polygym.compiler.codegen.trees.tree import Member
from polygym.compiler.poly.innermost import independent
from polygym.cost.reach import Touch, Work

LINE = 64
"""Bytes that come from memory together."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Accesses of one array that move alike, as A[i - 1] and A[i + 1] do.

    ``moves`` has a row for every subscript and a column for every loop; ``spread`` says how far
    apart the accesses are in every subscript. ``free`` are subscripts that may be anything.
    """

    array: str
    bytes: int
    reads: int
    writes: int
    moves: Floats
    spread: tuple[int, ...]
    extents: tuple[int, ...]
    free: tuple[bool, ...]

    @property
    def stride(self) -> Floats:
        """By how many elements one iteration of each loop moves in memory."""
        if not self.extents:
            return np.zeros(self.moves.shape[1])
        steps = np.cumprod([1, *self.extents[:0:-1]], dtype=np.float64)[::-1]
        return np.asarray(steps @ self.moves)


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """The loops around a statement, outermost first."""

    work: Work
    lengths: Floats
    annotations: tuple[LoopAnnotation, ...]
    tiled: tuple[bool, ...]
    references: tuple[Reference, ...]

    @property
    def outer(self) -> Floats:
        """For every loop, the product of the lengths of the loops around it (topdown)."""
        return np.asarray(np.concatenate([[1.0], np.cumprod(self.lengths)[:-1]]), dtype=np.float64)

    @property
    def inner(self) -> Floats:
        """For every loop, how many instances one of its executions has at most (bottomup)."""
        return np.asarray(np.cumprod(self.lengths[::-1])[::-1], dtype=np.float64)

    @property
    def share(self) -> float:
        """How many of the instances of the box of all loops there are."""
        return float(min(1.0, self.work.instances / max(1.0, float(np.prod(self.lengths)))))


def nest(work: Work, members: Sequence[Member], offsets: Sequence[Sequence[int]]) -> Nest:
    """Return the loops of a statement, given those around it in a planned tree.

    ``offsets`` are the constants of the rows of every member's parts, parameters counted in.
    """
    lengths: list[float] = []
    rows: list[tuple[int, ...]] = []
    for place, (member, constants) in enumerate(zip(members, offsets, strict=True)):
        lengths.append(_length(work, member, constants, members[:place]))
        rows.append(_row(member))
    found = np.array(lengths, dtype=np.float64)
    sizes = np.array([member.parts[0].size for member in members], dtype=np.float64)
    points = tuple(place for place, member in enumerate(members) if _is_point(member))
    basis, inverse = _basis(tuple(rows[place] for place in points), work.depth)
    kept = tuple(points[place] for place in basis)
    for place in points:
        if place not in kept:
            found[place] = 1.0
    directions = _directions(tuple(rows), kept, inverse, work.depth) * sizes
    references = _references(work.touches, directions)
    return Nest(
        work,
        found,
        tuple(member.annotation for member in members),
        tuple(not _is_point(member) for member in members),
        references,
    )


def _is_point(member: Member) -> bool:
    return len(member.parts) == 1 and member.parts[0].size == 1


def _row(member: Member) -> tuple[int, ...]:
    return member.parts[0].rows[0].iterators


def _length(work: Work, member: Member, constants: Sequence[int], outer: Sequence[Member]) -> float:
    """Return how many values a member takes inside the loops around it, at most."""
    low = high = 0
    for part, constant in zip(member.parts, constants, strict=True):
        least, greatest = work.span(part.rows[0].iterators, constant, part.size)
        low, high = low + least, high + greatest
    found = max(1, high - low + 1)
    if len(member.parts) > 1:
        return float(found)
    (part,) = member.parts
    tiles = tuple(
        (other.rows[0].iterators, other.size)
        for one in outer
        for other in one.parts
        if other.size > part.size
    )
    points = tuple(_row(one) for one in outer if _is_point(one))
    return float(min(found, _inside(part.rows[0].iterators, part.size, tiles, points)))


@lru_cache(maxsize=65536)
def _inside(
    row: tuple[int, ...],
    size: int,
    tiles: tuple[tuple[tuple[int, ...], int], ...],
    points: tuple[tuple[int, ...], ...],
) -> int | float:
    """Return how many values ⌊row / size⌋ takes while outer points stay and tiles hold all else.

    With row = Σ a·point + Σ b·tile's row, a tile of s lets its row take s values, so the row has
    Σ |b|·(s - 1) + 1: inside tiles of 32 by 32 for i and j the diagonal i + j has 63.
    """
    sizes: dict[tuple[int, ...], int] = {}
    for one, width in tiles:
        sizes[one] = min(width, sizes.get(one, width))
    if not any(row):
        return 1
    rows = (*points, *sizes)
    kept = [rows[place] for place in independent(rows)]
    if not kept:
        return math.inf
    matrix = np.array(kept, dtype=np.float64).T
    factors, *_ = np.linalg.lstsq(matrix, np.array(row, dtype=np.float64), rcond=None)
    if not np.allclose(matrix @ factors, row, atol=1e-9):
        return math.inf
    reach = sum(
        abs(factor) * (sizes[one] - 1)
        for one, factor in zip(kept, factors, strict=True)
        if one in sizes and one not in points
    )
    values = math.floor(float(reach) + 1e-9) + 1
    return int(-(-values // size))


@lru_cache(maxsize=4096)
def _basis(
    rows: tuple[tuple[int, ...], ...], depth: int
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Return which rows are independent of those before, and the (pseudo-)inverse of them."""
    places = independent(rows)
    if not places:
        return places, np.zeros((depth, 0))
    return places, np.linalg.pinv(np.array([rows[place] for place in places], dtype=np.float64))


def _directions(
    rows: tuple[tuple[int, ...], ...],
    kept: tuple[int, ...],
    inverse: Floats,
    depth: int,
) -> Floats:
    """Return for every loop by what the iterators move in one of its steps, a column each."""
    found = np.zeros((depth, len(rows)))
    of_row = {rows[place]: inverse[:, column] for column, place in enumerate(kept)}
    for place, row in enumerate(rows):
        if row in of_row:
            found[:, place] = of_row[row]
        elif any(row):
            vector = np.array(row, dtype=np.float64)
            found[:, place] = vector / (vector @ vector)
    return found


def _references(touches: Sequence[Touch], directions: Floats) -> tuple[Reference, ...]:
    """Return the accesses, those that move alike together."""
    groups: dict[tuple[str, tuple[tuple[int, ...] | None, ...]], list[Touch]] = {}
    for touch in touches:
        groups.setdefault((touch.array, touch.subscripts), []).append(touch)
    found = []
    for (array, subscripts), group in groups.items():
        matrix = np.array(
            [row if row is not None else (0,) * directions.shape[0] for row in subscripts],
            dtype=np.float64,
        ).reshape(len(subscripts), directions.shape[0])
        offsets = list(zip(*(touch.offsets for touch in group), strict=True))
        found.append(
            Reference(
                array,
                group[0].bytes,
                sum(not touch.writes for touch in group),
                sum(touch.writes for touch in group),
                matrix @ directions,
                tuple(max(values) - min(values) for values in offsets),
                group[0].extents,
                tuple(row is None for row in subscripts),
            )
        )
    return tuple(found)


def touched(nest: Nest, reference: Reference) -> tuple[Floats, Floats]:
    """Return, for every loop, the elements and the bytes of whole lines inside one execution.

    The last entry is that of the statement alone, inside no loop.
    """
    count = len(nest.lengths)
    if not len(reference.moves):
        return np.ones(count + 1), np.full(count + 1, float(reference.bytes))
    moves, lengths = np.abs(reference.moves), nest.lengths
    steps = moves * (lengths - 1.0)
    # What the loops from each one on do together: sums from behind.
    reach = np.concatenate(
        [np.cumsum(steps[:, ::-1], axis=1)[:, ::-1], np.zeros((len(moves), 1))], axis=1
    )
    spread = np.array(reference.spread, dtype=np.float64).reshape(-1, 1)
    extents = np.array(reference.extents, dtype=np.float64).reshape(-1, 1)
    ranges = np.minimum(reach + spread + 1.0, extents)
    for place, is_free in enumerate(reference.free):
        if is_free:
            own = np.concatenate([nest.inner, [1.0]])
            ranges[place] = np.minimum(own, extents[place])
    matters = np.any(moves > 0, axis=0)
    iterations = np.where(matters, lengths, 1.0)
    most = np.concatenate([np.cumprod(iterations[::-1])[::-1], [1.0]])
    most *= reference.reads + reference.writes
    if any(reference.free):
        most[:] = np.inf
    elements = np.minimum(np.prod(ranges, axis=0), most)
    # Along a line of memory: the last subscript, as far as it is dense.
    along = np.minimum(ranges[-1], elements)
    lines = (elements / along) * np.maximum(
        1.0, np.minimum(along, reach[-1] * reference.bytes / LINE + 1.0)
    )
    return elements, lines * LINE
