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
"""

from dataclasses import dataclass
from enum import Enum
from math import frexp
from typing import assert_never

from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Comparison,
    Conditional,
    Expression,
    FloatLiteral,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    MathFunction,
    ParameterValue,
    Unary,
    UnaryOperator,
    Update,
    walk,
)
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
    BinaryOperator.BIT_AND,
    BinaryOperator.BIT_OR,
    BinaryOperator.BIT_XOR,
    BinaryOperator.SHIFT_LEFT,
    BinaryOperator.SHIFT_RIGHT,
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


def kinds_of(node: Expression) -> tuple[ArithmeticKind, ...]:
    """Return what an operator takes at least; nothing where it may cost nothing."""
    if not has_data(node):
        return ()
    match node:
        case Binary(operator, left, right, scalar):
            kind = _kind_of_binary(operator, left, right, scalar)
            return () if kind is None else (kind,)
        case Comparison():
            return (ArithmeticKind.ANY,)
        case Call(function=MathFunction.SQRT):
            return (ArithmeticKind.ROOT,)
        case Call(function=MathFunction.FMA):
            return (ArithmeticKind.ADD, ArithmeticKind.MULTIPLY)
        case Call(function=MathFunction.FABS | MathFunction.COPYSIGN):
            return ()
        case Call():
            return (ArithmeticKind.ANY,)
        case (
            Unary()
            | Cast()
            | Conditional()
            | Update()
            | Load()
            | Gather()
            | IntegerLiteral()
            | FloatLiteral()
            | IteratorValue()
            | ParameterValue()
        ):
            return ()
        case _:
            assert_never(node)


def _kind_of_binary(
    operator: BinaryOperator, left: Expression, right: Expression, scalar: ScalarType
) -> ArithmeticKind | None:
    constant = is_constant(left) or is_constant(right)
    if scalar.is_integer:
        return _kind_of_integers(operator, right, constant=constant)
    match operator:
        case BinaryOperator.ADD | BinaryOperator.SUBTRACT:
            return (
                None
                if {0.0, None} & {_literal_value(left, 1.0), _literal_value(right, 1.0)}
                else ArithmeticKind.ADD
            )
        case BinaryOperator.MULTIPLY:
            return _kind_of_product(left, right)
        case BinaryOperator.DIVIDE:
            divisor = _literal_value(right, 3.0)
            if divisor is None or abs(divisor) == 1.0:
                return None
            return ArithmeticKind.ANY if _is_power_of_two(divisor) else ArithmeticKind.DIVIDE
        case _:
            return ArithmeticKind.ANY


def _kind_of_product(left: Expression, right: Expression) -> ArithmeticKind | None:
    values = [_literal_value(left, 3.0), _literal_value(right, 3.0)]
    if None in values or any(value is not None and abs(value) in (0.0, 1.0) for value in values):
        return None
    special = any(value is not None and _is_power_of_two(value) for value in values)
    return ArithmeticKind.ANY if special else ArithmeticKind.MULTIPLY


def _kind_of_integers(
    operator: BinaryOperator, right: Expression, *, constant: bool
) -> ArithmeticKind | None:
    if operator in (BinaryOperator.DIVIDE, BinaryOperator.REMAINDER):
        return None if is_constant(right) else ArithmeticKind.DIVIDE
    return None if constant or operator in _BIT_OPERATORS else ArithmeticKind.ANY


def has_data(node: Expression) -> bool:
    """Whether an expression reads memory."""
    return any(isinstance(expression, Load | Gather) for expression in walk(node))


def is_constant(node: Expression) -> bool:
    """Whether an expression has one value for all instances: of literals and parameters alone."""
    return not any(
        isinstance(expression, Load | Gather | IteratorValue) for expression in walk(node)
    )


def _literal_value(node: Expression, usual: float) -> float | None:
    """Return a literal's value, None for another constant, and the usual one for what varies."""
    match node:
        case FloatLiteral() | IntegerLiteral():
            return float(node.value)
        case Cast(operand):
            return _literal_value(operand, usual)
        case Unary(UnaryOperator.NEGATE, operand):
            value = _literal_value(operand, usual)
            return None if value is None else -value
        case _:
            return None if is_constant(node) else usual


def _is_power_of_two(value: float) -> bool:
    return value != 0 and abs(frexp(value)[0]) == 0.5
