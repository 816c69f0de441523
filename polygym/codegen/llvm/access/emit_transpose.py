"""A square block of a tile is turned in registers.

Copying a tile element by element costs a load and a store for each. A block of w rows of w elements
(w elements fill 64 bytes) is w loads of vectors, w stores, and between them log₂ w rounds: the
round with the distance s takes the rows i and i + s, for which bit s of i is 0, and exchanges the
halves that stand on the wrong side. With w = 4::

    a b c d     round 2    a b i j     round 1    a e i m
    e f g h        →       e f m n        →       b f j n
    i j k l                c d k l                c g k o
    m n o p                g h o p                d h l p

Blocks at an edge: a row that does not exist is read as the last one that does, columns that do not
exist are masked. What is stored of them goes where nobody reads: rows and columns of tiles are
whole blocks, or there is only one with fewer rows, which alone are stored
(:mod:`polygym.codegen.transforms.tile_packing`).

Sums whose vectors run across rows are turned before they are stored.

Vectors along f hold O[f][x], O[f][x + 1], … after all terms: neighbours in memory stand in
different vectors, and each vector would be stored element by element. The vectors of so many x are
a block, which is turned in registers (:mod:`polygym.codegen.llvm.access.emit_transpose`), and then
every lane is part of a row::

    x:      O[0][x]    O[1][x]    O[2][x] …               f = 0:  O[0][x] O[0][x+1] O[0][x+2]
    x + 1:  O[0][x+1]  O[1][x+1]  O[2][x+1] …      →      f = 1:  O[1][x] O[1][x+1] O[1][x+2]
    x + 2:  O[0][x+2]  O[1][x+2]  O[2][x+2] …             …

Lanes that do not exist are rows that are not stored. Fewer than four vectors are not worth it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from llvmlite import ir

from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.llvm.access.emit_memory import Element
from polygym.codegen.llvm.access.protocols import Cell, Emitter
from polygym.codegen.llvm.core.emit_index import Environment, LaneSet, emit_index
from polygym.codegen.llvm.core.types import I1, I32, I64, LLVM_TYPE, LaneType, i32, i64, splat
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on
from polygym.codegen.loopir.ir import Index, IndexConstant, Instance, Lanes, Loop
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.validate.bounds import WRITE_ACCESS
from polygym.ir.expressions import Load
from polygym.ir.scop import StorageClass
from polygym.mapping.tuning_parameters import TUNING


def emit_transpose(emitter: Emitter, down: Loop, environment: Environment) -> bool:
    """Emit two loops over a block of a tile, if that is what they are; say whether they are."""
    along, copy = down.body, getattr(down.body, "body", None)
    if not (isinstance(along, Loop) and isinstance(copy, Instance)):
        return False
    statement = emitter.statements[copy.statement]
    if not isinstance(statement.body, Load):
        return False  # what fills the tile is computed
    array = emitter.program.scop.array(statement.write.array)
    width = CACHE_LINE // array.type.size
    if width > 16 or copy.lanes is not None:
        return False
    if array.storage_class is not StorageClass.TILE:
        return _emit_transpose_back(emitter, down, along, copy, width, environment)
    height = _stored_rows(emitter, down, along, copy, width)
    if height is None or (statement.name, 0) in emitter.program.unproved_accesses:
        return False
    builder, memory = emitter.builder, emitter.memory
    kind = LaneType(LLVM_TYPE[array.type], width)
    first_down, first_along, last_down, last_along = (
        emit_index(builder, index, environment)
        for index in (down.lower, along.lower, down.upper, along.upper)
    )
    lanes = ir.Constant(LaneType(I64, width), list(range(width)))
    # Where one of the loops does not run, there is nothing to read.
    some = builder.icmp_signed("<=", first_along, last_along)
    rest = builder.select(some, builder.sub(last_down, first_down), i64(-1))
    left = splat(builder, rest, width)
    mask = builder.icmp_signed("<=", lanes, left)
    rows = []
    for number in range(width):
        # Bounds are within 2^62 (check_ranges), and what is added is less than a vector's lanes.
        row = builder.add(first_along, i64(number), flags=["nsw"])
        row = builder.select(builder.icmp_signed("<", row, last_along), row, last_along)
        at = environment | {along.variable: row}
        columns = LaneSet(down.variable, first_down, width, mask)
        read = statement.reads[0].array
        place = Element(read, copy.reads[0], at)
        emitter.prefetch_ahead(statement.name, 0, place, columns)
        rows.append(memory.load_lanes(place, columns))
    for number, row in enumerate(transpose_block(builder, rows, kind)[:height]):
        there = builder.add(first_down, i64(number), flags=["nsw"])
        row_lanes = LaneSet(along.variable, first_along, width, None)
        at = environment | {down.variable: there}
        memory.store_lanes(row, Element(array.name, copy.write, at), row_lanes)
    return True


def _emit_transpose_back(
    emitter: Emitter, down: Loop, along: Loop, copy: Instance, width: int, environment: Environment
) -> bool:
    """Emit two loops that copy a block of a tile back to rows of an array, if that is what they do.

    Where a block has all columns it is turned; elsewhere the loops run as they are.
    """
    statement, unproved = emitter.statements[copy.statement], emitter.program.unproved_accesses
    if emitter.program.scop.array(statement.reads[0].array).storage_class is not StorageClass.TILE:
        return False
    if not {(statement.name, 0), (statement.name, WRITE_ACCESS)}.isdisjoint(unproved):
        return False
    if not _is_transposed(down, along, copy.reads[0], copy.write):
        return False
    builder, memory = emitter.builder, emitter.memory
    past = statement.name in emitter.program.nontemporal_stores
    first_down, first_along, last_down, last_along = (
        emit_index(builder, index, environment)
        for index in (down.lower, along.lower, down.upper, along.upper)
    )
    some = builder.icmp_signed("<=", first_along, last_along)
    length = builder.sub(last_down, first_down)
    full = builder.icmp_signed(">=", length, i64(width - 1))
    with builder.if_else(builder.and_(some, full)) as (turning, otherwise):
        with turning:
            kind = LaneType(
                LLVM_TYPE[emitter.program.scop.array(statement.write.array).type], width
            )
            tile = statement.reads[0].array
            rows = []
            for number in range(width):
                there = builder.add(first_down, i64(number), flags=["nsw"])
                lanes = LaneSet(along.variable, first_along, width, None)
                at = environment | {down.variable: there}
                rows.append(memory.load_lanes(Element(tile, copy.reads[0], at), lanes))
            for number, row in enumerate(transpose_block(builder, rows, kind)):
                there = builder.add(first_along, i64(number), flags=["nsw"])
                columns = LaneSet(down.variable, first_down, width, None)
                at = environment | {along.variable: there}
                with builder.if_then(builder.icmp_signed("<=", there, last_along)):
                    target = Element(statement.write.array, copy.write, at)
                    memory.store_lanes(row, target, columns, past=past)
        with otherwise:
            emitter.emit_counted_loop(down, first_down, last_down, environment)
    return True


def _is_transposed(
    down: Loop, along: Loop, tile: tuple[Index, ...], rows: tuple[Index, ...]
) -> bool:
    """Whether a tile is contiguous along one loop, and an array along the other.

    Of each, one other subscript moves with the other loop. What a thread has for itself may be one
    element, which has no rows.
    """
    if not rows:
        return False
    *others, last = tile
    *outer, contiguous = rows
    return (
        down.step == along.step == 1
        and coefficient(last, along.variable) == 1
        and not depends_on(last, down.variable)
        and [coefficient(index, down.variable) for index in others].count(1) == 1
        and sum(depends_on(index, down.variable) for index in others) == 1
        and not any(depends_on(index, along.variable) for index in others)
        and coefficient(contiguous, down.variable) == 1
        and not depends_on(contiguous, along.variable)
        and not any(depends_on(index, down.variable) for index in outer)
        and any(depends_on(index, along.variable) for index in outer)
    )


def _stored_rows(
    emitter: Emitter, down: Loop, along: Loop, copy: Instance, width: int
) -> int | None:
    """Return how many rows of a block are stored; None if it cannot be turned.

    It must be contiguous along one loop where it is read, along the other in the tile, whose rows
    and columns are whole blocks, or less than one altogether in a column.
    """
    *others, last = copy.write
    *outer, contiguous = copy.reads[0]
    lengths = dict(
        zip((a.name for a in emitter.program.scop.arrays), emitter.program.extents, strict=True)
    )[emitter.statements[copy.statement].write.array]
    rows, columns = (
        [
            length.value
            for index, length in zip(copy.write, lengths, strict=True)
            if depends_on(index, loop.variable) and isinstance(length, IndexConstant)
        ]
        for loop in (down, along)
    )
    if len(rows) != 1 or len(columns) != 1 or columns[0] % width:
        return None
    height = min(rows[0], width)
    whole = rows[0] % height == 0
    length = constant_difference(down.upper, down.lower)
    if length is not None and length < height:
        height, whole = length + 1, True  # rows that nobody needs
    fits = (
        whole
        and down.step == along.step == 1
        and coefficient(last, along.variable) == 1
        and not depends_on(last, down.variable)
        and sum(depends_on(index, down.variable) for index in others) == 1
        and not any(depends_on(index, along.variable) for index in others)
        and coefficient(contiguous, down.variable) == 1
        and not depends_on(contiguous, along.variable)
        and not any(depends_on(index, down.variable) for index in outer)
    )
    return height if fits else None


def transpose_block(builder: ir.IRBuilder, rows: list[Any], kind: Any) -> list[Any]:
    """Return the columns of a square of vectors."""
    width = len(rows)
    distance = width // 2
    while distance:
        # Lane numbers from width on are those of the second vector.
        low = [k if not k & distance else width + k - distance for k in range(width)]
        high = [k + distance if not k & distance else width + k for k in range(width)]
        for number in range(width):
            if number & distance:
                continue
            pair = rows[number], rows[number + distance]
            for place, order in ((number, low), (number + distance, high)):
                lanes = ir.Constant(ir.VectorType(I32, width), order)
                rows[place] = builder.shuffle_vector(*pair, lanes)
                rows[place].type = kind
        distance //= 2
    return rows


Column: TypeAlias = tuple[Cell, ...]


def group_columns(cells: Sequence[Cell]) -> list[Column]:
    """Return groups of cells that are neighbours in every lane, in the order of their places."""
    left = [cell for cell in cells if _has_row_lanes(cell)]
    columns: list[Column] = []
    while left:
        first = left[0]
        places = {
            shift: cell for cell in left if (shift := _column_offset(cell, first)) is not None
        }
        left = [cell for cell in left if cell not in places.values()]
        run: list[Cell] = []
        for shift in sorted(places):
            if run and (shift - 1 not in places or len(run) == _element_width(first)):
                columns.append(tuple(run))
                run = []
            run.append(places[shift])
        columns.append(tuple(run))
    return [column for column in columns if len(column) >= TUNING.min_transposed_columns]


def emit_column(
    emitter: Emitter, column: Column, values: Mapping[Cell, Any], environment: Environment
) -> None:
    """Store the cells of a group."""
    (array, subscripts, lanes), builder = column[0], emitter.builder
    assert lanes is not None
    there = emitter.lane_set(lanes, environment)
    kind, width = values[column[0]].type, lanes.width
    nothing = ir.Constant(kind, ir.Undefined)
    rows = [values[cell] for cell in column] + [nothing] * (width - len(column))
    for number, row in enumerate(transpose_block(builder, rows, kind)[: _max_lanes(lanes)]):
        at = environment | {lanes.variable: there.lane(builder, number)}
        mask = ir.Constant(LaneType(I1, width), [int(k < len(column)) for k in range(width)])
        if there.mask is not None and not isinstance(lanes.active, IndexConstant):
            exists = builder.extract_element(there.mask, i32(number))
            mask = builder.select(exists, mask, ir.Constant(LaneType(I1, width), None))
        emitter.memory.store_part(row, Element(array, subscripts, at), mask)


def _max_lanes(lanes: Lanes) -> int:
    """Return how many lanes exist at most."""
    match lanes.active:
        case IndexConstant(count):
            return min(count, lanes.width)
        case _:
            return lanes.width


def _element_width(cell: Cell) -> int:
    lanes = cell[2]
    return 1 if lanes is None else lanes.width


def _has_row_lanes(cell: Cell) -> bool:
    """Whether lanes are rows: subscripts but the last change from lane to lane."""
    _, subscripts, lanes = cell
    if lanes is None or not 1 < lanes.width <= TUNING.max_transposed_columns or len(subscripts) < 2:
        return False
    steps = [coefficient(subscript, lanes.variable) for subscript in subscripts]
    return None not in steps and steps[-1] == 0 and any(steps)


def _column_offset(cell: Cell, first: Cell) -> int | None:
    """Return how far behind another a cell stands in the same rows; None if in others."""
    array, subscripts, lanes = cell
    other, before, same = first
    if (array, subscripts[:-1], lanes) != (other, before[:-1], same):
        return None
    return constant_difference(subscripts[-1], before[-1])
