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
"""

from itertools import product
from typing import Any

from llvmlite import ir

from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.llvm.access.emit_memory import Element
from polygym.codegen.llvm.access.protocols import Emitter
from polygym.codegen.llvm.core.emit_index import Environment, LaneSet, emit_index
from polygym.codegen.llvm.core.source_builder import SourceBuilder
from polygym.codegen.llvm.core.types import I32, I64, LLVM_TYPE, LaneType, i64, splat
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on
from polygym.codegen.loopir.ir import Index, IndexConstant, Instance, Loop
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.validate.bounds import WRITE_ACCESS
from polygym.ir.expressions import Load
from polygym.ir.scop import StorageClass
from polygym.ir.types import ScalarType
from polygym.mapping.machine import this_machine


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
    part = _lanes_of_parts(emitter, array.type, width)
    kind = LaneType(LLVM_TYPE[array.type], part)
    first_down, first_along, last_down, last_along = (
        emit_index(builder, index, environment)
        for index in (down.lower, along.lower, down.upper, along.upper)
    )
    lanes = ir.Constant(LaneType(I64, part), list(range(part)))
    # Where one of the loops does not run, there is nothing to read.
    some = builder.icmp_signed("<=", first_along, last_along)
    rest = builder.select(some, builder.sub(last_down, first_down), i64(-1))
    for above, beside in product(range(0, width, part), range(0, height, part)):
        left = splat(builder, _plus(builder, rest, -beside), part)
        mask = builder.icmp_signed("<=", lanes, left)
        columns = LaneSet(down.variable, _plus(builder, first_down, beside), part, mask)
        rows = []
        for number in range(above, above + part):
            # Bounds are within 2^62 (check_ranges), and less than a vector's lanes is added.
            row = builder.add(first_along, i64(number), flags=["nsw"])
            row = builder.select(builder.icmp_signed("<", row, last_along), row, last_along)
            at = environment | {along.variable: row}
            place = Element(statement.reads[0].array, copy.reads[0], at)
            if not beside:
                emitter.prefetch_ahead(statement.name, 0, place, columns)
            rows.append(memory.load_lanes(place, columns))
        row_lanes = LaneSet(along.variable, _plus(builder, first_along, above), part, None)
        for number, row in enumerate(transpose_block(builder, rows, kind)[: height - beside]):
            there = builder.add(first_down, i64(beside + number), flags=["nsw"])
            at = environment | {down.variable: there}
            memory.store_lanes(row, Element(array.name, copy.write, at), row_lanes)
    return True


def _lanes_of_parts(emitter: Emitter, kind: ScalarType, width: int) -> int:
    """Return how many rows and columns of a block are transposed at once.

    LLVM splits vectors that are wider than registers: a block is one part. gcc takes such a vector
    apart, element by element: the parts of printed C have no wider ones.
    """
    if not isinstance(emitter.builder, SourceBuilder):
        return width
    bits = emitter.program.mapping.vector_bits_on(this_machine().vector_bits)
    return max(min(width, bits // (8 * kind.size)), 2)


def _plus(builder: ir.IRBuilder, value: Any, number: int) -> Any:
    """Return the sum of a value within 2^62 and a small number."""
    return builder.add(value, i64(number), flags=["nsw"]) if number else value


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
            element = emitter.program.scop.array(statement.write.array).type
            part = _lanes_of_parts(emitter, element, width)
            kind, tile = LaneType(LLVM_TYPE[element], part), statement.reads[0].array
            for above, beside in product(range(0, width, part), repeat=2):
                lanes = LaneSet(along.variable, _plus(builder, first_along, above), part, None)
                rows = []
                for number in range(beside, beside + part):
                    there = builder.add(first_down, i64(number), flags=["nsw"])
                    at = environment | {down.variable: there}
                    rows.append(memory.load_lanes(Element(tile, copy.reads[0], at), lanes))
                columns = LaneSet(down.variable, _plus(builder, first_down, beside), part, None)
                for number, row in enumerate(transpose_block(builder, rows, kind), above):
                    there = builder.add(first_along, i64(number), flags=["nsw"])
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
