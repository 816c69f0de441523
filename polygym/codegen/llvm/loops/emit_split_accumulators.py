"""Sums and the like in several chains: lanes and copies that take terms together independently.

An addition takes four cycles, and in ``x = x + e(j)`` each waits for the one before; a processor
could start sixteen in that time, in vectors of eight a hundred. So iterations are dealt out to
``count`` chains of ``width`` lanes (:class:`~polygym.codegen.common.loop_annotation.
Chains`), each of which has a sum of its own::

    a = b = (0, …, 0);                                          with two chains of eight lanes
    for j by 16:  a = a + e(j .. j + 7);  b = b + e(j + 8 .. j + 15);
    a = a + b;
    for j by 8:   a = a + e(j ..), in those lanes that there are;
    x = x + (a₀ + … + a₇), by halves

Chains begin with what changes nothing: −0 in sums of floats (−0 + e is e, whatever e is), 1 in
products; the element itself, where x ⊕ x is x. Maxima of floats are of their keys, as in any other
loop (:mod:`polygym.codegen.llvm.loops.emit_min_max`).

Side conditions, which are the planner's and
:mod:`polygym.codegen.transforms.accumulators`'s: all that the loop does is to take terms together,
in elements that are held, each written by one instance; no term needs one of these elements.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from llvmlite import ir

from polygym.codegen.common.loop_annotation import SplitAccumulators
from polygym.codegen.common.reductions import ReductionOperator, reduction_operator
from polygym.codegen.llvm.access.protocols import Cell, Emitter
from polygym.codegen.llvm.core import types
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.loopir.ir import Index, IndexVariable, Instance, Lanes, Loop
from polygym.ir.types import ScalarType

ReducedCells: TypeAlias = Sequence[tuple[Cell, Instance]]
"""The elements that a loop holds, each with the one instance that writes it."""
_Accumulators: TypeAlias = list[Any]
"""The values of a chain, in the order of the parts."""


def emit_split_accumulators(
    emitter: Emitter,
    loop: Loop,
    chains: SplitAccumulators,
    parts: ReducedCells,
    bounds: tuple[Any, Any],
    environment: Environment,
) -> None:
    """Emit a loop that runs at least once; afterwards its elements have their values."""
    builder, (lower, upper) = emitter.builder, bounds
    first = [emitter.held[cell] for cell, _ in parts]
    begin = [
        _initial_accumulator(builder, _operator_of(emitter, part), part_first, chains.width)
        for part, part_first in zip(parts, first, strict=True)
    ]
    step = ir.Constant(types.I64, loop.step * chains.width * chains.count)
    last = builder.sub(upper, ir.Constant(types.I64, loop.step * (chains.width * chains.count - 1)))

    def whole(counter: Any, values: _Accumulators) -> _Accumulators:
        accumulators: _Accumulators = []
        for number in range(chains.count):
            own = values[number * len(parts) : (number + 1) * len(parts)]
            shift = ir.Constant(types.I64, number * loop.step * chains.width)
            there = builder.add(counter, shift, flags=["nsw"])
            inside = environment | {loop.variable: there}
            accumulators += _emit_terms(emitter, loop, parts, own, chains.width, None, inside)
        return accumulators

    def rest(counter: Any, values: _Accumulators) -> _Accumulators:
        left = builder.add(builder.sub(upper, counter), ir.Constant(types.I64, 1))
        inside = environment | {loop.variable: counter, _REMAINDER: left}
        active = IndexVariable(_REMAINDER) if chains.width > 1 else None
        return _emit_terms(emitter, loop, parts, values, chains.width, active, inside)

    counter, sums = emit_accumulating_loop(builder, lower, last, step, begin * chains.count, whole)
    together = sums[: len(parts)]
    for number in range(1, chains.count):
        own = sums[number * len(parts) : (number + 1) * len(parts)]
        together = [
            _combine(emitter, part, *pair)
            for part, pair in zip(parts, zip(together, own, strict=True), strict=True)
        ]
    single = ir.Constant(types.I64, loop.step * chains.width)
    _, together = emit_accumulating_loop(builder, counter, upper, single, together, rest)
    for part, before, result in zip(parts, first, together, strict=True):
        value = _reduce_lanes(emitter, part, result)
        if not _operator_of(emitter, part).is_idempotent:
            value = _combine(emitter, part, before, value)
        emitter.held[part[0]] = value
        for group in emitter.written:
            if part[0] in group:
                emitter.written[group] = ir.Constant(types.I1, 1)


_REMAINDER = "#left"  # no name in C


def emit_accumulating_loop(
    builder: ir.IRBuilder,
    lower: Any,
    upper: Any,
    step: Any,
    values: _Accumulators,
    body: Callable[[Any, _Accumulators], _Accumulators],
) -> tuple[Any, _Accumulators]:
    """Emit a loop that may run not at all; return its counter and its values after it."""
    before = builder.block
    head = builder.append_basic_block("terms.header")
    inside = builder.append_basic_block("terms.body")
    after = builder.append_basic_block("terms.after")
    builder.branch(head)
    builder.position_at_end(head)
    counter = builder.phi(types.I64)
    counter.add_incoming(lower, before)
    phis = [builder.phi(value.type) for value in values]
    for phi, value in zip(phis, values, strict=True):
        phi.add_incoming(value, before)
    builder.cbranch(builder.icmp_signed("<=", counter, upper), inside, after)
    builder.position_at_end(inside)
    accumulators = body(counter, phis)
    # No wrap, as in any other loop (emit_function).
    counter.add_incoming(builder.add(counter, step, flags=["nsw"]), builder.block)
    for phi, value in zip(phis, accumulators, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return counter, list(phis)


def _emit_terms(
    emitter: Emitter,
    loop: Loop,
    parts: ReducedCells,
    values: _Accumulators,
    width: int,
    active: Index | None,
    environment: Environment,
) -> _Accumulators:
    """Take one more term into each lane of a chain, or into those that there are."""
    if width == 1:
        for (cell, _), value in zip(parts, values, strict=True):
            emitter.held[cell] = value
        for _, instance in parts:
            emitter.emit_node(instance, environment)
        return [emitter.held[cell] for cell, _ in parts]
    lanes = Lanes(loop.variable, IndexVariable(loop.variable), width, active)
    there = {cell: (cell[0], cell[1], lanes) for cell, _ in parts}
    for (cell, _), value in zip(parts, values, strict=True):
        emitter.held[there[cell]] = value
        if cell in emitter.min_max_keys:
            emitter.min_max_keys[there[cell]] = emitter.min_max_keys[cell]
    for _, instance in parts:
        emitter.emit_node(replace(instance, lanes=lanes), environment)
    result = [emitter.held.pop(there[cell]) for cell, _ in parts]
    for cell in there.values():
        emitter.min_max_keys.pop(cell, None)
    if active is None:
        return result
    mask = emitter.lane_set(lanes, environment).mask
    builder = emitter.builder
    return [builder.select(mask, *pair) for pair in zip(result, values, strict=True)]


def _operator_of(emitter: Emitter, part: tuple[Cell, Instance]) -> ReductionOperator:
    operator = reduction_operator(emitter.statements[part[1].statement])
    assert operator is not None
    return operator


def _initial_accumulator(
    builder: ir.IRBuilder, operator: ReductionOperator, first: Any, width: int
) -> Any:
    """Return what a chain begins with."""
    if operator.is_idempotent:
        return first if width == 1 else types.splat(builder, first, width)
    return neutral_element(
        operator, first.type if width == 1 else types.LaneType(first.type, width)
    )


def neutral_element(operator: ReductionOperator, kind: Any) -> Any:
    """Return what changes nothing, e with e ⊕ x = x, as one number or in every lane.

    Of floats only sums and products have one.
    """
    is_floating = not isinstance(types.element_type(kind), ir.IntType)
    match operator:
        case ReductionOperator.SUM:
            return types.constant_of(kind, -0.0 if is_floating else 0)
        case ReductionOperator.PRODUCT:
            return types.constant_of(kind, 1.0 if is_floating else 1)
        case ReductionOperator.XOR:
            return types.constant_of(kind, 0)
        case _:
            raise AssertionError(f"{operator} has none that is used")


def _combine(emitter: Emitter, part: tuple[Cell, Instance], left: Any, right: Any) -> Any:
    """Take two values together, or those of two chains lane by lane."""
    scalar = emitter.statements[part[1].statement].body.type
    is_key = part[0] in emitter.min_max_keys
    return combine_values(
        emitter.builder, _operator_of(emitter, part), scalar, left, right, is_key=is_key
    )


def combine_values(
    builder: ir.IRBuilder,
    operator: ReductionOperator,
    scalar: ScalarType,
    left: Any,
    right: Any,
    *,
    is_key: bool = False,
) -> Any:
    """Return left ⊕ right of a type; of keys, signed integers, where they are such."""
    is_floating = scalar.is_floating and not is_key
    match operator:
        case ReductionOperator.SUM:
            return builder.fadd(left, right) if is_floating else builder.add(left, right)
        case ReductionOperator.PRODUCT:
            return builder.fmul(left, right) if is_floating else builder.mul(left, right)
        case ReductionOperator.MAXIMUM | ReductionOperator.MINIMUM:
            compare = ">" if operator is ReductionOperator.MAXIMUM else "<"
            if is_floating:
                is_left = builder.fcmp_ordered(compare, left, right)
            elif is_key or scalar.is_signed:
                is_left = builder.icmp_signed(compare, left, right)
            else:
                is_left = builder.icmp_unsigned(compare, left, right)
            return builder.select(is_left, left, right)
        case ReductionOperator.AND:
            return builder.and_(left, right)
        case ReductionOperator.OR:
            return builder.or_(left, right)
        case ReductionOperator.XOR:
            return builder.xor(left, right)


def _reduce_lanes(emitter: Emitter, part: tuple[Cell, Instance], vector: Any) -> Any:
    """Take the lanes of a vector together, by halves; one value is itself."""
    builder = emitter.builder
    if not isinstance(vector.type, ir.VectorType):
        return vector
    element, count = vector.type.element, vector.type.count
    while count > 1:
        count //= 2
        none = ir.Constant(vector.type, ir.Undefined)
        halves = []
        for start in (0, count):
            order = ir.Constant(ir.VectorType(types.I32, count), list(range(start, start + count)))
            half = builder.shuffle_vector(vector, none, order)
            half.type = types.LaneType(element, count)
            halves.append(half)
        vector = _combine(emitter, part, *halves)
    return builder.extract_element(vector, ir.Constant(types.I32, 0))
