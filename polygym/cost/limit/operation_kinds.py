"""Operators of an expression that any code has to carry out, and their kinds.

What LLVM may leave out is not counted: affine arithmetic and all else without data (it is done
once, or by counting up), casts and signs, a factor of 1 and a term of 0, bits and shifts, integer
operations with a constant (several become one). What it may replace counts as ANY, which is an
addition or a multiplication, whichever is cheaper: ``x * 2.0`` is ``x + x``, ``x / 4.0`` is
``x * 0.25``, a comparison with a selection is a minimum, and a call of ``math.h`` takes that long
at least.

Of a ``?:`` on data only the condition is certain: instances that take one arm may have its
operation in common, however many take the other.

Types are those of lanes. LLVM adds floats as floats even where the source converts them to double
and the sum back, and bytes as bytes where only a byte of the sum is kept, so the narrowest type of
what a statement reads and writes is the type of its operations.

Latency path of a value, from its read in a statement to its write.

Only operations on floating numbers are steps: in the bit-exact order each waits for the one before.
Integers may be added in any order, and a processor that guesses a branch does not wait for its
condition, so a path that goes through either, or through a function that LLVM may turn into a
comparison, is none. A product that is added right away may be a multiply-add: a step of its own.

Example: in ``s = s * a + b`` the path of s is one multiply-add, in ``s = s + a * b`` one addition,
in ``x = (x - l * y) / d`` that of x an addition (a subtraction) and a division, and that of y a
multiply-add and a division.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from math import frexp
from typing import assert_never

from polygym.ir import expressions
from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name


class ArithmeticKind(Enum):
    """Kinds of operations; the value is how tables and JSON call them."""

    ADD = "additions"
    MULTIPLY = "multiplications"
    ANY = "additions or multiplications"
    DIVIDE = "divisions"
    ROOT = "square roots"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TypedOperation:
    """A kind of operation on lanes of a type."""

    kind: ArithmeticKind
    type: ScalarType


# Any three of these may be one instruction, and shifts a rotation.
_BIT_OPERATORS = (
    expressions.BinaryOperator.BIT_AND,
    expressions.BinaryOperator.BIT_OR,
    expressions.BinaryOperator.BIT_XOR,
    expressions.BinaryOperator.SHIFT_LEFT,
    expressions.BinaryOperator.SHIFT_RIGHT,
)


def lane_type(scop: Scop, statement: Statement, *, floating: bool) -> ScalarType:
    """Return the narrowest type in which operations of a statement may be done."""
    accesses = (statement.write, *statement.reads)
    types = [scop.array(access.array).type for access in accesses]
    if floating:
        is_narrow = any(type_.is_floating and type_ is not ScalarType.DOUBLE for type_ in types)
        return ScalarType.FLOAT if is_narrow else ScalarType.DOUBLE
    integers = [scalar_type for scalar_type in types if scalar_type.is_integer] or [ScalarType.INT]
    bits = min(integer.bits for integer in integers)
    return {8: ScalarType.BYTE, 16: ScalarType.SHORT, 32: ScalarType.INT}.get(bits, ScalarType.LONG)


def kinds_of(node: expressions.Expression) -> tuple[ArithmeticKind, ...]:
    """Return what an operator takes at least; nothing where it may cost nothing."""
    if not has_data(node):
        return ()
    match node:
        case expressions.Binary(operator, left, right, scalar):
            kind = _kind_of_binary(operator, left, right, scalar)
            return () if kind is None else (kind,)
        case expressions.Comparison():
            return (ArithmeticKind.ANY,)
        case expressions.Call(function=expressions.MathFunction.SQRT):
            return (ArithmeticKind.ROOT,)
        case expressions.Call(function=expressions.MathFunction.FMA):
            return (ArithmeticKind.ADD, ArithmeticKind.MULTIPLY)
        case expressions.Call(
            function=expressions.MathFunction.FABS | expressions.MathFunction.COPYSIGN
        ):
            return ()
        case expressions.Call():
            return (ArithmeticKind.ANY,)
        case (
            expressions.Unary()
            | expressions.Cast()
            | expressions.Conditional()
            | expressions.Update()
            | expressions.Load()
            | expressions.Gather()
            | expressions.IntegerLiteral()
            | expressions.FloatLiteral()
            | expressions.IteratorValue()
            | expressions.ParameterValue()
        ):
            return ()
        case _:
            assert_never(node)


def _kind_of_binary(
    operator: expressions.BinaryOperator,
    left: expressions.Expression,
    right: expressions.Expression,
    scalar: ScalarType,
) -> ArithmeticKind | None:
    constant = is_constant(left) or is_constant(right)
    if scalar.is_integer:
        return _kind_of_integers(operator, right, constant=constant)
    match operator:
        case expressions.BinaryOperator.ADD | expressions.BinaryOperator.SUBTRACT:
            return (
                None
                if {0.0, None} & {_literal_value(left, 1.0), _literal_value(right, 1.0)}
                else ArithmeticKind.ADD
            )
        case expressions.BinaryOperator.MULTIPLY:
            return _kind_of_product(left, right)
        case expressions.BinaryOperator.DIVIDE:
            divisor = _literal_value(right, 3.0)
            if divisor is None or abs(divisor) == 1.0:
                return None
            return ArithmeticKind.ANY if _is_power_of_two(divisor) else ArithmeticKind.DIVIDE
        case _:
            return ArithmeticKind.ANY


def _kind_of_product(
    left: expressions.Expression, right: expressions.Expression
) -> ArithmeticKind | None:
    values = [_literal_value(left, 3.0), _literal_value(right, 3.0)]
    if None in values or any(value is not None and abs(value) in (0.0, 1.0) for value in values):
        return None
    special = any(value is not None and _is_power_of_two(value) for value in values)
    return ArithmeticKind.ANY if special else ArithmeticKind.MULTIPLY


def _kind_of_integers(
    operator: expressions.BinaryOperator, right: expressions.Expression, *, constant: bool
) -> ArithmeticKind | None:
    if operator in (expressions.BinaryOperator.DIVIDE, expressions.BinaryOperator.REMAINDER):
        return None if is_constant(right) else ArithmeticKind.DIVIDE
    return None if constant or operator in _BIT_OPERATORS else ArithmeticKind.ANY


def has_data(node: expressions.Expression) -> bool:
    """Whether an expression reads memory."""
    return any(
        isinstance(expression, expressions.Load | expressions.Gather)
        for expression in expressions.walk(node)
    )


def is_constant(node: expressions.Expression) -> bool:
    """Whether an expression has one value for all instances: of literals and parameters alone."""
    return not any(
        isinstance(expression, expressions.Load | expressions.Gather | expressions.IteratorValue)
        for expression in expressions.walk(node)
    )


def _literal_value(node: expressions.Expression, usual: float) -> float | None:
    """Return a literal's value, None for another constant, and the usual one for what varies."""
    match node:
        case expressions.FloatLiteral() | expressions.IntegerLiteral():
            return float(node.value)
        case expressions.Cast(operand):
            return _literal_value(operand, usual)
        case expressions.Unary(expressions.UnaryOperator.NEGATE, operand):
            value = _literal_value(operand, usual)
            return None if value is None else -value
        case _:
            return None if is_constant(node) else usual


def _is_power_of_two(value: float) -> bool:
    return value != 0 and abs(frexp(value)[0]) == 0.5


class LatencyStep(Enum):
    """What a value waits for; the value is how tables and JSON call it."""

    ADD = "addition"
    MULTIPLY = "multiplication"
    MULTIPLY_ADD = "multiply-add"
    ANY = "addition or multiplication"
    DIVIDE = "division"
    ROOT = "square root"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class LatencyTerm:
    """A step on numbers of a type."""

    step: LatencyStep
    type: ScalarType


_LATENCY_STEPS = {
    ArithmeticKind.ADD: LatencyStep.ADD,
    ArithmeticKind.MULTIPLY: LatencyStep.MULTIPLY,
    ArithmeticKind.ANY: LatencyStep.ANY,
    ArithmeticKind.DIVIDE: LatencyStep.DIVIDE,
    ArithmeticKind.ROOT: LatencyStep.ROOT,
}


def latency_path(
    scop: Scop, statement: Statement, access: expressions.Access
) -> tuple[LatencyTerm, ...] | None:
    """Return the steps of a value that is read there; None where there is no path."""
    if not scop.array(statement.write.array).type.is_floating:
        return None
    steps = list(_latency_paths(statement.body, access))
    if not steps:
        return None
    scalar = lane_type(scop, statement, floating=True)
    longest = max(steps, key=len)
    return tuple(LatencyTerm(step, scalar) for step in longest)


def _latency_paths(
    node: expressions.Expression, access: expressions.Access
) -> Iterator[tuple[LatencyStep, ...]]:
    """Yield the steps of every way from a read to a node."""
    if not node.type.is_floating:
        return
    match node:
        case expressions.Load(loaded):
            if loaded == access:
                yield ()
        case expressions.Cast(operand) | expressions.Unary(
            expressions.UnaryOperator.NEGATE, operand
        ):
            yield from _latency_paths(operand, access)
        case expressions.Binary(operator, left, right):
            for operand in (left, right):
                for path in _latency_paths(operand, access):
                    yield _extend_path(operator, path, operand, _latency_step(node))
        case expressions.Call(expressions.MathFunction.SQRT, (operand,)):
            for path in _latency_paths(operand, access):
                yield (*path, LatencyStep.ROOT)
        case expressions.Call(expressions.MathFunction.FMA, (first, second, third)):
            for factor in (first, second):
                for path in _latency_paths(factor, access):
                    yield (*path, LatencyStep.MULTIPLY_ADD)
            for path in _latency_paths(third, access):
                yield (*path, LatencyStep.ADD)
        case _:
            return


def _latency_step(node: expressions.Binary) -> LatencyStep | None:
    kinds = kinds_of(node)
    return _LATENCY_STEPS[kinds[0]] if kinds else None


def _extend_path(
    operator: expressions.BinaryOperator,
    path: tuple[LatencyStep, ...],
    operand: expressions.Expression,
    step: LatencyStep | None,
) -> tuple[LatencyStep, ...]:
    """Return a path with one more step; a product becomes part of the sum that it is added to."""
    if step is None:
        return path
    is_sum = operator in (expressions.BinaryOperator.ADD, expressions.BinaryOperator.SUBTRACT)
    if (
        is_sum
        and path
        and _is_product(operand)
        and path[-1] in (LatencyStep.MULTIPLY, LatencyStep.ANY)
    ):
        return (*path[:-1], LatencyStep.MULTIPLY_ADD)
    return (*path, step)


def _is_product(node: expressions.Expression) -> bool:
    """Whether a node is a product, or the negative of one."""
    if isinstance(node, expressions.Unary):
        return _is_product(node.operand)
    return (
        isinstance(node, expressions.Binary)
        and node.operator is expressions.BinaryOperator.MULTIPLY
    )
