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
(:mod:`polygym.compiler.codegen.loops.tile_pack`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polygym.compiler.codegen.common.packable import LINE
from polygym.compiler.codegen.llvm.emit_index import Environment, emit_index
from polygym.compiler.codegen.llvm.emitting import Accessing, Copying
from polygym.compiler.codegen.llvm.kinds import I32, I64, LLVM_TYPE, LaneType, splat
from polygym.compiler.codegen.llvm.lane_set import LaneSet
from polygym.compiler.codegen.loops.check_bounds import WRITE
from polygym.compiler.codegen.loops.index import coefficient, mentions
from polygym.compiler.codegen.loops.ir import Index, Instance, Loop, Number
from polygym.compiler.codegen.loops.linear import difference
from polygym.compiler.ir.expr import Load
from polygym.compiler.ir.scop import Storage


def emit_turn(emitter: Copying, down: Loop, environment: Environment) -> bool:
    """Emit two loops over a block of a tile, if that is what they are; say whether they are."""
    along, copy = down.body, getattr(down.body, "body", None)
    if not (isinstance(along, Loop) and isinstance(copy, Instance)):
        return False
    statement = emitter.statements[copy.statement]
    if not isinstance(statement.body, Load):
        return False  # what fills the tile is computed
    array = emitter.program.scop.array(statement.write.array)
    width = LINE // array.type.size
    if width > 16 or copy.lanes is not None:
        return False
    if array.storage is not Storage.TILE:
        return _emit_turn_back(emitter, down, along, copy, width, environment)
    height = _height(emitter, down, along, copy, width)
    if height is None or (statement.name, 0) in emitter.program.unproved:
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
    rest = builder.select(some, builder.sub(last_down, first_down), ir.Constant(I64, -1))
    left = splat(builder, rest, width)
    mask = builder.icmp_signed("<=", lanes, left)
    rows = []
    for number in range(width):
        # Bounds are within 2^62 (check_ranges), and what is added is less than a vector's lanes.
        row = builder.add(first_along, ir.Constant(I64, number), flags=["nsw"])
        row = builder.select(builder.icmp_signed("<", row, last_along), row, last_along)
        at = environment | {along.variable: row}
        columns = LaneSet(down.variable, first_down, width, mask)
        read = statement.reads[0].array
        emitter.ask_ahead(statement.name, 0, copy.reads[0], at, columns)
        rows.append(memory.load_lanes(read, copy.reads[0], at, columns))
    for number, row in enumerate(turned(builder, rows, kind)[:height]):
        there = builder.add(first_down, ir.Constant(I64, number), flags=["nsw"])
        row_lanes = LaneSet(along.variable, first_along, width, None)
        at = environment | {down.variable: there}
        memory.store_lanes(row, array.name, copy.write, at, row_lanes)
    return True


def _emit_turn_back(
    emitter: Copying,
    down: Loop,
    along: Loop,
    copy: Instance,
    width: int,
    environment: Environment,
) -> bool:
    """Emit two loops that copy a block of a tile back to rows of an array, if that is what they do.

    Where a block has all columns it is turned; elsewhere the loops run as they are.
    """
    statement, unproved = emitter.statements[copy.statement], emitter.program.unproved
    if emitter.program.scop.array(statement.reads[0].array).storage is not Storage.TILE:
        return False
    if not {(statement.name, 0), (statement.name, WRITE)}.isdisjoint(unproved):
        return False
    if not _is_turned(down, along, copy.reads[0], copy.write):
        return False
    builder, memory = emitter.builder, emitter.memory
    past = statement.name in emitter.program.past
    first_down, first_along, last_down, last_along = (
        emit_index(builder, index, environment)
        for index in (down.lower, along.lower, down.upper, along.upper)
    )
    some = builder.icmp_signed("<=", first_along, last_along)
    length = builder.sub(last_down, first_down)
    full = builder.icmp_signed(">=", length, ir.Constant(I64, width - 1))
    with builder.if_else(builder.and_(some, full)) as (turning, otherwise):
        with turning:
            kind = LaneType(
                LLVM_TYPE[emitter.program.scop.array(statement.write.array).type], width
            )
            tile = statement.reads[0].array
            rows = []
            for number in range(width):
                there = builder.add(first_down, ir.Constant(I64, number), flags=["nsw"])
                lanes = LaneSet(along.variable, first_along, width, None)
                at = environment | {down.variable: there}
                rows.append(memory.load_lanes(tile, copy.reads[0], at, lanes))
            for number, row in enumerate(turned(builder, rows, kind)):
                there = builder.add(first_along, ir.Constant(I64, number), flags=["nsw"])
                columns = LaneSet(down.variable, first_down, width, None)
                at = environment | {along.variable: there}
                with builder.if_then(builder.icmp_signed("<=", there, last_along)):
                    memory.store_lanes(
                        row, statement.write.array, copy.write, at, columns, past=past
                    )
        with otherwise:
            emitter.counted(down, first_down, last_down, environment)
    return True


def _is_turned(down: Loop, along: Loop, tile: tuple[Index, ...], rows: tuple[Index, ...]) -> bool:
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
        and not mentions(last, down.variable)
        and [coefficient(index, down.variable) for index in others].count(1) == 1
        and sum(mentions(index, down.variable) for index in others) == 1
        and not any(mentions(index, along.variable) for index in others)
        and coefficient(contiguous, down.variable) == 1
        and not mentions(contiguous, along.variable)
        and not any(mentions(index, down.variable) for index in outer)
        and any(mentions(index, along.variable) for index in outer)
    )


def _height(emitter: Accessing, down: Loop, along: Loop, copy: Instance, width: int) -> int | None:
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
            if mentions(index, loop.variable) and isinstance(length, Number)
        ]
        for loop in (down, along)
    )
    if len(rows) != 1 or len(columns) != 1 or columns[0] % width:
        return None
    height = min(rows[0], width)
    whole = rows[0] % height == 0
    length = difference(down.upper, down.lower)
    if length is not None and length < height:
        height, whole = length + 1, True  # rows that nobody needs
    fits = (
        whole
        and down.step == along.step == 1
        and coefficient(last, along.variable) == 1
        and not mentions(last, down.variable)
        and sum(mentions(index, down.variable) for index in others) == 1
        and not any(mentions(index, along.variable) for index in others)
        and coefficient(contiguous, down.variable) == 1
        and not mentions(contiguous, along.variable)
        and not any(mentions(index, down.variable) for index in outer)
    )
    return height if fits else None


def turned(builder: ir.IRBuilder, rows: list[Any], kind: Any) -> list[Any]:
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
