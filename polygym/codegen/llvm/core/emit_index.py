"""Index arithmetic in 64-bit integers, which always has a value.

isl promises things of its expressions (that a division leaves no remainder, that a dividend is not
negative), but only where their value counts. Code computes them elsewhere, too: both arms of a
selection, all operands of a connective, bounds of loops that do not run, lanes that do not exist.
An instruction that is told the promise (``exact``) has no value there, only *poison*, and a branch
on that is undefined behaviour: programs crashed by it. So no promise is passed on. Every operator
is a function of all integers, but where a
division is proved to leave no remainder: the same one as in Python and in the printed C::

    -7 / 4, of all three kinds of division   -2     rounded down
    -7 % 4                                    1     never negative

That costs an instruction or three, and none where the divisor is a power of two.

What is promised is that nothing wraps (``nsw``), without which LLVM does not recognise affine
accesses. :mod:`polygym.codegen.validate.ranges` proves it, for every part of every
expression and all values that its variables may have, whether guards hold or not.

Lanes of a vector: which iterations run at once, and what an index is in each of them.
"""

from collections.abc import Container
from dataclasses import dataclass
from functools import reduce
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.llvm.core.source_builder import FLOOR, REMAINDER, SourceBuilder, note
from polygym.codegen.llvm.core.types import I64, LaneType, declare_function, i32, i64, splat
from polygym.codegen.loopir import ir as loop_ir
from polygym.codegen.loopir.index_arithmetic import coefficient
from polygym.codegen.loopir.linear_sums import LinearSum
from polygym.errors import InternalError

Environment = dict[str, ir.Value]


def emit_index(
    builder: ir.IRBuilder,
    index: loop_ir.Index,
    environment: Environment,
    exact: Container[loop_ir.Index] = (),
) -> Any:
    """Return the LLVM value of an index: i64, or i1 for comparisons and connectives.

    ``exact`` are divisions that are proved to leave no remainder, for all values that the variables
    have in their loops: of these LLVM is told so.
    """
    match index:
        case loop_ir.IndexConstant(value):
            if not -(2**63) <= value < 2**63:
                raise InternalError(f"the coefficient {value} does not fit 64 bits")
            return i64(value)
        case loop_ir.IndexVariable(name):
            return environment[name]
        case loop_ir.IndexOperation(operator, operands):
            values = [emit_index(builder, operand, environment, exact) for operand in operands]
            if operator is loop_ir.IndexOperator.DIVIDE_EXACT and index in exact:
                return builder.sdiv(*values, flags=["exact"])
            return _emit_operation(builder, operator, values)
        case _:
            assert_never(index)


def emit_sum(
    builder: ir.IRBuilder,
    linear: LinearSum,
    environment: Environment,
    exact: Container[loop_ir.Index] = (),
) -> Any:
    """Return the LLVM value of a sum, its constant added last.

    Its parts are other numbers than those of the index that it was made of, of which it is known
    that they do not wrap. So nothing is promised of them: the sum is the same, modulo 2^64.
    """
    terms, constant = linear
    total: Any = None
    for term, factor in terms.items():
        value = emit_index(builder, term, environment, exact)
        if factor != 1:
            value = note(builder.mul(value, _modulo(factor)), is_place=True)
        total = value if total is None else note(builder.add(total, value), is_place=True)
    if total is None:
        return _modulo(constant)
    return note(builder.add(total, _modulo(constant)), is_place=True)


def _modulo(number: int) -> ir.Constant:
    """Return the 64-bit number that is equal to another one modulo 2^64."""
    return i64((number + 2**63) % 2**64 - 2**63)


def emit_condition(builder: ir.IRBuilder, index: loop_ir.Index, environment: Environment) -> Any:
    """Return an index as i1, true where it is not zero."""
    return _as_truth(builder, emit_index(builder, index, environment))


def _as_truth(builder: ir.IRBuilder, value: Any) -> Any:
    """Return a truth value as it is and a number compared with zero: isl writes `1` for true."""
    if value.type.width == 1:
        return value
    return builder.icmp_signed("!=", value, ir.Constant(value.type, 0))


def _emit_operation(
    builder: ir.IRBuilder, operator: loop_ir.IndexOperator, values: list[Any]
) -> Any:
    match operator:
        case loop_ir.IndexOperator.NEGATE:
            return builder.sub(i64(0), values[0], flags=["nsw"])
        case loop_ir.IndexOperator.ADD:
            return builder.add(*values, flags=["nsw"])
        case loop_ir.IndexOperator.SUBTRACT:
            return builder.sub(*values, flags=["nsw"])
        case loop_ir.IndexOperator.MULTIPLY:
            return builder.mul(*values, flags=["nsw"])
        case _ if operator in loop_ir.QUOTIENTS:
            return _emit_quotient(builder, values[0], _divisor(values[1]))
        case loop_ir.IndexOperator.REMAINDER_NONNEGATIVE:
            return _emit_remainder(builder, values[0], _divisor(values[1]))
        case loop_ir.IndexOperator.REMAINDER_ZERO_TEST:
            # Its sign does not matter, only whether it is 0.
            return builder.srem(values[0], i64(_divisor(values[1])))
        case loop_ir.IndexOperator.MINIMUM | loop_ir.IndexOperator.MAXIMUM:
            sign = "<" if operator is loop_ir.IndexOperator.MINIMUM else ">"
            best, *others = values
            for other in others:
                best = builder.select(builder.icmp_signed(sign, other, best), other, best)
            return best
        case loop_ir.IndexOperator.SELECT:
            condition, then, otherwise = values
            return builder.select(_as_truth(builder, condition), then, otherwise)
        case loop_ir.IndexOperator.AND:
            return reduce(builder.and_, [_as_truth(builder, value) for value in values])
        case loop_ir.IndexOperator.OR:
            return reduce(builder.or_, [_as_truth(builder, value) for value in values])
        case _:
            return builder.icmp_signed(loop_ir.COMPARISONS[operator], *values)


def _divisor(value: Any) -> int:
    """Return a divisor: a positive number, so that no division is undefined."""
    if not isinstance(value, ir.Constant) or value.constant <= 0:
        raise InternalError(f"a divisor of an index: expected a positive number, found {value}")
    return int(value.constant)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _emit_quotient(builder: ir.IRBuilder, dividend: Any, divisor: int) -> Any:
    """Round the quotient down: q = trunc(a / d), minus 1 when the remainder is negative.

    Example: -7 and 4 give q = -1 with remainder -3, so -2. The sign bit of the remainder, spread by
    an arithmetic shift, is that -1. A shift alone rounds down where the divisor is a power of two.

    Neither q·d nor a - q·d wraps: they lie between 0 and a, and between -d and d.
    """
    if _is_power_of_two(divisor):
        return builder.ashr(dividend, i64(divisor.bit_length() - 1))
    number = i64(divisor)
    if isinstance(builder, SourceBuilder):
        return _call_of_two(builder, FLOOR, dividend, number)
    quotient = builder.sdiv(dividend, number)
    remainder = builder.sub(dividend, builder.mul(quotient, number, flags=["nsw"]), flags=["nsw"])
    return builder.add(quotient, _sign(builder, remainder), flags=["nsw"])


def _emit_remainder(builder: ir.IRBuilder, dividend: Any, divisor: int) -> Any:
    """Return what the quotient, rounded down, leaves: the divisor more where it is negative."""
    if _is_power_of_two(divisor):
        return builder.and_(dividend, i64(divisor - 1))
    number = i64(divisor)
    if isinstance(builder, SourceBuilder):
        return _call_of_two(builder, REMAINDER, dividend, number)
    remainder = builder.srem(dividend, number)
    more = builder.and_(_sign(builder, remainder), number)
    return builder.add(remainder, more, flags=["nsw"])


def _call_of_two(builder: ir.IRBuilder, name: str, first: Any, second: Any) -> Any:
    """Return the value of a helper of printed C that takes two integers."""
    return builder.call(
        declare_function(builder.module, name, ir.FunctionType(I64, [I64, I64])), [first, second]
    )


def _sign(builder: ir.IRBuilder, value: Any) -> Any:
    """Return -1 for a negative number, else 0."""
    return builder.ashr(value, i64(63))


@dataclass(frozen=True)
class LaneSet:
    """The lanes of an instance: ``variable`` is ``base`` + k in lane k; without a mask, all run."""

    variable: str
    base: Any
    width: int
    mask: Any | None

    def lane(self, builder: ir.IRBuilder, number: int) -> Any:
        """Return the variable's value in one lane, of those too that do not exist.

        None wraps: loops have bounds within 2^62 (check_ranges), lanes are few.
        """
        return builder.add(self.base, i64(number), flags=["nsw"])


def lane_values(
    builder: ir.IRBuilder, index: loop_ir.Index, environment: Environment, lanes: LaneSet
) -> Any:
    """Return the value of an index in every lane."""
    match index:
        case loop_ir.IndexVariable(name) if name in environment and is_vector(environment[name]):
            return environment[name]
        case _:
            step = coefficient(index, lanes.variable)
    kind = LaneType(I64, lanes.width)
    if step is not None:
        first = emit_index(builder, index, environment | {lanes.variable: lanes.base})
        growth = ir.Constant(kind, [step * number for number in range(lanes.width)])
        return builder.add(splat(builder, first, lanes.width), growth)
    vector: Any = ir.Constant(kind, ir.Undefined)
    for number in range(lanes.width):
        inside = environment | {lanes.variable: lanes.lane(builder, number)}
        value = emit_index(builder, index, inside)
        vector = builder.insert_element(vector, value, i32(number))
    return vector


def is_vector(value: Any) -> bool:
    """Whether a value is one for every lane."""
    return isinstance(value.type, ir.VectorType)
