"""One function's loops, guards and instances.

Loops are tested at the top; LLVM rotates them. Three annotations are carried out here:

* a parallel loop becomes a function of its own
  (:mod:`polygym.codegen.llvm.loops.emit_parallel`);
* a loop that *holds* elements in registers loads them before and stores them after
  (:mod:`polygym.codegen.llvm.loops.emit_scalar_replacement`);
* instances with lanes compute vectors.

Subscripts that are computed are checked (:mod:`polygym.codegen.llvm.access.emit_gather`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.analysis.loop_data_bounds import KnownConditions, loop_data_bounds
from polygym.codegen.common.loop_annotation import LoopAnnotation, ParallelLoop, ScalarReplacement
from polygym.codegen.common.reductions import MinMaxUpdate
from polygym.codegen.llvm.access.emit_gather import CheckedAccess, emit_gather, emit_update
from polygym.codegen.llvm.access.emit_memory import Element, MemoryEmitter
from polygym.codegen.llvm.access.emit_transpose import emit_transpose
from polygym.codegen.llvm.access.protocols import (
    Cell,
    CellGroup,
    are_distinct,
    cell_of,
    top_tested_loop,
)
from polygym.codegen.llvm.core.binary_interface import BrokenAssumption
from polygym.codegen.llvm.core.emit_index import (
    Environment,
    LaneSet,
    emit_condition,
    emit_index,
    lane_values,
)
from polygym.codegen.llvm.core.runtime_checks import CheckedBuilder, SubscriptChecks
from polygym.codegen.llvm.core.types import I1, I64, LaneType, i64, splat
from polygym.codegen.llvm.expressions.emit_expression import ExpressionEmitter
from polygym.codegen.llvm.loops.emit_data_bounds import emit_data_bounds
from polygym.codegen.llvm.loops.emit_loop_carried import emit_loop_carried
from polygym.codegen.llvm.loops.emit_parallel import emit_parallel
from polygym.codegen.llvm.loops.emit_scalar_replacement import emit_block, emit_scalar_replacement
from polygym.codegen.llvm.loops.emit_split_accumulators import combined_key
from polygym.codegen.loopir import ir as loop_ir
from polygym.codegen.validate.bounds import WRITE_ACCESS
from polygym.ir.expressions import Gather, Update, loaded_accesses
from polygym.ir.scop import Statement


@dataclass
class FunctionEmitter:
    """Emits nodes into one function.

    ``checks`` notes subscripts out of range, where some are computed. ``held`` maps the cells that
    live in registers just now to their values; ``written`` says of those that a loop has loaded
    whether an instance has written them since. Those in ``min_max_keys`` are extremes, and have
    keys for values. Elements in ``carried`` have values of earlier iterations, and what this one
    writes of them is noted in ``results``. ``thread_count`` is how many threads parallel loops use,
    in the kernel. Those in ``new_values`` have gone past the caches, with
    no loop and no condition between. Loops that run in data bounds leave ``known_conditions``.
    """

    module: ir.Module
    program: loop_ir.LoopProgram
    builder: ir.IRBuilder
    parameters: Environment
    storage: Mapping[str, Any]
    extents: Mapping[str, tuple[Any, ...]]
    checks: SubscriptChecks | None = None
    held: dict[Cell, Any] = field(default_factory=dict)
    written: dict[CellGroup, Any] = field(default_factory=dict)
    min_max_keys: dict[Cell, MinMaxUpdate] = field(default_factory=dict)
    carried: dict[Cell, Any] = field(default_factory=dict)
    new_values: dict[Cell, Any] = field(default_factory=dict)
    results: dict[Cell, Any] = field(default_factory=dict)
    thread_count: Any = None
    known_conditions: KnownConditions = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare what every instance needs."""
        scop = self.program.scop
        watched = isinstance(self.builder, CheckedBuilder)
        notes = None if self.checks is None else self.checks.runtime_checks
        self.memory = MemoryEmitter(
            self.module,
            self.builder,
            scop,
            self.storage,
            self.extents,
            notes,
            watched,
            self.program.exact_divisions,
        )
        self.statements: Mapping[str, Statement] = {
            statement.name: statement for statement in scop.statements
        }
        self.ahead = {(ahead.statement, ahead.read): ahead for ahead in self.program.prefetches}

    def for_function(
        self,
        builder: ir.IRBuilder,
        parameters: Environment,
        storage: Mapping[str, Any],
        extents: Mapping[str, tuple[Any, ...]],
        checks: SubscriptChecks | None,
    ) -> FunctionEmitter:
        """Return the emitter of another function, which begins at a builder."""
        return FunctionEmitter(
            self.module,
            self.program,
            builder,
            parameters,
            storage,
            extents,
            checks,
            known_conditions=self.known_conditions,
        )

    def emit_node(self, node: loop_ir.Node, environment: Environment) -> None:
        """Emit a node at the builder's place, and leave the builder after it."""
        match node:
            case loop_ir.Block():
                emit_block(self, node, environment)
            case loop_ir.Loop():
                self.new_values.clear()  # the next iteration, too, has to see what this one writes
                self._loop(node, environment)
                self.new_values.clear()
            case loop_ir.Guard():
                self.new_values.clear()
                self._guard(node, environment)
                self.new_values.clear()
            case loop_ir.Instance():
                self._instance(node, environment)
            case _:
                assert_never(node)

    def _loop(self, loop: loop_ir.Loop, environment: Environment) -> None:
        builder = self.builder
        if loop.lower == loop.upper:
            lower = emit_index(builder, loop.lower, environment)
            self.emit_node(loop.body, environment | {loop.variable: lower})
            return
        if self._runs_in_threads(loop.annotation):
            emit_parallel(self, loop, environment)
            return
        if emit_transpose(self, loop, environment):
            return
        lower = emit_index(builder, loop.lower, environment)
        upper = emit_index(builder, loop.upper, environment)
        self.emit_counted_loop(loop, lower, upper, environment)

    def _runs_in_threads(self, annotation: LoopAnnotation) -> bool:
        """Whether a loop runs in threads; with sums that wait, at known sizes only."""
        if not isinstance(annotation, ParallelLoop) or self.program.threads == 1:
            return False
        return not annotation.reductions or self.program.sizes is not None

    def emit_counted_loop(
        self, loop: loop_ir.Loop, lower: Any, upper: Any, environment: Environment
    ) -> None:
        """Emit a loop whose bounds are values already; those that it reads make it shorter."""
        around = self.known_conditions
        bounds = loop_data_bounds(self.program, loop, around)
        if bounds is not None:
            lower, upper = emit_data_bounds(self, bounds, lower, upper, environment)
            self.known_conditions = {**around, **bounds.known}
        self._emit_bounded_loop(loop, lower, upper, environment)
        self.known_conditions = around

    def _emit_bounded_loop(
        self, loop: loop_ir.Loop, lower: Any, upper: Any, environment: Environment
    ) -> None:
        """Emit a loop between two values."""
        if isinstance(loop.annotation, ScalarReplacement) and emit_scalar_replacement(
            self, loop, lower, upper, environment
        ):
            return
        if emit_loop_carried(self, loop, lower, upper, environment):
            return
        with top_tested_loop(self.builder, loop.variable, lower, upper, loop.step) as counter:
            self.emit_node(loop.body, environment | {loop.variable: counter})

    def lane_set(self, lanes: loop_ir.Lanes, environment: Environment) -> LaneSet:
        """Return the lanes of an instance as values."""
        builder = self.builder
        base = emit_index(builder, lanes.base, environment)
        mask = None
        if lanes.active is not None:
            active = emit_index(builder, lanes.active, environment)
            count = ir.Constant(LaneType(I64, lanes.width), list(range(lanes.width)))
            wide = splat(builder, active, lanes.width)
            mask = builder.icmp_signed("<", count, wide)
            if isinstance(builder, CheckedBuilder) and self.checks is not None:
                none = builder.icmp_signed("<", active, i64(1))
                checks = self.checks.runtime_checks
                checks.record_violation(builder, BrokenAssumption.EMPTY_LANES, none)
        return LaneSet(lanes.variable, base, lanes.width, mask)

    def _guard(self, guard: loop_ir.Guard, environment: Environment) -> None:
        builder = self.builder
        condition = emit_condition(builder, guard.condition, environment)
        if guard.otherwise is None:
            with builder.if_then(condition):
                self.emit_node(guard.then, environment)
            return
        with builder.if_else(condition) as (then, otherwise):
            with then:
                self.emit_node(guard.then, environment)
            with otherwise:
                self.emit_node(guard.otherwise, environment)

    def _instance(self, instance: loop_ir.Instance, environment: Environment) -> None:
        """Emit one statement instance: evaluate the body, store the result."""
        statement = self.statements[instance.statement]
        cell = cell_of(statement, instance)
        lanes = None if instance.lanes is None else self.lane_set(instance.lanes, environment)
        emitter = self.expressions(instance, environment, lanes)
        if isinstance(statement.body, Update):
            assert lanes is None
            place = CheckedAccess(statement, instance, 0, environment, None)
            self._update(statement.body, emitter, place)
            return
        if cell in self.min_max_keys:
            extreme = self.min_max_keys[cell]
            number = emitter.emit(extreme.operand, extreme.start)
            result = combined_key(self.builder, self.held[cell], number, extreme.is_maximum)
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

    def expressions(
        self, instance: loop_ir.Instance, environment: Environment, lanes: LaneSet | None
    ) -> ExpressionEmitter:
        """Return what emits expressions of an instance's body."""
        statement = self.statements[instance.statement]

        def gather(number: int, node: Gather, values: list[Any]) -> Any:
            place = CheckedAccess(statement, instance, number, environment, lanes)
            check = self._is_checked(statement.name, number)
            return emit_gather(self, place, node, values, check=check)

        values = dict(zip(statement.iterators, instance.iterators, strict=True))
        return ExpressionEmitter(
            self.module,
            self.builder,
            partial(self._iterator, values, environment, lanes),
            self.parameters,
            partial(self._read, instance, environment, lanes),
            gather,
            frozenset(k for name, k in self.program.guarded_reads if name == instance.statement),
            self.program.scop.contraction,
            ("reassoc",) if self.program.mapping.reassociate else (),
            None if lanes is None else lanes.width,
            self.known_conditions.get(statement.name, frozenset()),
        )

    def _read(
        self,
        instance: loop_ir.Instance,
        environment: Environment,
        lanes: LaneSet | None,
        number: int,
    ) -> Any:
        """Return what an instance reads, by the number of the read: of registers, or of memory."""
        statement, subscripts = self.statements[instance.statement], instance.reads[number]
        array = statement.reads[number].array
        own = cell_of(statement, instance)
        if own in self.held and number in statement.accumulator_reads:
            return self.held[own]
        read = (array, subscripts, instance.lanes)
        if read in self.carried:
            return self.carried[read]
        if read in self.new_values:
            return self.new_values[read]
        check = self._is_checked(statement.name, number)
        place = Element(array, subscripts, environment)
        if lanes is None:
            return self.memory.load(place, check=check)
        if not check:
            self.prefetch_ahead(statement.name, number, place, lanes)
        return self.memory.load_lanes(place, lanes, check=check)

    def _is_checked(self, statement: str, access: int) -> bool:
        """Whether code has to check that an access is in range."""
        return (statement, access) in self.program.unproved_accesses

    def _store(
        self,
        cell: Cell,
        result: Any,
        statement: str,
        environment: Environment,
        lanes: LaneSet | None,
    ) -> None:
        """Store what a statement computes; what went past the caches may be replaced by it."""
        kept = ((other, own) for other, own in self.new_values.items() if are_distinct(cell, other))
        self.new_values = dict(kept)
        array, subscripts, _ = cell
        check = self._is_checked(statement, WRITE_ACCESS)
        place = Element(array, subscripts, environment)
        if lanes is None:
            self.memory.store(result, place, check=check)
            return
        past = statement in self.program.nontemporal_stores
        self.memory.store_lanes(result, place, lanes, check=check, past=past)
        if past:
            self.new_values[cell] = result

    def prefetch_ahead(self, statement: str, read: int, place: Element, lanes: LaneSet) -> None:
        """Ask for what a read of lanes reads later, where that is to be."""
        ahead = self.ahead.get((statement, read))
        if ahead is None or ahead.variable not in place.environment:
            return
        # Nothing promises that it does not wrap: it may be no element.
        by = i64(ahead.distance)
        later = self.builder.add(place.environment[ahead.variable], by)
        self.memory.prefetch(place.at(ahead.variable, later).at(lanes.variable, lanes.base))

    def _update(self, update: Update, emitter: ExpressionEmitter, place: CheckedAccess) -> None:
        """Emit a store that happens where a condition holds, at an element that is computed."""
        builder, start, guard = self.builder, 1, nullcontext()
        if update.condition is not None and emitter.holds(update.condition):
            start += len(loaded_accesses(update.condition))
        elif update.condition is not None:
            holds = emitter.emit_truth(update.condition, start)
            start += len(loaded_accesses(update.condition))
            guard = builder.if_then(holds)
        with guard:
            values = emitter.emit_each(update.subscripts, start)
            start += sum(len(loaded_accesses(expression)) for expression in update.subscripts)
            value = emitter.emit(update.value, start)
            check = self._is_checked(place.statement.name, WRITE_ACCESS)
            emit_update(self, place, update, values, value, check)

    def _iterator(
        self,
        values: Mapping[str, loop_ir.Index],
        environment: Environment,
        lanes: LaneSet | None,
        name: str,
    ) -> Any:
        """Return the value of a statement's iterator, in every lane if there are lanes."""
        if lanes is None:
            return emit_index(self.builder, values[name], environment)
        return lane_values(self.builder, values[name], environment, lanes)
