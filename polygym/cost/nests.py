"""The loops around a statement as a planned tree has them: how long each is, and what it moves.

The tree says which rows the loops count and in which tiles; everything else follows from the
statement's corners (:mod:`polygym.cost.reach`), without isl:

* The *length* of a loop is how many values its row takes between its least and its greatest, in
  tiles of s the number of tiles, and inside a tile of the same row no more than there are in it. A
  row whose factors have a common divisor takes every so many-th value: 2·i at i < 5 takes 5; and so
  does one in a domain with holes (:mod:`polygym.cost.steps`).
* The rows of the innermost loops, those that are independent of rows further out, form a matrix A
  with θ = A·x, so that x = A⁻¹·θ: an access with subscripts F·x moves by the columns of F·A⁻¹, one
  for each loop, and by s times that for a loop over tiles of s.

Example: C[i][j] += A[i][k] * B[k][j] in tiles of 32 of all loops at n = 1000, from outside: lengths
32, 32, 32, 32, 32, 32 (the last tile has fewer points); A[i][k] moves by (32, 0), (0, 0), (0, 32),
(1, 0), (0, 0), (0, 1).

What accesses touch inside the loops is for :mod:`polygym.cost.lines` to say. Two accesses of one
array are one reference where they move alike; A[i][k] and A[j][k] are two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from polygym.compiler.codegen.common.loop_annotation import LoopAnnotation, Sequential
from polygym.compiler.codegen.trees.tree import Member
from polygym.compiler.poly.innermost import independent
from polygym.cost.packable import NOTHING, Packable
from polygym.cost.reach import Touch, Work
from polygym.cost.steps import Factors, step

Floats = NDArray[np.float64]

_NEARLY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Accesses of one array that move alike, as A[i - 1] and A[i + 1] do.

    ``moves`` has a row for every subscript and a column for every loop; ``spread`` says how far
    apart the accesses are in every subscript, ``grain`` what all its values are multiples of, but
    for the first. ``free`` are subscripts that may be anything. All instances together touch
    ``most`` elements.
    """

    array: str
    bytes: int
    reads: int
    writes: int
    moves: Floats
    spread: tuple[int, ...]
    grain: tuple[int, ...]
    extents: tuple[int, ...]
    free: tuple[bool, ...]
    most: float

    @property
    def stride(self) -> Floats:
        """By how many elements one iteration of each loop moves in memory."""
        if not self.extents:
            return np.zeros(self.moves.shape[1])
        steps = np.cumprod([1, *self.extents[:0:-1]], dtype=np.float64)[::-1]
        return np.asarray(steps @ self.moves)


@dataclass(frozen=True, eq=False)
class Nest:
    """The loops around a statement, outermost first.

    ``directions`` has a column for each: by what the iterators move in one of its steps.
    ``points`` has the rows of its loops over points and by what these grow, None for tiles and for
    rows that follow from others. ``counted`` has for every loop the one over the points of its row,
    itself where there is none. Of the arrays in ``packs`` there may be copies.
    """

    work: Work
    lengths: Floats
    annotations: tuple[LoopAnnotation, ...]
    tiled: tuple[bool, ...]
    directions: Floats
    points: tuple[tuple[Factors, int] | None, ...] = ()
    counted: tuple[int, ...] = ()
    packs: Packable = NOTHING

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """How many values lie between the ends of the rows of points, 1 for other loops."""
        return tuple(1 if one is None else _values(self.work, *one) for one in self.points)

    @property
    def is_box(self) -> bool:
        """Whether the instances are all points between the ends of their rows."""
        return math.prod(self.spans) == self.work.instances

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The accesses, those that move alike together."""
        return references(self.work, self.directions)

    @cached_property
    def outer(self) -> Floats:
        """For every loop the product of the lengths of the loops around it (topdown)."""
        return np.asarray(np.concatenate([[1.0], np.cumprod(self.lengths)[:-1]]))

    @cached_property
    def inner(self) -> Floats:
        """For every loop how many instances one of its executions has at most (bottomup)."""
        return np.asarray(np.minimum(self.box, max(1.0, float(self.work.instances))))

    @cached_property
    def box(self) -> Floats:
        """For every loop how many instances one of its executions has in the box of the rows.

        The loops over a row, tiles and points, have no more iterations together than it has values.
        """
        runs = self.lengths.tolist()
        if not self.counted:
            return np.asarray(np.cumprod(runs[::-1])[::-1])
        most = [
            math.inf if one is None else float(span)
            for one, span in zip(self.points, self.spans, strict=True)
        ]
        values, found = [1.0] * len(runs), list(runs)
        for place in range(len(runs) - 1, -1, -1):
            row = self.counted[place]
            values[row] = min(values[row] * runs[place], most[row])
            found[place] = math.prod(values)
        return np.array(found)


def nest(work: Work, members: Sequence[Member], offsets: Sequence[Sequence[int]]) -> Nest:
    """Return the loops of a statement, given those around it in a planned tree.

    ``offsets`` are the constants of the rows of every member's parts, parameters counted in.
    """
    rows = tuple(_row(member) for member in members)
    is_point = tuple(_is_point(member) for member in members)
    kept, directions = _directions(rows, is_point, work.depth)
    lengths: list[float] = []
    points: list[Factors] = []
    tiles: list[tuple[Factors, int]] = []
    for place, (member, constants) in enumerate(zip(members, offsets, strict=True)):
        found = 1.0
        if not is_point[place] or place in kept:
            found = _length(work, member, constants, tiles, points)
        lengths.append(found)
        if is_point[place]:
            points.append(rows[place])
        else:
            tiles += [(part.rows[0].iterators, part.size) for part in member.parts]
    steps = [
        step(work.holes, row, _points_of(rows[:place], is_point)) for place, row in enumerate(rows)
    ]
    sizes = np.array(
        [max(member.parts[0].size, by) for member, by in zip(members, steps, strict=True)],
        dtype=np.float64,
    )
    return Nest(
        work,
        np.array(lengths, dtype=np.float64),
        tuple(member.annotation for member in members),
        tuple(not one for one in is_point),
        directions * sizes,
        tuple((row, steps[place]) if place in kept else None for place, row in enumerate(rows)),
        _counted(members, rows, kept),
    )


def _counted(
    members: Sequence[Member], rows: Sequence[Factors], kept: frozenset[int]
) -> tuple[int, ...]:
    """Return for every loop which one counts the points of its row, itself where there is none.

    Nothing, where some row has tiles but no loop over points of its own: other rows may then run
    through a part of their values in each of its tiles, and through more in all of them.
    """
    own = {rows[place]: place for place in kept}
    tiles = [part.rows[0].iterators for one in members for part in one.parts if part.size > 1]
    if any(any(row) and row not in own for row in tiles):
        return ()
    return tuple(
        own.get(row, place) if len(member.parts) == 1 else place
        for place, (member, row) in enumerate(zip(members, rows, strict=True))
    )


def _values(work: Work, row: Factors, by: int) -> int:
    """Return how many values lie between the ends of a row that grows by so much."""
    least, greatest = work.span(row, 0)
    return max(1, (greatest - least) // by + 1)


def untiled(
    work: Work, rows: Sequence[tuple[int, ...]], plane: Sequence[tuple[int, ...]] = ()
) -> Nest:
    """Return the loops of a statement that count independent rows, one after the other.

    ``plane`` are the equations of a domain that lies in a plane of its own: no loop leaves it.
    """
    steps = [step(work.holes, row, rows[:place]) for place, row in enumerate(rows)]
    lengths = [_values(work, row, by) for row, by in zip(rows, steps, strict=True)]
    _, inverse = _basis((*plane, *rows), work.depth)
    return Nest(
        work,
        np.array(lengths, dtype=np.float64),
        (Sequential(),) * len(rows),
        (False,) * len(rows),
        inverse[:, len(plane) :] * np.array(steps, dtype=np.float64),
    )


def _points_of(rows: Sequence[Factors], is_point: Sequence[bool]) -> list[Factors]:
    """Return those of some outer rows that stay what they are from one iteration to the next."""
    return [row for row, stays in zip(rows, is_point, strict=False) if stays]


def settled(moves: Floats) -> Floats:
    """Return moves with 0 for what comes out of an inverse as nearly 0."""
    return np.where(np.abs(moves) < _NEARLY, 0.0, moves)


def _is_point(member: Member) -> bool:
    return len(member.parts) == 1 and member.parts[0].size == 1


def _row(member: Member) -> tuple[int, ...]:
    return member.parts[0].rows[0].iterators


def _length(
    work: Work,
    member: Member,
    constants: Sequence[int],
    tiles: Sequence[tuple[Factors, int]],
    points: Sequence[Factors],
) -> float:
    """Return how many values a member takes inside the tiles and points around it, at most."""
    low = high = 0
    for part, constant in zip(member.parts, constants, strict=True):
        least, greatest = work.span(part.rows[0].iterators, constant, part.size)
        low, high = low + least, high + greatest
    found = max(1, high - low + 1)
    if len(member.parts) > 1:
        return float(found)
    (part,) = member.parts
    row = part.rows[0].iterators
    by = step(work.holes, row, points)
    larger = [one for one in tiles if one[1] > part.size]
    inside = _inside(row, part.size, by, larger, points)
    return float(min(found, _values(work, row, by), inside))


def _inside(
    row: Factors,
    size: int,
    by: int,
    tiles: Sequence[tuple[Factors, int]],
    points: Sequence[Factors],
) -> int | float:
    """Return how many values ⌊row / size⌋ takes while outer points stay and tiles hold all else.

    With row = Σ a·point + Σ b·tile's row, a tile of s lets its row take s values, so the row has
    Σ |b|·(s - 1) + 1: inside tiles of 32 by 32 for i and j the diagonal i + j has 63. It grows
    ``by`` so much.
    """
    sizes: dict[Factors, int] = {}
    for one, width in tiles:
        sizes[one] = min(width, sizes.get(one, width))
    if not any(row):
        return 1
    factors = _factors(row, (*points, *sizes))
    if factors is None:
        return math.inf
    reach = sum(
        abs(factor) * (sizes[one] - 1)
        for one, factor in factors
        if one in sizes and one not in points
    )
    values = math.floor(reach + 1e-9) + 1
    return min(-(-values // size), math.floor((reach + 1e-9) / by) + 1)


@lru_cache(maxsize=65536)
def _factors(
    row: tuple[int, ...], rows: tuple[tuple[int, ...], ...]
) -> tuple[tuple[tuple[int, ...], float], ...] | None:
    """Return a row as a sum of the independent ones among others; None where it is none."""
    kept = [rows[place] for place in independent(rows)]
    if not kept:
        return None
    matrix = np.array(kept, dtype=np.float64).T
    wanted = np.array(row, dtype=np.float64)
    factors, *_ = np.linalg.lstsq(matrix, wanted, rcond=None)
    # As np.allclose, which takes longer than all the rest.
    if not (np.abs(matrix @ factors - wanted) <= _NEARLY + 1e-5 * np.abs(wanted)).all():
        return None
    return tuple(zip(kept, map(float, factors), strict=True))


@lru_cache(maxsize=4096)
def _basis(
    rows: tuple[tuple[int, ...], ...], depth: int
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Return which rows are independent of those before, and the (pseudo-)inverse of them."""
    places = independent(rows)
    if not places:
        return places, np.zeros((depth, 0))
    return places, np.linalg.pinv(np.array([rows[place] for place in places], dtype=np.float64))


@lru_cache(maxsize=4096)
def _directions(
    rows: tuple[tuple[int, ...], ...], is_point: tuple[bool, ...], depth: int
) -> tuple[frozenset[int], Floats]:
    """Return which points' rows are independent of those before, and where all rows lead.

    That is by what the iterators move while a row grows by one, a column for each.
    """
    points = [place for place, one in enumerate(is_point) if one]
    basis, inverse = _basis(tuple(rows[place] for place in points), depth)
    kept = [points[place] for place in basis]
    found = np.zeros((depth, len(rows)))
    of_row = {rows[place]: inverse[:, column] for column, place in enumerate(kept)}
    for place, row in enumerate(rows):
        if row in of_row:
            found[:, place] = of_row[row]
        elif any(row):
            vector = np.array(row, dtype=np.float64)
            found[:, place] = vector / (vector @ vector)
    return frozenset(kept), found


def references(work: Work, directions: Floats) -> tuple[Reference, ...]:
    """Return the accesses of a statement, those that move alike together."""
    groups: dict[tuple[str, tuple[tuple[int, ...] | None, ...]], list[Touch]] = {}
    for touch in work.touches:
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
                settled(matrix @ directions),
                tuple(max(values) - min(values) for values in offsets),
                tuple(
                    _grain(work, row, values)
                    for row, values in zip(subscripts, offsets, strict=True)
                ),
                group[0].extents,
                tuple(row is None for row in subscripts),
                float(max(1, work.elements.get((array, subscripts), math.inf))),
            )
        )
    return tuple(found)


def _grain(work: Work, row: Factors | None, offsets: Sequence[int]) -> int:
    """Return what the values of a subscript, and of those that move alike, are multiples of.

    That is but for the first of them. Example: A[2i], A[2i + 4] take every second element, A[2i]
    and A[2i + 1] all.
    """
    if row is None:
        return 1
    apart = math.gcd(*(value - offsets[0] for value in offsets))
    return math.gcd(step(work.holes, row) if any(row) else 0, apart) or 1
