"""The emitter of a function as its parts see it, and elements as instances write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from llvmlite import ir

from polygym.codegen.analysis.loop_data_bounds import KnownConditions
from polygym.codegen.common.reductions import MinMaxUpdate
from polygym.codegen.llvm.access.emit_memory import Element, MemoryEmitter
from polygym.codegen.llvm.core.emit_index import Environment, LaneSet
from polygym.codegen.llvm.core.runtime_checks import SubscriptChecks
from polygym.codegen.llvm.core.types import I64, i64
from polygym.codegen.llvm.expressions.emit_expression import ExpressionEmitter
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on
from polygym.codegen.loopir.ir import Index, Instance, Lanes, Loop, LoopProgram, Node
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.ir.scop import Statement

Cell: TypeAlias = tuple[str, tuple[Index, ...], Lanes | None]
"""What an instance writes: the array, the subscripts, the lanes."""
CellGroup: TypeAlias = tuple[Cell, ...]
"""Cells that are written together, or not at all."""


class Emitter(Protocol):
    """The emitter of a function, as the emitters of single loops and accesses use it.

    ``held`` are the values of cells in registers, ``written`` the conditions under which groups of
    them were written, ``carried`` the values of earlier iterations, ``results`` those of this one.
    """

    module: ir.Module
    builder: ir.IRBuilder
    program: LoopProgram
    parameters: Environment
    storage: Mapping[str, Any]
    extents: Mapping[str, tuple[Any, ...]]
    checks: SubscriptChecks | None
    memory: MemoryEmitter
    statements: Mapping[str, Statement]
    held: dict[Cell, Any]
    written: dict[CellGroup, Any]
    min_max_keys: dict[Cell, MinMaxUpdate]
    carried: dict[Cell, Any]
    results: dict[Cell, Any]
    thread_count: Any
    known_conditions: KnownConditions

    def lane_set(self, lanes: Lanes, environment: Environment) -> LaneSet:
        """Return the lanes of an instance, and which of them run."""
        ...

    def expressions(
        self, instance: Instance, environment: Environment, lanes: LaneSet | None
    ) -> ExpressionEmitter:
        """Return the emitter of an instance's expressions."""
        ...

    def emit_node(self, node: Node, environment: Environment) -> None:
        """Emit loops, guards and instances."""
        ...

    def prefetch_ahead(self, statement: str, read: int, place: Element, lanes: LaneSet) -> None:
        """Prefetch the element that a read needs some iterations later, where that is asked for."""
        ...

    def emit_counted_loop(
        self, loop: Loop, lower: Any, upper: Any, environment: Environment
    ) -> None:
        """Emit a loop whose bounds are known values."""
        ...

    def for_function(
        self,
        builder: ir.IRBuilder,
        parameters: Environment,
        storage: Mapping[str, Any],
        extents: Mapping[str, tuple[Any, ...]],
        checks: SubscriptChecks | None,
    ) -> Emitter:
        """Return an emitter of another function of the module."""
        ...


@contextmanager
def bottom_tested_loop(
    builder: ir.IRBuilder, loop: Loop, lower: Any, upper: Any
) -> Iterator[ir.PhiInstr]:
    """Emit a loop that runs at least once around the body; its counter is given."""
    before = builder.block
    body = builder.append_basic_block(f"{loop.variable}.body")
    after = builder.append_basic_block(f"{loop.variable}.after")
    builder.branch(body)
    builder.position_at_end(body)
    counter = builder.phi(I64, name=loop.variable)
    counter.add_incoming(lower, before)
    yield counter
    # No wrap, as in any other loop (emit_function).
    following = builder.add(counter, i64(loop.step), flags=["nsw"])
    counter.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<=", following, upper), body, after)
    builder.position_at_end(after)


@contextmanager
def top_tested_loop(
    builder: ir.IRBuilder, variable: str, lower: Any, upper: Any, step: int
) -> Iterator[ir.PhiInstr]:
    """Emit a loop between two values around the body; its counter is given."""
    before = builder.block
    header = builder.append_basic_block(f"{variable}.header")
    body = builder.append_basic_block(f"{variable}.body")
    after = builder.append_basic_block(f"{variable}.after")
    builder.branch(header)
    builder.position_at_end(header)
    counter = builder.phi(I64, name=variable)
    counter.add_incoming(lower, before)
    builder.cbranch(builder.icmp_signed("<=", counter, upper), body, after)
    builder.position_at_end(body)
    yield counter
    # No wrap: the counter is at most its upper bound, within 2^62 (check_ranges), and a step is
    # the width of a strip or of a tile.
    following = builder.add(counter, i64(step), flags=["nsw"])
    counter.add_incoming(following, builder.block)
    builder.branch(header)
    builder.position_at_end(after)


def cell_of(statement: Statement, instance: Instance) -> Cell:
    """Return what an instance of a statement writes."""
    return (statement.write.array, instance.write, instance.lanes)


def load_cell(emitter: Emitter, cell: Cell, environment: Environment) -> Any:
    """Return what a cell holds: a number, or one for every lane."""
    array, subscripts, lanes = cell
    place = Element(array, subscripts, environment)
    if lanes is None:
        return emitter.memory.load(place)
    return emitter.memory.load_lanes(place, emitter.lane_set(lanes, environment))


def store_cell(emitter: Emitter, cell: Cell, value: Any, environment: Environment) -> None:
    """Store a value in a cell."""
    array, subscripts, lanes = cell
    place = Element(array, subscripts, environment)
    if lanes is None:
        emitter.memory.store(value, place)
        return
    emitter.memory.store_lanes(value, place, emitter.lane_set(lanes, environment))


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
    step = coefficient(left, lanes.variable)
    shift = constant_difference(lanes.base, right_lanes.base)
    if step == 0:
        return bool(constant_difference(left, right))
    return bool(step) and left == right and shift is not None and abs(shift) >= lanes.width
