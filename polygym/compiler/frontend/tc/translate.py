"""Expressions of a comprehension → expressions of the program, with C's conversions made explicit.

An expression is translated into a type to which its own widens; literals are made in that type at
once, and sums of them are summed up, so that one which does not fit is refused. Nothing is narrowed
unless a conversion says so.
"""

from __future__ import annotations

from typing import assert_never

from polygym.compiler.frontend.tc.compositions import Composition
from polygym.compiler.frontend.tc.environment import Environment, on_the_right
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.syntax import (
    Choice,
    Convert,
    Element,
    Expression,
    Infix,
    Name,
    Number,
    Operator,
    Prefix,
    Prefixed,
)
from polygym.compiler.frontend.tc.types import (
    Weak,
    callee_of,
    check_fits,
    named,
    promoted,
    settled,
    type_of,
    unified,
)
from polygym.compiler.ir import expr as ir
from polygym.compiler.ir.rounding import rounded
from polygym.compiler.ir.types import ScalarType
from polygym.errors import Place, SourceError

_COMPARISONS = {
    Operator.LESS: ir.ComparisonOperator.LESS,
    Operator.LESS_EQUAL: ir.ComparisonOperator.LESS_EQUAL,
    Operator.GREATER: ir.ComparisonOperator.GREATER,
    Operator.GREATER_EQUAL: ir.ComparisonOperator.GREATER_EQUAL,
    Operator.EQUAL: ir.ComparisonOperator.EQUAL,
    Operator.NOT_EQUAL: ir.ComparisonOperator.NOT_EQUAL,
}
_DIVISIONS = (Operator.DIVIDE, Operator.REMAINDER)
_ARITHMETIC = {
    Operator.ADD: ir.BinaryOperator.ADD,
    Operator.SUBTRACT: ir.BinaryOperator.SUBTRACT,
    Operator.MULTIPLY: ir.BinaryOperator.MULTIPLY,
    Operator.DIVIDE: ir.BinaryOperator.DIVIDE,
    Operator.REMAINDER: ir.BinaryOperator.REMAINDER,
}


def translate(
    expression: Expression, target: ScalarType, environment: Environment
) -> ir.Expression:
    """Return an expression as one of a type to which its own widens."""
    own = type_of(expression, environment)
    if own is Weak.INTEGER and target.is_integer:
        value = _whole(expression)
        if value is not None:
            check_fits(value, text_of(expression), target, _place_in(expression))
            return ir.IntegerLiteral(value, target)
        if isinstance(expression, Choice):
            return _translate(expression, target, environment)
    match expression:
        case Number():
            return _literal(expression, target if isinstance(own, Weak) else settled(own), target)
        case _ if own is Weak.REAL and target.is_floating:
            within = target.promoted
            return _converted(_translate(expression, within, environment), target)
        case _:
            found = settled(own)
            return _converted(_translate(expression, found, environment), target)


def _whole(expression: Expression) -> int | None:
    """Return the value of an integer made of literals, None for any other."""
    match expression:
        case Number(int() as value):
            return value
        case Prefixed(Prefix.NEGATE, operand):
            inner = _whole(operand)
            return None if inner is None else -inner
        case Infix(Operator.ADD | Operator.SUBTRACT | Operator.MULTIPLY as operator, left, right):
            first, second = _whole(left), _whole(right)
            if first is None or second is None:
                return None
            return {
                Operator.ADD: first + second,
                Operator.SUBTRACT: first - second,
                Operator.MULTIPLY: first * second,
            }[operator]
        case _:
            return None


def _place_in(expression: Expression) -> Place:
    """Return the place at which an expression begins, more or less: that of its first part."""
    match expression:
        case Infix(_, left):
            return _place_in(left)
        case Choice(condition):
            return _place_in(condition)
        case _:
            return expression.place


def _converted(expression: ir.Expression, target: ScalarType) -> ir.Expression:
    """Return a value in another type; integers come to those of 16 bits by way of float."""
    own = expression.type
    if own is target:
        return expression
    real = (ScalarType.FLOAT, ScalarType.DOUBLE)
    if (own.is_storage and target not in real) or (target.is_storage and own not in real):
        expression = _converted(expression, ScalarType.FLOAT)
    return ir.Cast(expression, target)


def _translate(expression: Expression, own: ScalarType, environment: Environment) -> ir.Expression:
    """Return an expression in its own type."""

    def part(operand: Expression, target: ScalarType) -> ir.Expression:
        return translate(operand, target, environment)

    def strong(operand: Expression) -> ir.Expression:
        return part(operand, settled(type_of(operand, environment)))

    def condition_of(operand: Expression) -> ir.Expression:
        found = strong(operand)
        return _converted(found, found.type.promoted) if found.type.is_storage else found

    def truth(operator: Operator, left: Expression, right: Expression) -> ir.Expression:
        there = on_the_right(operator, left, environment)
        value = translate(right, settled(type_of(right, environment)), there)
        return _is_zero(value, ir.ComparisonOperator.NOT_EQUAL)

    match expression:
        case Number():
            return _literal(expression, own, own)
        case Name(name, place):
            if name in environment.tensors:
                return _element(Element(name, (), place), own, environment)
            if name in environment.iterators:
                return ir.IteratorValue(environment.iterators[name])
            return ir.ParameterValue(environment.sizes[name])
        case Element(name):
            if name in environment.tensors:
                return _element(expression, own, environment)
            return _call(expression, own, environment)
        case Convert(_, operand):
            return _converted(strong(operand), own)
        case Prefixed(prefix, operand):
            if prefix is Prefix.NEGATE:
                return ir.Unary(ir.UnaryOperator.NEGATE, part(operand, own), own)
            return _is_zero(condition_of(operand), ir.ComparisonOperator.EQUAL)
        case Infix(Operator.AND, left, right):
            second = truth(Operator.AND, left, right)
            return ir.Conditional(condition_of(left), second, ir.IntegerLiteral(0), ScalarType.INT)
        case Infix(Operator.OR, left, right):
            second = truth(Operator.OR, left, right)
            return ir.Conditional(condition_of(left), ir.IntegerLiteral(1), second, ScalarType.INT)
        case Infix(operator, left, right) if operator in _COMPARISONS:
            types = (type_of(left, environment), type_of(right, environment))
            both = settled(promoted(unified(*types)))
            return ir.Comparison(_COMPARISONS[operator], part(left, both), part(right, both))
        case Infix(operator, left, right):
            first, second = part(left, own), part(right, own)
            found = ir.Binary(_ARITHMETIC[operator], first, second, own)
            return _defined(found) if operator in _DIVISIONS and own.is_integer else found
        case Choice(condition, then, otherwise):
            return ir.Conditional(
                condition_of(condition),
                translate(then, own, environment.where(condition, holds=True)),
                translate(otherwise, own, environment.where(condition, holds=False)),
                own,
            )
        case _:
            assert_never(expression)


def _element(element: Element, own: ScalarType, environment: Environment) -> ir.Expression:
    """Return the value of an element of a tensor."""
    access = environment.access(element, environment.condition)
    if not access.gathered:
        return ir.Load(access, own)
    computed = [element.arguments[dimension] for dimension in access.gathered]
    types = [settled(promoted(type_of(one, environment))) for one in computed]
    values = (translate(*both, environment) for both in zip(computed, types, strict=True))
    return ir.Gather(access, tuple(values), own)


def _defined(division: ir.Binary) -> ir.Expression:
    """Return a division of integers that is 0 where the divisor is, as NumPy has it."""
    match division.right:
        case ir.IntegerLiteral(value) if value:
            return division
        case divisor:
            is_zero = _is_zero(divisor, ir.ComparisonOperator.EQUAL)
            return ir.Conditional(is_zero, zero(division.type), division, division.type)


def _is_zero(operand: ir.Expression, operator: ir.ComparisonOperator) -> ir.Expression:
    if operand.type.is_storage:
        operand = _converted(operand, operand.type.promoted)
    return ir.Comparison(operator, operand, zero(operand.type))


def zero(scalar: ScalarType) -> ir.Expression:
    """Return the constant 0 of a type."""
    return ir.IntegerLiteral(0, scalar) if scalar.is_integer else ir.FloatLiteral(0.0, scalar)


def _literal(number: Number, own: ScalarType, target: ScalarType) -> ir.Expression:
    """Return a constant of a type."""
    if own.is_integer:
        assert isinstance(number.value, int), number
        return _converted(ir.IntegerLiteral(number.value, own), target)
    return _converted(ir.FloatLiteral(_rounded(number, own), own), target)


def _rounded(number: Number, scalar: ScalarType) -> float:
    try:
        value = rounded(float(number.value), scalar)
    except OverflowError:
        value = float("inf")
    if value in (float("inf"), float("-inf")):
        raise SourceError(number.place, f"{number.text} does not fit {named(scalar)}")
    return value


def _call(call: Element, own: ScalarType, environment: Environment) -> ir.Expression:
    callee = callee_of(call, environment)
    if own.is_storage:
        within = own.promoted
        operands = [translate(argument, within, environment) for argument in call.arguments]
        assert isinstance(callee.function, ir.MathFunction)
        return _converted(ir.Call(callee.function, tuple(operands), within), own)
    arguments = tuple(translate(argument, own, environment) for argument in call.arguments)
    if isinstance(callee.function, Composition):
        return callee.function.of(arguments, own)
    if own.is_floating:
        return ir.Call(callee.function, arguments, own)
    if callee.function is ir.MathFunction.FABS:
        return ir.Call(ir.MathFunction.ABS, arguments, own) if own.is_signed else arguments[0]
    return extreme(callee.function, *arguments)


def extreme(
    function: ir.MathFunction, first: ir.Expression, second: ir.Expression
) -> ir.Expression:
    """Return the larger of two values (FMAX) or the smaller (FMIN), of any type."""
    if first.type.is_floating:
        within = first.type.promoted
        both = (_converted(first, within), _converted(second, within))
        return _converted(ir.Call(function, both, within), first.type)
    greater = ir.ComparisonOperator.GREATER
    less = ir.ComparisonOperator.LESS
    operator = greater if function is ir.MathFunction.FMAX else less
    within = first.type.promoted
    larger = ir.Comparison(operator, _converted(first, within), _converted(second, within))
    return ir.Conditional(larger, first, second, first.type)


def combined(
    operator: ir.BinaryOperator, first: ir.Expression, second: ir.Expression
) -> ir.Expression:
    """Return a sum or a product in the type of its operands: bytes are added as C adds to one."""
    within = first.type.promoted
    left, right = _converted(first, within), _converted(second, within)
    return _converted(ir.Binary(operator, left, right, within), first.type)
