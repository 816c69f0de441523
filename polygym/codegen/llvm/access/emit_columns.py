"""Sums whose vectors run across rows are transposed before they are stored.

Vectors along f hold O[f][x], O[f][x + 1], … after all terms: neighbours in memory stand in
different vectors, and each vector would be stored element by element. The vectors of so many x are
a block, which is transposed in registers (:mod:`polygym.codegen.llvm.access.emit_transpose`). Then
every lane is part of a row::

    x:      O[0][x]    O[1][x]    O[2][x] …               f = 0:  O[0][x] O[0][x+1] O[0][x+2]
    x + 1:  O[0][x+1]  O[1][x+1]  O[2][x+1] …      →      f = 1:  O[1][x] O[1][x+1] O[1][x+2]
    x + 2:  O[0][x+2]  O[1][x+2]  O[2][x+2] …             …

Lanes that do not exist are rows that are not stored. Fewer than four vectors are not worth it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from llvmlite import ir

from polygym.codegen.llvm.access.emit_memory import Element
from polygym.codegen.llvm.access.emit_transpose import transpose_block
from polygym.codegen.llvm.access.protocols import Cell, Emitter
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.llvm.core.types import I1, LaneType, i32
from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.ir import IndexConstant, Lanes
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.mapping.tuning_parameters import TUNING

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
