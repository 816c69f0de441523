"""Loops between bounds that are read from memory, as the rows of a sparse matrix.

The values of the iterator, k, that a loop has are from ``first`` to ``last``, and those that do
something from f to g. What is left is in between, or nothing::

    if (first <= last)  low = max(first, min(f, last + 1));  high = min(last, max(g, first - 1));

Whatever f and g are, low and high are at most one beyond the loop's own bounds, so nothing wraps:
with first = 0, last = 9, f = 2^63 - 1 it is low = 10, and the loop does not run.
:mod:`polygym.codegen.analysis.loop_data_bounds` has the side conditions.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Any

from polygym.codegen.analysis.loop_data_bounds import LoopDataBounds
from polygym.codegen.llvm.access.protocols import Emitter
from polygym.codegen.llvm.core.emit_index import Environment, emit_index
from polygym.codegen.llvm.core.types import I64, i64
from polygym.ir.data_bounds import DataBound


def emit_data_bounds(
    emitter: Emitter, bounds: LoopDataBounds, lower: Any, upper: Any, environment: Environment
) -> tuple[Any, Any]:
    """Return the bounds of a loop's counter between which its statements do something."""
    builder, before = emitter.builder, emitter.builder.block
    is_read = builder.icmp_signed("<=", lower, upper)
    if not bounds.are_reads_sure:
        is_read = reduce(builder.and_, _existence(emitter, bounds, environment), is_read)
    with builder.if_then(is_read):
        offset = emit_index(builder, bounds.offset, environment)
        ends = (lower, upper) if bounds.sign > 0 else (upper, lower)
        first, last = (_shifted(builder, bounds.sign, end, offset) for end in ends)
        low, high = first, last
        beyond = builder.add(last, i64(1), flags=["nsw"])
        ahead = builder.sub(first, i64(1), flags=["nsw"])
        for bound in bounds.bounds:
            value = _value(emitter, bounds, bound, environment)
            if bound.is_lower:
                low = _inside(builder, ">", value, low, beyond, bound.is_strict)
            else:
                high = _inside(builder, "<", value, high, ahead, bound.is_strict)
        ends = (low, high) if bounds.sign > 0 else (high, low)
        # k = c + offset for the counter c, or k = offset - c: c is k - offset, or offset - k.
        pairs = [(end, offset) if bounds.sign > 0 else (offset, end) for end in ends]
        tight = [builder.sub(*pair, flags=["nsw"]) for pair in pairs]
        inside = builder.block
    result = []
    for whole, part in zip((lower, upper), tight, strict=True):
        merged = builder.phi(I64)
        merged.add_incoming(whole, before)
        merged.add_incoming(part, inside)
        result.append(merged)
    return result[0], result[1]


def _shifted(builder: Any, sign: int, counter: Any, offset: Any) -> Any:
    """Return the value of the iterator at a value of the counter."""
    if sign > 0:
        return builder.add(counter, offset, flags=["nsw"])
    return builder.sub(offset, counter, flags=["nsw"])


def _inside(builder: Any, sign: str, value: Any, end: Any, limit: Any, is_strict: bool) -> Any:
    """Return the end that a bound leaves of another, not beyond a limit.

    Example: with the end 0, the limit 10 and k > 3 it is 4, and with k > 12 it is 11.
    """
    is_beyond = builder.icmp_signed(sign, value, limit)
    value = builder.select(is_beyond, limit, value)
    if is_strict:
        # One more is still within 64 bits, since limits are within 2^62.
        value = builder.add(value, i64(1 if sign == ">" else -1), flags=["nsw"])
    is_inside = builder.icmp_signed(sign, value, end)
    return builder.select(is_inside, value, end)


def _value(
    emitter: Emitter, bounds: LoopDataBounds, bound: DataBound, environment: Environment
) -> Any:
    """Return the value of a bound as a signed number; one beyond 2^62 becomes that."""
    builder, scalar = emitter.builder, bound.value.type
    value = emitter.expressions(bounds.instance, environment, None).emit(bound.value, bound.start)
    if scalar.bits < I64.width:
        return (builder.sext if scalar.is_signed else builder.zext)(value, I64)
    if scalar.is_signed:
        return value
    most = i64(1 << 62)
    return builder.select(builder.icmp_unsigned(">", value, most), most, value)


def _existence(emitter: Emitter, bounds: LoopDataBounds, environment: Environment) -> Iterator[Any]:
    """Yield the conditions under which what the bounds read exists."""
    statement = emitter.statements[bounds.instance.statement]
    for array, dimension, subscript in bounds.affine_subscripts(statement):
        index = emit_index(emitter.builder, subscript, environment)
        yield emitter.builder.icmp_unsigned("<", index, emitter.extents[array][dimension])
