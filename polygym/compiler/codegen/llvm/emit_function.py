"""One function's loops, guards and instances.

Loops are tested at the top; LLVM rotates them. Three annotations are carried out here:

* a parallel loop becomes a function of its own
  (:mod:`polygym.compiler.codegen.llvm.emit_parallel`);
* a loop that *holds* elements in registers loads them before and stores them after
  (:mod:`polygym.compiler.codegen.llvm.emit_hold`);
* instances with lanes compute vectors.

Subscripts that are computed are checked (:mod:`polygym.compiler.codegen.llvm.emit_gather`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from llvmlite import ir

from polygym.compiler.codegen.common.loop_annotation import Hold, LoopAnnotation, Parallel
from polygym.compiler.codegen.common.reductions import Extreme
from polygym.compiler.codegen.llvm.cells import are_apart, cell_of
from polygym.compiler.codegen.llvm.contract import Broken
from polygym.compiler.codegen.llvm.emit_carry import emit_carrying
from polygym.compiler.codegen.llvm.emit_expression import ExpressionEmitter
from polygym.compiler.codegen.llvm.emit_extreme import kept
from polygym.compiler.codegen.llvm.emit_gather import Checks, Place, emit_gather, emit_update
from polygym.compiler.codegen.llvm.emit_hold import emit_block, emit_holding
from polygym.compiler.codegen.llvm.emit_index import Environment, emit_condition, emit_index
from polygym.compiler.codegen.llvm.emit_memory import Memory
from polygym.compiler.codegen.llvm.emit_parallel import emit_parallel
from polygym.compiler.codegen.llvm.emit_turn import emit_turn
from polygym.compiler.codegen.llvm.emitting import Cell, Group
from polygym.compiler.codegen.llvm.kinds import I1, I64, LaneType, splat
from polygym.compiler.codegen.llvm.lane_set import LaneSet, lane_values
from polygym.compiler.codegen.llvm.notes import WatchfulBuilder
from polygym.compiler.codegen.loops.check_bounds import WRITE
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
)
from polygym.compiler.ir.expr import Gather, Update, loads


@dataclass
class FunctionEmitter:
    """Emits nodes into one function.

    ``checks`` notes subscripts out of range, where some are computed. ``held`` maps the cells that
    live in registers just now to their values; ``written`` says of those that a loop has loaded
    whether an instance has written them since. Those in ``keyed`` are extremes, and have keys for
    values. Elements in ``carried`` have values of earlier iterations, and what this one writes of
    them is noted in ``results``. Those in ``fresh`` have gone past the caches, with no loop and no
    condition between.
    """

    module: ir.Module
    program: LoopProgram
    builder: ir.IRBuilder
    parameters: Environment
    storage: Mapping[str, Any]
    extents: Mapping[str, tuple[Any, ...]]
    checks: Checks | None = None
    held: dict[Cell, Any] = field(default_factory=dict)
    written: dict[Group, Any] = field(default_factory=dict)
    keyed: dict[Cell, Extreme] = field(default_factory=dict)
    carried: dict[Cell, Any] = field(default_factory=dict)
    fresh: dict[Cell, Any] = field(default_factory=dict)
    results: dict[Cell, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare what every instance needs."""
        scop = self.program.scop
        watched = isinstance(self.builder, WatchfulBuilder)
        notes = None if self.checks is None else self.checks.notes
        self.memory = Memory(
            self.module,
            self.builder,
            scop,
            self.storage,
            self.extents,
            notes,
            watched,
            self.program.exact,
        )
        self.statements = {statement.name: statement for statement in scop.statements}
        self.ahead = {(one.statement, one.read): one for one in self.program.ahead}

    def elsewhere(
        self,
        builder: ir.IRBuilder,
        parameters: Environment,
        storage: Mapping[str, Any],
        extents: Mapping[str, tuple[Any, ...]],
        checks: Checks | None,
    ) -> FunctionEmitter:
        """Return the emitter of another function, which begins at a builder."""
        return FunctionEmitter(
            self.module, self.program, builder, parameters, storage, extents, checks
        )

    def node(self, node: Node, environment: Environment) -> None:
        """Emit a node at the builder's place, and leave the builder after it."""
        match node:
            case Block():
                emit_block(self, node, environment)
            case Loop():
                self.fresh.clear()  # the next iteration, too, has to see what this one writes
                self._loop(node, environment)
                self.fresh.clear()
            case Guard():
                self.fresh.clear()
                self._guard(node, environment)
                self.fresh.clear()
            case Instance():
                self._instance(node, environment)
            case _:
                assert_never(node)

    def _loop(self, loop: Loop, environment: Environment) -> None:
        builder = self.builder
        if loop.lower == loop.upper:
            lower = emit_index(builder, loop.lower, environment)
            self.node(loop.body, environment | {loop.variable: lower})
            return
        if self._is_shared(loop.annotation):
            emit_parallel(self, loop, environment)
            return
        if emit_turn(self, loop, environment):
            return
        lower = emit_index(builder, loop.lower, environment)
        upper = emit_index(builder, loop.upper, environment)
        self.counted(loop, lower, upper, environment)

    def _is_shared(self, annotation: LoopAnnotation) -> bool:
        """Whether a loop runs in threads; with sums that wait, at known sizes only."""
        if not isinstance(annotation, Parallel) or self.program.threads == 1:
            return False
        return not annotation.sums or self.program.sizes is not None

    def counted(self, loop: Loop, lower: Any, upper: Any, environment: Environment) -> None:
        """Emit a loop whose bounds are values already."""
        if isinstance(loop.annotation, Hold) and emit_holding(
            self, loop, lower, upper, environment
        ):
            return
        if emit_carrying(self, loop, lower, upper, environment):
            return
        builder = self.builder
        before = builder.block
        header = builder.append_basic_block(f"{loop.variable}.header")
        body = builder.append_basic_block(f"{loop.variable}.body")
        after = builder.append_basic_block(f"{loop.variable}.after")
        builder.branch(header)
        builder.position_at_end(header)
        counter = builder.phi(I64, name=loop.variable)
        counter.add_incoming(lower, before)
        builder.cbranch(builder.icmp_signed("<=", counter, upper), body, after)
        builder.position_at_end(body)
        self.node(loop.body, environment | {loop.variable: counter})
        # No wrap: the counter is at most its upper bound, within 2^62 (check_ranges), and a step is
        # the width of a strip or of a tile.
        following = builder.add(counter, ir.Constant(I64, loop.step), flags=["nsw"])
        counter.add_incoming(following, builder.block)
        builder.branch(header)
        builder.position_at_end(after)

    def lane_set(self, lanes: Lanes, environment: Environment) -> LaneSet:
        """Return the lanes of an instance as values."""
        builder = self.builder
        base = emit_index(builder, lanes.base, environment)
        mask = None
        if lanes.active is not None:
            active = emit_index(builder, lanes.active, environment)
            count = ir.Constant(LaneType(I64, lanes.width), list(range(lanes.width)))
            wide = splat(builder, active, lanes.width)
            mask = builder.icmp_signed("<", count, wide)
            if isinstance(builder, WatchfulBuilder) and self.checks is not None:
                none = builder.icmp_signed("<", active, ir.Constant(I64, 1))
                self.checks.notes.broken(builder, Broken.EMPTY, none)
        return LaneSet(lanes.variable, base, lanes.width, mask)

    def _guard(self, guard: Guard, environment: Environment) -> None:
        builder = self.builder
        condition = emit_condition(builder, guard.condition, environment)
        if guard.otherwise is None:
            with builder.if_then(condition):
                self.node(guard.then, environment)
            return
        with builder.if_else(condition) as (then, otherwise):
            with then:
                self.node(guard.then, environment)
            with otherwise:
                self.node(guard.otherwise, environment)

    def _instance(self, instance: Instance, environment: Environment) -> None:
        """Emit one statement instance: evaluate the body, store the result."""
        statement = self.statements[instance.statement]
        cell = cell_of(statement, instance)
        lanes = None if instance.lanes is None else self.lane_set(instance.lanes, environment)
        emitter = self._expressions(instance, environment, lanes)
        if isinstance(statement.body, Update):
            assert lanes is None
            place = Place(statement, instance, 0, environment, None)
            self._update(statement.body, emitter, place)
            return
        if cell in self.keyed:
            extreme = self.keyed[cell]
            number = emitter.emit(extreme.operand, extreme.start)
            result = kept(self.builder, self.held[cell], number, extreme.is_maximum)
        else:
            result = emitter.emit(statement.body)
        if cell in self.results:
            self.results[cell] = result
        if cell not in self.held:
            self._store(cell, result, statement.name, environment, lanes)
            return
        self.held[cell] = result
        for group in self.written:
            if cell in group:
                self.written[group] = ir.Constant(I1, 1)

    def _expressions(
        self, instance: Instance, environment: Environment, lanes: LaneSet | None
    ) -> ExpressionEmitter:
        """Return what emits expressions of an instance's body."""
        statement = self.statements[instance.statement]

        def gather(number: int, node: Gather, values: list[Any]) -> Any:
            assert self.checks is not None
            place = Place(statement, instance, number, environment, lanes)
            return emit_gather(
                self.builder,
                self.memory,
                self.checks,
                self.parameters,
                place,
                node,
                values,
                check=self._is_checked(statement.name, number),
            )

        values = dict(zip(statement.iterators, instance.iterators, strict=True))
        return ExpressionEmitter(
            self.module,
            self.builder,
            partial(self._iterator, values, environment, lanes),
            self.parameters,
            partial(self._read, instance, environment, lanes),
            gather,
            frozenset(
                position for name, position in self.program.guarded if name == instance.statement
            ),
            self.program.scop.contraction,
            ("reassoc",) if self.program.mapping.reassociate else (),
            None if lanes is None else lanes.width,
        )

    def _read(
        self, instance: Instance, environment: Environment, lanes: LaneSet | None, number: int
    ) -> Any:
        """Return what an instance reads, by the number of the read: of registers, or of memory."""
        statement, subscripts = self.statements[instance.statement], instance.reads[number]
        array = statement.reads[number].array
        own = cell_of(statement, instance)
        if own in self.held and number in statement.own_reads:
            return self.held[own]
        read = (array, subscripts, instance.lanes)
        if read in self.carried:
            return self.carried[read]
        if read in self.fresh:
            return self.fresh[read]
        check = self._is_checked(statement.name, number)
        if lanes is None:
            return self.memory.load(array, subscripts, environment, check=check)
        if not check:
            self.ask_ahead(statement.name, number, subscripts, environment, lanes)
        return self.memory.load_lanes(array, subscripts, environment, lanes, check=check)

    def _is_checked(self, statement: str, access: int) -> bool:
        """Whether code has to check that an access is in range."""
        return (statement, access) in self.program.unproved

    def _store(
        self,
        cell: Cell,
        result: Any,
        statement: str,
        environment: Environment,
        lanes: LaneSet | None,
    ) -> None:
        """Store what a statement computes; what went past the caches may be replaced by it."""
        self.fresh = {one: value for one, value in self.fresh.items() if are_apart(cell, one)}
        array, subscripts, _ = cell
        check = self._is_checked(statement, WRITE)
        if lanes is None:
            self.memory.store(result, array, subscripts, environment, check=check)
            return
        past = statement in self.program.past
        where = (array, subscripts, environment, lanes)
        self.memory.store_lanes(result, *where, check=check, past=past)
        if past:
            self.fresh[cell] = result

    def ask_ahead(
        self,
        statement: str,
        read: int,
        subscripts: tuple[Index, ...],
        environment: Environment,
        lanes: LaneSet,
    ) -> None:
        """Ask for what a read of lanes reads later, where that is to be."""
        ahead = self.ahead.get((statement, read))
        if ahead is None or ahead.variable not in environment:
            return
        # Nothing promises that it does not wrap: it may be no element.
        by = ir.Constant(I64, ahead.by)
        later = self.builder.add(environment[ahead.variable], by)
        there = environment | {ahead.variable: later, lanes.variable: lanes.base}
        self.memory.ask_for(self.statements[statement].reads[read].array, subscripts, there)

    def _update(self, update: Update, emitter: ExpressionEmitter, place: Place) -> None:
        """Emit a store that happens where a condition holds, at an element that is computed."""
        builder, start, guard = self.builder, 1, nullcontext()
        if update.condition is not None:
            holds = emitter.truth(update.condition, start)
            start += len(loads(update.condition))
            guard = builder.if_then(holds)
        with guard:
            values = emitter.each(update.subscripts, start)
            start += sum(len(loads(one)) for one in update.subscripts)
            value = emitter.emit(update.value, start)
            emit_update(
                builder,
                self.memory,
                self.checks,
                self.parameters,
                place,
                update,
                values,
                value,
                check=self._is_checked(place.statement.name, WRITE),
            )

    def _iterator(
        self,
        values: Mapping[str, Index],
        environment: Environment,
        lanes: LaneSet | None,
        name: str,
    ) -> Any:
        """Return the value of a statement's iterator, in every lane if there are lanes."""
        if lanes is None:
            return emit_index(self.builder, values[name], environment)
        return lane_values(self.builder, values[name], environment, lanes)
