"""Plan of accesses through transposed tiles for a recurrence whose rows run in lanes.

Nothing is changed here (:mod:`polygym.codegen.recurrences.recurrence_lanes.transform` carries it
out). ::

    for i (rows):  for j:  y[i][j] = x[i][j] + b * y[i][j - 1]

In lanes along i, ``y[i][j]`` goes down a column; along j it is contiguous. While a block of columns
runs, a tile stands for that part of the array, turned: the lanes are neighbours there. Accesses to
one array whose rows are the same and whose columns differ by a number share a tile, here x[i][j]
has one and y[i][j], y[i][j - 1] have the other; so do reads of rows near each other, if that is
less to turn (:mod:`polygym.codegen.recurrences.recurrence_lanes.plan`). Others stay as they
are: what lies along i in memory already, and what is the same for all rows.

While the block runs, what a tile stands for must not be touched in the array itself. So all
accesses to an array that is written are of one row and go through one tile, or none does. At the
end the columns that were written go back: all instances run, so these are the columns of one write
in every iteration, and a second write must be of the same column.

What has to be in a tile beforehand is what is read before it is written: of an array that is only
read everything; where the write comes first, or the read is of columns that are written in earlier
iterations, nothing but the columns in front of the block. In the example j runs upwards, and of y
that is column j - 1 of the first j.

A block has so many columns that its tiles stay in a cache: 64 at most, and the level 1 cache, where
no more rows take turns than a processor follows by itself while it fetches what comes next, which
are taken to be 24; else 256, and the level 2 cache, since of each row it has to notice anew that it
goes on. (adi's forward sweep along rows, n = 1000, with 50 rows of three arrays, one thread: 3.2 ns
for a point with 64 columns, 2.3 with 256, 2.2 with 512. A recurrence that reads 16 rows of one
array: 0.64 with 64, 0.78 with 256.)

Row groups: rows of an array that share a transposed tile.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import TypeAlias

from polygym.codegen.common.loop_annotation import LaneRows, ScalarReplacement, SequentialLoop
from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.loopir import index_arithmetic
from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.ir import Index, Instance, Loop, LoopProgram
from polygym.codegen.loopir.linear_sums import to_linear_sum
from polygym.codegen.loopir.nests import only_instances
from polygym.codegen.transforms.vectorization import element_size, has_masked_form
from polygym.ir.scop import Array, Scop
from polygym.mapping.tuning_parameters import TUNING

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
        height = self.height + rows[-1].shift - rows[0].shift
        blocks = -(-height // self.block_rows)
        return blocks * self.block_rows * (self.columns + span)


def group_rows(rows: Sequence[NearRow], tile_format: TileFormat) -> tuple[tuple[NearRow, ...], ...]:
    """Return the rows of a family, which have different shifts, in runs that share a tile each."""
    ordered = sorted(rows, key=lambda row: row.shift)
    # Of the first k rows: what is turned, the most rows in a run squared and added, and the runs.
    best: list[tuple[int, int, tuple[tuple[NearRow, ...], ...]]] = [(0, 0, ())]
    for end in range(1, len(ordered) + 1):
        options = []
        for start in range(end):
            run = tuple(ordered[start:end])
            turned = tile_format.transposed_elements(run)
            if turned is not None:
                before = best[start]
                options.append((before[0] + turned, before[1] + len(run) ** 2, (*before[2], run)))
        best.append(min(options, key=lambda option: option[:2]))
    return best[-1][2]


RowFamily: TypeAlias = tuple[str, RowKey, SubscriptTerms]
"""An array, a row that others are shifted from, and the column but for a number."""
ShiftedRow: TypeAlias = tuple[RowFamily, int]
"""A family, and by how much the row is shifted."""
RowGroup: TypeAlias = tuple[RowFamily, tuple[int, ...]]
"""A family, and the shifts of what shares a tile there, the least one first."""


class TilePrefill(Enum):
    """Which columns of a tile come from the array before a block runs."""

    NONE = 0
    IN_FRONT = 1  # those that iterations before the block have written
    ALL = 2


@dataclass(frozen=True, slots=True)
class RowTile:
    """A tile for part of an array: the subscripts of its first ``rows``, and the least ``column``.

    Some accesses are shifted by rows, ``extra_rows`` at most: it has so many more rows than lanes
    run. Along the columns ``direction`` is 1 or -1 for each iteration; its accesses are ``span``
    columns apart at most. ``written`` is how far behind the least column the write is, None without
    one.
    """

    array: Array
    rows: tuple[Index, ...]
    extra_rows: int
    column: Index
    direction: int
    span: int
    written: int | None
    prefill: TilePrefill

    def lengths(self, height: int, columns: int) -> tuple[int, int]:
        """Return how many columns and how many rows it has room for: whole lines of a cache."""
        line = CACHE_LINE // self.array.type.size

        def whole(length: int) -> int:
            return -(-length // line) * line

        return whole(columns + self.span), whole(height + self.extra_rows)

    def size(self, height: int, columns: int) -> int:
        """Return how many bytes it takes."""
        return prod(self.lengths(height, columns)) * self.array.type.size


@dataclass(frozen=True, slots=True)
class TileReference:
    """The number of the tile of an access, and the row of the tile that the first lane accesses."""

    tile: int
    row: int


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The loop over ``rows``, the one inside, and what runs there, in ``width`` lanes.

    ``tiles`` are needed for blocks of so many ``columns``; ``reads`` and ``writes`` say where in
    which of them every access of every instance is, None where it stays.
    """

    rows: Loop
    inner: Loop
    instances: tuple[Instance, ...]
    width: int
    columns: int
    tiles: tuple[RowTile, ...]
    reads: tuple[tuple[TileReference | None, ...], ...]
    writes: tuple[TileReference | None, ...]

    @property
    def height(self) -> int:
        """How many rows run together."""
        assert isinstance(self.rows.annotation, LaneRows)
        return self.width * self.rows.annotation.count


@dataclass(frozen=True, slots=True)
class _RowAccess:
    """An access of instance ``instance_number``: its subscripts, and whether it writes."""

    instance_number: int
    array: str
    subscripts: tuple[Index, ...]
    writes: bool


class _UnsupportedAccessError(Exception):
    """Something is accessed in another way."""


def plan_rows(loop: Loop, program: LoopProgram, max_bytes: int) -> RowPlan | None:
    """Return the plan for a loop over rows; None where it cannot run in lanes with tiles.

    These take ``max_bytes`` at most, in bytes, unless the smallest ones take more.
    """
    along, annotation = loop.body, loop.annotation
    assert isinstance(annotation, LaneRows)
    if not isinstance(along, Loop):
        return None
    if not isinstance(along.annotation, SequentialLoop | ScalarReplacement):
        return None
    instances = only_instances(along.body)
    if instances is None or loop.step != 1 or along.step != 1:
        return None
    names = [instance.statement for instance in instances]
    statements = [program.scop.statement(name) for name in names]
    if len({*names}) < len(names) or not program.guarded_statements.isdisjoint(names):
        return None
    if not all(map(has_masked_form, statements)):
        return None
    width = annotation.bits // (8 * max(element_size(program.scop, name) for name in names))
    if width < 2:
        return None
    try:
        return _plan(loop, along, instances, width, program.scop, max_bytes)
    except _UnsupportedAccessError:
        return None


def _plan(
    rows: Loop, along: Loop, instances: tuple[Instance, ...], width: int, scop: Scop, max_bytes: int
) -> RowPlan | None:
    places: dict[ShiftedRow, list[_RowAccess]] = {}
    shifts: dict[str, set[ShiftedRow | None]] = {}
    located: list[tuple[_RowAccess, ShiftedRow | None]] = []
    for touch in _accesses(instances, scop):
        where = _shifted_row(touch, rows.variable, along.variable)
        located.append((touch, where))
        shifts.setdefault(touch.array, set()).add(where)
        if where is not None:
            places.setdefault(where, []).append(touch)
    written = {touch.array for touch, _ in located if touch.writes}
    if not places or any(len(shifts[name]) > 1 for name in written):
        return None
    assert isinstance(rows.annotation, LaneRows)
    height = width * rows.annotation.count
    runs = _row_groups(places, height, scop)
    tiles = tuple(_row_tile(run, places, along.variable, scop) for run in runs)
    where_in = {
        (family, shift): TileReference(number, shift - shifts[0])
        for number, (family, shifts) in enumerate(runs)
        for shift in shifts
    }
    by_instance: list[list[TileReference | None]] = [[] for _ in instances]
    for touch, where in located:
        by_instance[touch.instance_number].append(None if where is None else where_in[where])
    reads = tuple(tuple(accesses[1:]) for accesses in by_instance)
    writes = tuple(accesses[0] for accesses in by_instance)
    columns = _block_columns(tiles, height, max_bytes)
    return RowPlan(rows, along, instances, width, columns, tiles, reads, writes)


def _row_groups(
    places: Mapping[ShiftedRow, Sequence[_RowAccess]], height: int, scop: Scop
) -> tuple[RowGroup, ...]:
    """Return the families and shifts that share a tile, in the order of their first accesses."""
    families: dict[RowFamily, list[NearRow]] = {}
    for (family, shift), touches in places.items():
        offsets = [to_linear_sum(touch.subscripts[-1])[1] for touch in touches]
        families.setdefault(family, []).append(NearRow(shift, min(offsets), max(offsets)))
    row_groups: dict[ShiftedRow, RowGroup] = {}
    for family, near in families.items():
        line = CACHE_LINE // scop.array(family[0]).type.size
        blocks = TUNING.max_block_columns, TUNING.min_block_columns
        for run in group_rows(near, TileFormat(height, line, *blocks)):
            shifts = tuple(row.shift for row in run)
            row_groups |= {(family, shift): (family, shifts) for shift in shifts}
    return tuple(dict.fromkeys(row_groups[where] for where in places))


def _accesses(instances: Sequence[Instance], scop: Scop) -> Iterator[_RowAccess]:
    """Yield the accesses of instances: of each the write first, then its reads."""
    for place, instance in enumerate(instances):
        statement = scop.statement(instance.statement)
        yield _RowAccess(place, statement.write.array, instance.write, True)
        for access, subscripts in zip(statement.reads, instance.reads, strict=True):
            yield _RowAccess(place, access.array, subscripts, False)


def _shifted_row(touch: _RowAccess, rows: str, along: str) -> ShiftedRow | None:
    """Return which tile an access goes to; None where it is contiguous, or the same, for lanes.

    Raises:
        _OtherwiseError: it is neither, and no tile helps.
    """
    steps = index_arithmetic.strides_along(touch.subscripts, rows)
    if steps is None:
        raise _UnsupportedAccessError
    if not any(steps):
        if touch.writes:
            raise _UnsupportedAccessError
        return None
    if not any(steps[:-1]) and steps[-1] == 1:
        return None
    *others, last = touch.subscripts
    is_row = steps[-1] == 0 and index_arithmetic.coefficient(last, along) in (1, -1)
    if not is_row or any(index_arithmetic.depends_on(subscript, along) for subscript in others):
        raise _UnsupportedAccessError
    terms, _ = to_linear_sum(last)
    row, shift = row_key_and_shift(others, rows)
    return (touch.array, row, frozenset(terms.items())), shift


def _row_tile(
    run: RowGroup, places: Mapping[ShiftedRow, Sequence[_RowAccess]], along: str, scop: Scop
) -> RowTile:
    """Return the tile of some accesses, which are in the order in which they run in each row.

    Raises:
        _OtherwiseError: two of them write different columns, or elements are narrow.
    """
    family, shifts = run
    touches = [touch for shift in shifts for touch in places[family, shift]]
    offsets = [to_linear_sum(touch.subscripts[-1])[1] for touch in touches]
    least, span = min(offsets), max(offsets) - min(offsets)
    first = touches[offsets.index(least)]
    direction = index_arithmetic.coefficient(first.subscripts[-1], along)
    array = scop.array(first.array)
    if array.type.size < 4 or direction is None or span > TUNING.min_block_columns:
        raise _UnsupportedAccessError
    written = {offset for offset, touch in zip(offsets, touches, strict=True) if touch.writes}
    if len(written) > 1:
        raise _UnsupportedAccessError
    column, extra = next(iter(written), None), shifts[-1] - shifts[0]
    prefill = _prefill(touches, offsets, column, direction)
    behind = None if column is None else column - least
    start, rows = first.subscripts[-1], touches[0].subscripts[:-1]
    return RowTile(array, rows, extra, start, direction, span, behind, prefill)


def _prefill(
    touches: Sequence[_RowAccess], offsets: Sequence[int], written: int | None, direction: int
) -> TilePrefill:
    """Return what of a tile is read before it is written.

    Within an instance reads come before the write, though the write is listed first.
    """
    writer = next((touch.instance_number for touch in touches if touch.writes), None)
    if written is None or writer is None:
        return TilePrefill.ALL
    literal = TilePrefill.NONE
    for touch, offset in zip(touches, offsets, strict=True):
        behind = direction * (written - offset)
        if touch.writes or (behind == 0 and touch.instance_number > writer):
            continue
        if behind <= 0:
            return TilePrefill.ALL
        literal = TilePrefill.IN_FRONT
    return literal


def _block_columns(tiles: Sequence[RowTile], height: int, max_bytes: int) -> int:
    """Return how many columns a block has, so that there is room for its tiles."""
    most = TUNING.max_block_columns
    if sum(height + tile.extra_rows for tile in tiles) <= TUNING.max_prefetched_rows:
        most, max_bytes = TUNING.prefetched_columns, min(max_bytes, TUNING.lane_level_1_bytes)
    for columns in range(most, TUNING.min_block_columns, -TUNING.min_block_columns):
        if sum(tile.size(height, columns) for tile in tiles) <= max_bytes:
            return columns
    return TUNING.min_block_columns


def least_column(tile: RowTile, along: str, first: Index, last: Index) -> Index:
    """Return the least column of the accesses of a tile, in iterations from first to last."""
    return index_arithmetic.substitute(tile.column, {along: first if tile.direction > 0 else last})
