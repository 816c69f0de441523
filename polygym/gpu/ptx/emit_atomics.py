"""Updates that several threads may make of one element at the same time.

``x = x ⊕ e`` is emitted as ``x = x ⊕ value(e)`` in one step that no other thread comes between.
For sums and bits the GPU has an instruction; its operand is the body with the neutral number in the
place of the element: of ``x + e - f`` that is ``0 + e - f``. All others read the element, evaluate
the whole body, and store the result if the element is still what was read, or else begin again.

Side condition: each read of the element is one of the statement's own
(:mod:`polygym.codegen.common.scattered_reductions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from llvmlite import ir

from polygym.codegen.common.reductions import ReductionOperator
from polygym.codegen.common.scattered_reductions import Reduction, reduction_of
from polygym.codegen.llvm.access.emit_memory import Element, MemoryEmitter
from polygym.codegen.llvm.core.emit_index import Environment, LaneSet
from polygym.codegen.llvm.emit_function import FunctionEmitter
from polygym.codegen.llvm.expressions.emit_expression import ExpressionEmitter
from polygym.codegen.loopir.ir import Instance, Node
from polygym.codegen.validate.bounds import WRITE_ACCESS
from polygym.errors import InputError
from polygym.ir.expressions import Gather, Update
from polygym.ir.scop import Statement

_ORDERING = "monotonic"
_LEAST_BYTES = 4  # of an element that the GPU updates in one step
_INSTRUCTIONS: Mapping[ReductionOperator, tuple[str, int]] = {
    ReductionOperator.SUM: ("add", 0),
    ReductionOperator.AND: ("and", -1),
    ReductionOperator.OR: ("or", 0),
    ReductionOperator.XOR: ("xor", 0),
}
"""Instructions by operators, with their neutral numbers."""


@dataclass(frozen=True)
class _AtomicMemory(MemoryEmitter):
    """Memory in which a store adds to the element, or combines with it in another way."""

    operation: str = "add"

    def store(self, value: Any, place: Element, *, check: bool = False) -> None:
        """Take a value together with the element, if it is in its array."""
        builder = self.builder

        def update() -> None:
            prefix = "f" if isinstance(value.type, ir.FloatType | ir.DoubleType) else ""
            operation = f"{prefix}{self.operation}"
            builder.atomic_rmw(operation, self.address(place), value, _ORDERING)

        if not self._checks(place, check=check):
            update()
            return
        with builder.if_then(builder.not_(self._is_outside(place))):
            update()


@dataclass
class DeviceFunctionEmitter(FunctionEmitter):
    """Emits the code of threads; ``atomic`` statements update their elements in one step."""

    atomic: frozenset[str] = frozenset()
    _neutral: tuple[frozenset[int], Any] = field(default=(frozenset(), None), init=False)

    def emit_node(self, node: Node, environment: Environment) -> None:
        """Emit a node at the builder's place, and leave the builder after it."""
        if isinstance(node, Instance) and node.statement in self.atomic:
            self._atomic_instance(node, environment)
        else:
            super().emit_node(node, environment)

    def expressions(
        self, instance: Instance, environment: Environment, lanes: LaneSet | None
    ) -> ExpressionEmitter:
        """Return what emits expressions of an instance's body."""
        plain = super().expressions(instance, environment, lanes)
        own, number = self._neutral
        if not own:
            return plain

        def load(read: int) -> Any:
            return number if read in own else plain.load(read)

        def gather(read: int, node: Gather, values: list[Any]) -> Any:
            return number if read in own else plain.gather(read, node, values)

        return replace(plain, load=load, gather=gather)

    def _atomic_instance(self, instance: Instance, environment: Environment) -> None:
        statement = self.statements[instance.statement]
        reduction = reduction_of(statement)
        size = self.program.scop.array(statement.write.array).type.size
        if reduction is None or size < _LEAST_BYTES:
            raise _no_update(statement)
        if reduction.operator in _INSTRUCTIONS:
            self._combine(instance, reduction, environment)
        elif isinstance(statement.body, Update):
            raise _no_update(statement)
        else:
            self._exchange(instance, reduction, environment)

    def _combine(self, instance: Instance, reduction: Reduction, environment: Environment) -> None:
        """Emit an update by one instruction."""
        plain = self.memory
        kind = plain.element_type(self.statements[instance.statement].write.array)
        operation, neutral = _INSTRUCTIONS[reduction.operator]
        # Of floats it is -0.0: a sum with 0.0 is another number where the term is -0.0.
        number = neutral if isinstance(kind, ir.IntType) else -0.0
        self._neutral = (reduction.own_reads, ir.Constant(kind, number))
        self.memory = _AtomicMemory(
            plain.module,
            plain.builder,
            plain.scop,
            plain.storage,
            plain.extents,
            plain.checks,
            plain.is_instrumented,
            plain.exact,
            operation,
        )
        super().emit_node(instance, environment)
        self.memory, self._neutral = plain, (frozenset(), None)

    def _exchange(self, instance: Instance, reduction: Reduction, environment: Environment) -> None:
        """Emit an update by comparing and exchanging, again and again until it succeeds."""
        builder, statement = self.builder, self.statements[instance.statement]
        if (statement.name, WRITE_ACCESS) in self.program.unproved_accesses:
            raise _no_update(statement)
        place = Element(statement.write.array, instance.write, environment)
        kind, address = self.memory.element_type(place.array), self.memory.address(place)
        bits = ir.IntType(8 * self.program.scop.array(place.array).type.size)
        first = builder.load(address, typ=bits)
        before = builder.block
        body, after = (builder.append_basic_block(f"update.{name}") for name in ("try", "done"))
        builder.branch(body)
        builder.position_at_end(body)
        old = builder.phi(bits)
        old.add_incoming(first, before)
        self._neutral = (reduction.own_reads, builder.bitcast(old, kind))
        new = self.expressions(instance, environment, None).emit(statement.body)
        self._neutral = (frozenset(), None)
        pair = builder.cmpxchg(address, old, builder.bitcast(new, bits), _ORDERING, _ORDERING)
        old.add_incoming(builder.extract_value(pair, 0), builder.block)
        builder.cbranch(builder.extract_value(pair, 1), after, body)
        builder.position_at_end(after)


def _no_update(statement: Statement) -> InputError:
    return InputError(
        f"statement {statement.name}: expected a sum, a product, a maximum, a minimum or an "
        "operation on bits that threads can make of one element together, "
        f"found {statement.text}"
    )
