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
loop (:mod:`polygym.codegen.llvm.loops.emit_split_accumulators`).

Side conditions, which are the planner's and
:mod:`polygym.codegen.transforms.accumulators`'s: all that the loop does is to take terms together,
in elements that are held, each written by one instance; no term needs one of these elements.

Maxima and minima of floats over a loop, as integers first: LLVM makes vectors of those.

``m = a[j] > m ? a[j] : m`` is a chain of comparisons that LLVM leaves as it is: which of +0 and -0
is kept, and what NaN does, depends on the order. Of numbers that are neither the order says
nothing, since equal ones have equal bits. So the loop runs twice, the second time seldom::

    k = key(m);
    for j: k = max(k, a[j] is NaN ? greatest : key(a[j]));          in integers, in vectors
    if (k is that of a number other than zero) m = number(k);
    else for j: m = a[j] > m ? a[j] : m;                            as it is written

A *key* is the integer of a number's bits, with the other bits of negative numbers turned around:
x < y says key(x) < key(y). Doing that again gives the number back. ``greatest`` is a key of NaN,
for minima the least one; from there on it stays. ``fmax`` and ``fmin`` are maxima and minima, too.

Side conditions: the element is held in a register by the loop, in which there are instances of such
statements alone, none of them with lanes; nothing that they read is computed or checked. Where the
loop runs in chains (:mod:`polygym.codegen.llvm.loops.emit_split_accumulators`), each lane of each
of them keeps a key.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from llvmlite import ir

from polygym.codegen.common.loop_annotation import SplitAccumulators
from polygym.codegen.common.reductions import (
    MinMaxUpdate,
    ReductionOperator,
    min_max_of,
    reduction_operator,
    row_sum_operator,
)
from polygym.codegen.llvm.access.protocols import Cell, Emitter
from polygym.codegen.llvm.core import types
from polygym.codegen.llvm.core.emit_index import Environment
from polygym.codegen.llvm.core.types import LaneType, constant_of, element_type
from polygym.codegen.loopir.ir import Block, Index, IndexVariable, Instance, Lanes, Loop
from polygym.codegen.loopir.nests import sequence_parts
from polygym.ir.expressions import Gather, walk
from polygym.ir.scop import Statement
from polygym.ir.types import ScalarType


def float_min_max_of(statement: Statement) -> MinMaxUpdate | None:
    """Return what a statement keeps the extreme of, a float; None if it is no such statement."""
    body = statement.body
    if not body.type.is_floating or any(isinstance(node, Gather) for node in walk(body)):
        return None
    return min_max_of(statement)


def min_max_updates_in(
    loop: Loop, statements: Mapping[str, Statement], unproved: frozenset[tuple[str, int]]
) -> dict[str, MinMaxUpdate] | None:
    """Return what the statements of a loop keep, None if anything else happens in it."""
    updates: dict[str, MinMaxUpdate] = {}
    for part in sequence_parts(loop.body) if isinstance(loop.body, Block) else (loop.body,):
        if not isinstance(part, Instance) or part.lanes is not None:
            return None
        extreme = float_min_max_of(statements[part.statement])
        if extreme is None or any(name == part.statement for name, _ in unproved):
            return None
        updates[part.statement] = extreme
    return updates or None


def key_of(builder: ir.IRBuilder, number: Any) -> Any:
    """Return the key of a number."""
    kind = _key_type(number.type)
    return _flipped(builder, builder.bitcast(number, kind))


def number_of(builder: ir.IRBuilder, key: Any, kind: Any) -> Any:
    """Return the number of a key."""
    return builder.bitcast(_flipped(builder, key), kind)


def combined_key(builder: ir.IRBuilder, current_key: Any, number: Any, is_maximum: bool) -> Any:
    """Return the key that is kept of one and of a number's; that of NaN, once there was one."""
    is_none = builder.fcmp_unordered("uno", number, number)
    other = builder.select(is_none, _nan_key(current_key.type, is_maximum), key_of(builder, number))
    is_kept = builder.icmp_signed(">" if is_maximum else "<", current_key, other)
    return builder.select(is_kept, current_key, other)


def first_key(builder: ir.IRBuilder, number: Any, is_maximum: bool) -> Any:
    """Return the key that a loop begins with."""
    is_none = builder.fcmp_unordered("uno", number, number)
    return builder.select(
        is_none, _nan_key(_key_type(number.type), is_maximum), key_of(builder, number)
    )


def are_all_ordinary(builder: ir.IRBuilder, keys: Sequence[tuple[Any, Any, bool]]) -> Any:
    """Whether keys, with their kinds of numbers and directions, are of numbers other than zero."""
    settled = ir.Constant(ir.IntType(1), 1)
    for key, kind, is_maximum in keys:
        some = builder.icmp_signed("!=", key, _nan_key(key.type, is_maximum))
        number = number_of(builder, key, kind)
        other = builder.fcmp_unordered("!=", number, ir.Constant(kind, 0.0))
        settled = builder.and_(settled, builder.and_(some, other))
    return settled


def _key_type(kind: Any) -> Any:
    """Return the type of a number's key, of one number or of one in each lane."""
    integer = ir.IntType(32 if isinstance(element_type(kind), ir.FloatType) else 64)
    return LaneType(integer, kind.count) if isinstance(kind, ir.VectorType) else integer


def _flipped(builder: ir.IRBuilder, bits: Any) -> Any:
    """Return bits with all but the first one turned around where that is set."""
    width = element_type(bits.type).width
    negative = builder.ashr(bits, constant_of(bits.type, width - 1))
    return builder.xor(bits, builder.lshr(negative, constant_of(bits.type, 1)))


def _nan_key(kind: Any, is_maximum: bool) -> Any:
    """Return the key that stands for NaN: the greatest one or the least."""
    most = (1 << (element_type(kind).width - 1)) - 1
    return constant_of(kind, most if is_maximum else -most - 1)


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
    step = types.i64(loop.step * chains.width * chains.count)
    last = builder.sub(upper, types.i64(loop.step * (chains.width * chains.count - 1)))

    def whole(counter: Any, values: _Accumulators) -> _Accumulators:
        accumulators: _Accumulators = []
        for number in range(chains.count):
            own = values[number * len(parts) : (number + 1) * len(parts)]
            shift = types.i64(number * loop.step * chains.width)
            there = builder.add(counter, shift, flags=["nsw"])
            inside = environment | {loop.variable: there}
            accumulators += _emit_terms(emitter, loop, parts, own, chains.width, None, inside)
        return accumulators

    def rest(counter: Any, values: _Accumulators) -> _Accumulators:
        left = builder.add(builder.sub(upper, counter), types.i64(1))
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
    single = types.i64(loop.step * chains.width)
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
    statement = emitter.statements[part[1].statement]
    operator = reduction_operator(statement) or row_sum_operator(statement)
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
    return builder.extract_element(vector, types.i32(0))
