"""C's implicit conversions made explicit: the builders of typed expressions.

``f * 2`` with a float ``f`` is ``f * 2.0f``; ``i / 2.0`` converts ``i`` to double. Constants are
converted here and now where the result is the same as at run time, so ``y[i] = 0`` stores the
literal ``0.0``.
"""

import math
import operator as python_operator

from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    FloatLiteral,
    IntegerLiteral,
    Unary,
    UnaryOperator,
)
from polygym.ir.rounding import round_to_type
from polygym.ir.types import ScalarType, common_type

INTEGER_ONLY = frozenset(
    {
        BinaryOperator.REMAINDER,
        BinaryOperator.SHIFT_LEFT,
        BinaryOperator.SHIFT_RIGHT,
        BinaryOperator.BIT_AND,
        BinaryOperator.BIT_OR,
        BinaryOperator.BIT_XOR,
    }
)
_FOLDED = {
    BinaryOperator.ADD: python_operator.add,
    BinaryOperator.SUBTRACT: python_operator.sub,
    BinaryOperator.MULTIPLY: python_operator.mul,
    BinaryOperator.DIVIDE: python_operator.truediv,
}
SHIFTS = frozenset({BinaryOperator.SHIFT_LEFT, BinaryOperator.SHIFT_RIGHT})


def convert_to_type(expression: Expression, scalar: ScalarType) -> Expression:
    """Return an expression converted to a type; a constant becomes a constant of that type.

    An integer too large for the floating type's mantissa is rounded as the machine does, so it may
    be folded too; a floating constant that becomes an integer is left to the machine.
    """
    match expression:
        case _ if expression.type is scalar:
            return expression
        case IntegerLiteral(value=value) if scalar.is_integer and (
            scalar.lowest <= value <= scalar.highest
        ):
            return IntegerLiteral(value, scalar)
        case IntegerLiteral(value=value) if scalar.is_floating and abs(value) < 1 << 24:
            return FloatLiteral(float(value), scalar)
        case FloatLiteral(value=value) if scalar.is_floating:
            return FloatLiteral(round_to_type(value, scalar), scalar)
        case _:
            return Cast(expression, scalar)


def binary_expression(operator: BinaryOperator, left: Expression, right: Expression) -> Expression:
    """Return ``left op right`` in the type that C computes it in."""
    if operator in SHIFTS:
        # Each operand is promoted by itself.
        left = convert_to_type(left, left.type.promoted)
        return Binary(operator, left, convert_to_type(right, right.type.promoted), left.type)
    scalar = common_type(left.type, right.type)
    return Binary(operator, convert_to_type(left, scalar), convert_to_type(right, scalar), scalar)


def comparison_expression(
    operator: ComparisonOperator, left: Expression, right: Expression
) -> Expression:
    """Return the comparison of two operands in their common type."""
    scalar = common_type(left.type, right.type)
    return Comparison(operator, convert_to_type(left, scalar), convert_to_type(right, scalar))


def zero_of_type(scalar: ScalarType) -> Expression:
    """Return the constant 0 of a type."""
    return convert_to_type(IntegerLiteral(0), scalar)


def truth_value(expression: Expression) -> Expression:
    """Return ``expression != 0``, or the expression itself where it is 0 or 1 already."""
    if isinstance(expression, Comparison):
        return expression
    return Comparison(ComparisonOperator.NOT_EQUAL, expression, zero_of_type(expression.type))


def conditional(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """Return ``condition ? then : otherwise`` with both arms in their common type."""
    scalar = common_type(then.type, otherwise.type)
    return Conditional(
        condition, convert_to_type(then, scalar), convert_to_type(otherwise, scalar), scalar
    )


def folded_constant(expression: Expression, scalar: ScalarType) -> int | float | None:
    """Return the value of a constant expression as it is stored in a scalar, None for any other.

    >>> folded_constant(binary_expression(BinaryOperator.DIVIDE, FloatLiteral(1.0),
    ...     IntegerLiteral(4)),
    ...                ScalarType.DOUBLE)
    0.25
    """
    match convert_to_type(expression, scalar):
        case IntegerLiteral(value=value) | FloatLiteral(value=value):
            return value
        case Unary(operator=UnaryOperator.NEGATE, operand=operand, type=kind):
            inner = folded_constant(operand, kind)
            if inner is None or kind.is_floating:
                return None if inner is None else -inner
            return _representable(-int(inner), kind)
        case Cast(operand=operand):
            inner = folded_constant(operand, operand.type)
            if inner is None or not math.isfinite(inner):
                return None
            if scalar is ScalarType.BOOL:
                return int(inner != 0)
            if scalar.is_integer and operand.type.is_integer:
                return _wrapped(int(inner), scalar)
            if scalar.is_integer:
                return _representable(int(inner), scalar)
            return round_to_type(float(inner), scalar)
        case Binary(operator=operator, left=left, right=right, type=kind) if kind.is_floating:
            first, second = folded_constant(left, kind), folded_constant(right, kind)
            operation = _FOLDED.get(operator)
            if first is None or second is None or operation is None:
                return None
            if operator is BinaryOperator.DIVIDE and second == 0:
                return None
            return round_to_type(operation(float(first), float(second)), kind)
        case Binary(operator=operator, left=left, right=right, type=kind):
            # A shift's right operand has a type of its own.
            number, other = folded_constant(left, kind), folded_constant(right, right.type)
            if not isinstance(number, int) or not isinstance(other, int):
                return None
            return _integer_result(operator, number, other, kind)
        case _:
            return None


def _integer_result(
    operator: BinaryOperator, left: int, right: int, scalar: ScalarType
) -> int | None:
    """Return ``left op right`` of integers, None where C defines none."""
    match operator:
        case BinaryOperator.ADD:
            return _representable(left + right, scalar)
        case BinaryOperator.SUBTRACT:
            return _representable(left - right, scalar)
        case BinaryOperator.MULTIPLY:
            return _representable(left * right, scalar)
        case BinaryOperator.SHIFT_LEFT if left >= 0 and 0 <= right < scalar.bits:
            return _representable(left << right, scalar)
        case BinaryOperator.DIVIDE | BinaryOperator.REMAINDER if right:
            # C rounds towards zero, Python down.
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            result = quotient if operator is BinaryOperator.DIVIDE else left - quotient * right
            return _representable(result, scalar)
        case _:
            return None


def _representable(value: int, scalar: ScalarType) -> int | None:
    """Return what a type holds of an integer; None where a signed type overflows."""
    if not scalar.is_signed:
        return _wrapped(value, scalar)
    return value if scalar.lowest <= value <= scalar.highest else None


def _wrapped(value: int, scalar: ScalarType) -> int:
    """Return the integer of a type that has the same last bits."""
    return (value - scalar.lowest) % (1 << scalar.bits) + scalar.lowest
