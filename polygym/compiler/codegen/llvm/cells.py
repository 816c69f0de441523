"""Elements as instances write them: loaded, stored, and whether two are different ones."""

from __future__ import annotations

from typing import Any

from polygym.compiler.codegen.llvm.emit_index import Environment
from polygym.compiler.codegen.llvm.emitting import Accessing, Cell
from polygym.compiler.codegen.loops.index import coefficient, mentions
from polygym.compiler.codegen.loops.ir import Index, Instance, Lanes
from polygym.compiler.codegen.loops.linear import difference
from polygym.compiler.ir.scop import Statement


def cell_of(statement: Statement, instance: Instance) -> Cell:
    """Return what an instance of a statement writes."""
    return (statement.write.array, instance.write, instance.lanes)


def load_cell(emitter: Accessing, cell: Cell, environment: Environment) -> Any:
    """Return what a cell holds: a number, or one for every lane."""
    array, subscripts, lanes = cell
    if lanes is None:
        return emitter.memory.load(array, subscripts, environment)
    there = emitter.lane_set(lanes, environment)
    return emitter.memory.load_lanes(array, subscripts, environment, there)


def store_cell(emitter: Accessing, cell: Cell, value: Any, environment: Environment) -> None:
    """Store a value in a cell."""
    array, subscripts, lanes = cell
    if lanes is None:
        emitter.memory.store(value, array, subscripts, environment)
        return
    there = emitter.lane_set(lanes, environment)
    emitter.memory.store_lanes(value, array, subscripts, environment, there)


def are_apart(cell: Cell, other: Cell, moving: str = "") -> bool:
    """Whether two cells are known to be different elements, whatever the lanes of each are.

    Counters have the same values for both, but for ``moving``, which may have any.
    """
    if cell[0] != other[0]:
        return True
    pairs = zip(cell[1], other[1], strict=True)
    return any(
        _differ(mine, their, cell[2], other[2])
        for mine, their in pairs
        if not (mentions(mine, moving) or mentions(their, moving))
    )


def _differ(mine: Index, their: Index, lanes: Lanes | None, theirs: Lanes | None) -> bool:
    """Whether two subscripts have no value in common.

    Of A[i][8c + l] and A[i + 1][8c + l], lanes l, the first ones have none, and of A[i][l] with
    lanes from 8c on and from 8c + 8 on the second ones.
    """
    if lanes is None or theirs is None:
        return lanes is theirs and bool(difference(mine, their))
    if (lanes.variable, lanes.width) != (theirs.variable, theirs.width):
        return False
    step, shift = coefficient(mine, lanes.variable), difference(lanes.base, theirs.base)
    if step == 0:
        return bool(difference(mine, their))
    return bool(step) and mine == their and shift is not None and abs(shift) >= lanes.width
