"""Elements as instances write them: loaded, stored, and whether two are different ones."""

from __future__ import annotations

from typing import Any

from polygym.codegen.llvm.access.protocols import AccessEmitter, Cell
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on
from polygym.codegen.loopir.ir import Index, Instance, Lanes
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.ir.scop import Statement


def cell_of(statement: Statement, instance: Instance) -> Cell:
    """Return what an instance of a statement writes."""
    return (statement.write.array, instance.write, instance.lanes)


def load_cell(emitter: AccessEmitter, cell: Cell, environment: Environment) -> Any:
    """Return what a cell holds: a number, or one for every lane."""
    array, subscripts, lanes = cell
    if lanes is None:
        return emitter.memory.load(array, subscripts, environment)
    there = emitter.lane_set(lanes, environment)
    return emitter.memory.load_lanes(array, subscripts, environment, there)


def store_cell(emitter: AccessEmitter, cell: Cell, value: Any, environment: Environment) -> None:
    """Store a value in a cell."""
    array, subscripts, lanes = cell
    if lanes is None:
        emitter.memory.store(value, array, subscripts, environment)
        return
    there = emitter.lane_set(lanes, environment)
    emitter.memory.store_lanes(value, array, subscripts, environment, there)


def are_distinct(cell: Cell, other: Cell, advancing: str = "") -> bool:
    """Whether two cells are known to be different elements, whatever the lanes of each are.

    Counters have the same values for both, but for ``advancing``, which may have any.
    """
    if cell[0] != other[0]:
        return True
    pairs = zip(cell[1], other[1], strict=True)
    return any(
        _subscripts_differ(mine, their, cell[2], other[2])
        for mine, their in pairs
        if not (depends_on(mine, advancing) or depends_on(their, advancing))
    )


def _subscripts_differ(
    left: Index, right: Index, lanes: Lanes | None, right_lanes: Lanes | None
) -> bool:
    """Whether two subscripts have no value in common.

    Of A[i][8c + l] and A[i + 1][8c + l], lanes l, the first ones have none, and of A[i][l] with
    lanes from 8c on and from 8c + 8 on the second ones.
    """
    if lanes is None or right_lanes is None:
        return lanes is right_lanes and bool(constant_difference(left, right))
    if (lanes.variable, lanes.width) != (right_lanes.variable, right_lanes.width):
        return False
    step, shift = (
        coefficient(left, lanes.variable),
        constant_difference(lanes.base, right_lanes.base),
    )
    if step == 0:
        return bool(constant_difference(left, right))
    return bool(step) and left == right and shift is not None and abs(shift) >= lanes.width
