"""The loops around a statement as a planned tree has them.

The tree says which rows the loops count and in which tiles; everything else follows from the
statement's corners (:mod:`polygym.cost.features.statements.statement_work`), without isl:

* The *length* of a loop is how many values its row takes between its least and its greatest, in
  tiles of s the number of tiles, and inside a tile of the same row no more than there are in it. A
  row whose factors have a common divisor takes every so many-th value: 2·i at i < 5 takes 5; and so
  does one in a domain with holes (:mod:`polygym.cost.features.statements.row_steps`).
* The rows of the innermost loops, those that are independent of rows further out, form a matrix A
  with θ = A·x, so that x = A⁻¹·θ: an access with subscripts F·x moves by the columns of F·A⁻¹, one
  for each loop, and by s times that for a loop over tiles of s.

Example: C[i][j] += A[i][k] * B[k][j] in tiles of 32 of all loops at n = 1000, from outside: lengths
32, 32, 32, 32, 32, 32 (the last tile has fewer points); A[i][k] moves by (32, 0), (0, 0), (0, 32),
(1, 0), (0, 0), (0, 1).

Most of that follows from the rows alone, whatever the sizes of the tiles are. A search changes
sizes more often than anything else, so what rows decide is the *frame* of a nest, and remembered.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from polygym.codegen.tree.ir import BandMember
from polygym.cost.features.loops import nests
from polygym.cost.features.statements.row_steps import Factors, row_step
from polygym.cost.features.statements.statement_work import StatementWork
from polygym.poly.innermost import independent_rows

LoopRows: TypeAlias = tuple[tuple[tuple[Factors, bool], ...], ...]
"""For every loop the rows of its parts, and whether each counts tiles."""


@dataclass(frozen=True, slots=True, eq=False)
class _NestFrame:
    """What the rows of loops decide: ``rows`` are the first ones of each, which ``steps`` go along.

    Loops over points are no longer than one if their row is ``is_empty``, 0 or what loops further
    out leave fixed. ``ends`` has the least and the greatest value of all rows of each loop,
    ``value_count`` how many its first one has between them. ``outer`` are the rows of points
    further out. What else there is, is as in
    :class:`polygym.cost.features.loops.nests.StatementNest`, for steps and tiles of one.
    """

    rows: tuple[Factors, ...]
    steps: tuple[int, ...]
    is_empty: tuple[bool, ...]
    ends: tuple[tuple[tuple[int, int], ...], ...]
    values: tuple[int, ...]
    outer: tuple[tuple[Factors, ...], ...]
    tiled: tuple[bool, ...]
    directions: nests.Floats
    points: tuple[int | None, ...]
    point_loops: tuple[int, ...]


@lru_cache(maxsize=4096)
def _nest_frame(work: StatementWork, shape: LoopRows) -> _NestFrame:
    rows = tuple(parts[0][0] for parts in shape)
    is_point = tuple(len(parts) == 1 and not parts[0][1] for parts in shape)
    kept, directions = _loop_directions(rows, is_point, work.depth)
    outer = tuple(
        tuple(row for row, stays in zip(rows[:place], is_point, strict=False) if stays)
        for place in range(len(rows))
    )
    steps = tuple(
        row_step(work.domain_holes, row, stay) for row, stay in zip(rows, outer, strict=True)
    )
    values = tuple(map(work.value_count, rows, steps))
    return _NestFrame(
        rows,
        steps,
        tuple(
            len(parts) == 1 and (not any(row) or (is_point[place] and place not in kept))
            for place, (parts, row) in enumerate(zip(shape, rows, strict=True))
        ),
        tuple(tuple(work.row_range(row, 0) for row, _ in parts) for parts in shape),
        values,
        outer,
        tuple(not flag for flag in is_point),
        directions,
        tuple(span if place in kept else None for place, span in enumerate(values)),
        _point_loops(shape, rows, kept),
    )


def planned_nest(
    work: StatementWork,
    members: Sequence[BandMember],
    offsets: Sequence[Sequence[int]],
    packs: nests.PackableArrays = nests.NO_PACKABLE_ARRAYS,
) -> nests.StatementNest:
    """Return the loops of a statement, given those around it in a planned tree.

    ``offsets`` are the constants of the rows of every member's parts, parameters counted in.
    """
    shape = tuple(
        [
            tuple([(part.rows[0].iterators, part.size > 1) for part in band_member.terms])
            for band_member in members
        ]
    )
    frame = _nest_frame(work, shape)
    lengths: list[float] = []
    tiles: list[tuple[Factors, int]] = []
    for place, (member, constants) in enumerate(zip(members, offsets, strict=True)):
        sizes = [part.size for part in member.terms]
        lengths.append(
            1.0 if frame.is_empty[place] else _loop_length(frame, place, sizes, constants, tiles)
        )
        if frame.tiled[place]:
            tiles += [(row, size) for (row, _), size in zip(shape[place], sizes, strict=True)]
    steps = [max(member.terms[0].size, by) for member, by in zip(members, frame.steps, strict=True)]
    return nests.StatementNest(
        work,
        np.array(lengths, dtype=np.float64),
        tuple([member.annotation for member in members]),
        frame.tiled,
        frame.directions * np.array(steps, dtype=np.float64),
        frame.points,
        frame.point_loops,
        packs,
    )


def _point_loops(shape: LoopRows, rows: Sequence[Factors], kept: frozenset[int]) -> tuple[int, ...]:
    """Return for every loop which one counts the points of its row, itself where there is none.

    Nothing, where some row has tiles but no loop over points of its own: other rows may then run
    through a part of their values in each of its tiles, and through more in all of them.
    """
    own = {rows[place]: place for place in kept}
    tiles = [row for parts in shape for row, is_tile in parts if is_tile]
    if any(any(row) and row not in own for row in tiles):
        return ()
    return tuple(
        own.get(row, place) if len(parts) == 1 else place
        for place, (parts, row) in enumerate(zip(shape, rows, strict=True))
    )


def _loop_length(
    frame: _NestFrame,
    position: int,
    sizes: Sequence[int],
    constants: Sequence[int],
    tiles: Sequence[tuple[Factors, int]],
) -> float:
    """Return how many values a loop takes inside the tiles and points around it, at most."""
    literal = 1
    for (least, greatest), size, constant in zip(
        frame.ends[position], sizes, constants, strict=True
    ):
        literal += (greatest + constant) // size - (least + constant) // size
    literal = max(1, literal)
    if len(sizes) > 1:
        return float(literal)
    return float(
        min(literal, frame.values[position], _tile_count(frame, position, sizes[0], tiles))
    )


def _tile_count(
    frame: _NestFrame, place: int, size: int, tiles: Sequence[tuple[Factors, int]]
) -> int | float:
    """Return how many values ⌊row / size⌋ takes while outer points stay and tiles hold all else.

    With row = Σ a·point + Σ b·tile's row, a tile of s lets its row take s values, so the row has
    Σ |b|·(s - 1) + 1: inside tiles of 32 by 32 for i and j the diagonal i + j has 63.
    """
    points = frame.outer[place]
    widths: dict[Factors, int] = {}
    for row, width in tiles:
        if width > size:
            widths[row] = min(width, widths.get(row, width))
    if not points and not widths:
        return math.inf
    factors = _row_factors(frame.rows[place], (*points, *widths))
    if factors is None:
        return math.inf
    reach = 0.0
    for row, factor in factors:
        if row in widths and row not in points:
            reach += abs(factor) * (widths[row] - 1)
    values = math.floor(reach + 1e-9) + 1
    return min(-(-values // size), math.floor((reach + 1e-9) / frame.steps[place]) + 1)


@lru_cache(maxsize=65536)
def _row_factors(
    row: tuple[int, ...], rows: tuple[tuple[int, ...], ...]
) -> tuple[tuple[tuple[int, ...], float], ...] | None:
    """Return a row as a sum of the independent ones among others; None where it is none."""
    kept = [rows[place] for place in independent_rows(rows)]
    if not kept:
        return None
    matrix = np.array(kept, dtype=np.float64).T
    wanted = np.array(row, dtype=np.float64)
    factors, *_ = np.linalg.lstsq(matrix, wanted, rcond=None)
    # As np.allclose, which takes longer than all the rest.
    if not (np.abs(matrix @ factors - wanted) <= nests.TOLERANCE + 1e-5 * np.abs(wanted)).all():
        return None
    return tuple(zip(kept, map(float, factors), strict=True))


@lru_cache(maxsize=4096)
def _loop_directions(
    rows: tuple[tuple[int, ...], ...], is_point: tuple[bool, ...], depth: int
) -> tuple[frozenset[int], nests.Floats]:
    """Return which points' rows are independent of those before, and where all rows lead.

    That is by what the iterators move while a row grows by one, a column for each.
    """
    points = [place for place, flag in enumerate(is_point) if flag]
    places, inverse = nests.row_basis(tuple(rows[place] for place in points), depth)
    kept = [points[place] for place in places]
    array = np.zeros((depth, len(rows)))
    of_row = {rows[place]: inverse[:, column] for column, place in enumerate(kept)}
    for place, row in enumerate(rows):
        if row in of_row:
            array[:, place] = of_row[row]
        elif any(row):
            vector = np.array(row, dtype=np.float64)
            array[:, place] = vector / (vector @ vector)
    return frozenset(kept), array
