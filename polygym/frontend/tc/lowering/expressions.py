"""Expressions of a comprehension → expressions of the program, with C's conversions made explicit.

An expression is translated into a type to which its own widens; literals are made in that type at
once, and sums of them are summed up, so that one which does not fit is refused. Nothing is narrowed
unless a conversion says so.
"""

import math
import operator as integer_operator
from collections.abc import Sequence
from typing import assert_never

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.environment import NameEnvironment, right_operand_environment
from polygym.frontend.tc.semantics.functions import FunctionComposition
from polygym.frontend.tc.semantics.types import (
    UntypedKind,
    callee_of,
    check_fits,
    default_type,
    promoted_type,
    type_of,
    type_text,
    unified_type,
)
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.ir import expressions as ir
from polygym.ir.rounding import round_to_type
from polygym.ir.types import ScalarType

# Operations on literals, which are summed up as integers of any size.
_EXACT = {
    tree.InfixOperator.ADD: integer_operator.add,
    tree.InfixOperator.SUBTRACT: integer_operator.sub,
    tree.InfixOperator.MULTIPLY: integer_operator.mul,
}
_DIVISIONS = (tree.InfixOperator.DIVIDE, tree.InfixOperator.REMAINDER)


def translate_expression(
    expression: tree.Expression, target: ScalarType, environment: NameEnvironment
) -> ir.Expression:
    """Return an expression as one of a type to which its own widens."""
    own = type_of(expression, environment)
    if own is UntypedKind.INTEGER and target.is_integer:
        value = _integer_value(expression)
        if value is not None:
            check_fits(value, expression_text(expression), target, _location_in(expression))
            return ir.IntegerLiteral(value, target)
        if isinstance(expression, tree.ConditionalExpression):
            return _translate(expression, target, environment)
    match expression:
        case tree.NumberLiteral():
            return _literal(
                expression, target if isinstance(own, UntypedKind) else default_type(own), target
            )
        case _ if own is UntypedKind.REAL and target.is_floating:
            within = target.promoted
            return _converted(_translate(expression, within, environment), target)
        case _:
            scalar_type = default_type(own)
            return _converted(_translate(expression, scalar_type, environment), target)


def _integer_value(expression: tree.Expression) -> int | None:
    """Return the value of an integer made of literals, None for any other."""
    match expression:
        case tree.NumberLiteral(int() as value):
            return value
        case tree.PrefixExpression(tree.PrefixOperator.NEGATE, operand):
            inner = _integer_value(operand)
            return None if inner is None else -inner
        case tree.InfixExpression(operator, left, right) if operator in _EXACT:
            first, second = _integer_value(left), _integer_value(right)
            return None if first is None or second is None else _EXACT[operator](first, second)
        case _:
            return None


def _location_in(expression: tree.Expression) -> SourceLocation:
    """Return the place at which an expression begins, more or less: that of its first part."""
    match expression:
        case tree.InfixExpression(_, left):
            return _location_in(left)
        case tree.ConditionalExpression(condition):
            return _location_in(condition)
        case _:
            return expression.location


def _converted(expression: ir.Expression, target: ScalarType) -> ir.Expression:
    """Return a value in another type; integers come to those of 16 bits by way of float."""
    own = expression.type
    if own is target:
        return expression
    real = (ScalarType.FLOAT, ScalarType.DOUBLE)
    if (own.is_storage_only and target not in real) or (target.is_storage_only and own not in real):
        expression = _converted(expression, ScalarType.FLOAT)
    return ir.Cast(expression, target)


def _translate(
    expression: tree.Expression, own: ScalarType, environment: NameEnvironment
) -> ir.Expression:
    """Return an expression in its own type."""

    def part(operand: tree.Expression, target: ScalarType) -> ir.Expression:
        return translate_expression(operand, target, environment)

    def strong(operand: tree.Expression) -> ir.Expression:
        return part(operand, default_type(type_of(operand, environment)))

    def condition_of(operand: tree.Expression) -> ir.Expression:
        result = strong(operand)
        return _converted(result, result.type.promoted) if result.type.is_storage_only else result

    def truth(
        operator: tree.InfixOperator, left: tree.Expression, right: tree.Expression
    ) -> ir.Expression:
        there = right_operand_environment(operator, left, environment)
        value = translate_expression(right, default_type(type_of(right, environment)), there)
        return _is_zero(value, ir.ComparisonOperator.NOT_EQUAL)

    match expression:
        case tree.NumberLiteral():
            return _literal(expression, own, own)
        case tree.NameUse(name, place):
            if name in environment.tensors:
                return _element(tree.ElementOrCall(name, (), place), own, environment)
            if name in environment.iterators:
                return ir.IteratorValue(environment.iterators[name])
            return ir.ParameterValue(environment.sizes[name])
        case tree.ElementOrCall(name):
            if name in environment.tensors:
                return _element(expression, own, environment)
            return _call(expression, own, environment)
        case tree.ConvertExpression(_, operand):
            return _converted(strong(operand), own)
        case tree.PrefixExpression(prefix, operand):
            if prefix is tree.PrefixOperator.NEGATE:
                return ir.Unary(ir.UnaryOperator.NEGATE, part(operand, own), own)
            return _is_zero(condition_of(operand), ir.ComparisonOperator.EQUAL)
        case tree.InfixExpression(tree.InfixOperator.AND, left, right):
            second = truth(tree.InfixOperator.AND, left, right)
            return ir.Conditional(condition_of(left), second, ir.IntegerLiteral(0), ScalarType.INT)
        case tree.InfixExpression(tree.InfixOperator.OR, left, right):
            second = truth(tree.InfixOperator.OR, left, right)
            return ir.Conditional(condition_of(left), ir.IntegerLiteral(1), second, ScalarType.INT)
        case tree.InfixExpression(operator, left, right) if operator in tree.COMPARISONS:
            types = (type_of(left, environment), type_of(right, environment))
            both = default_type(promoted_type(unified_type(*types)))
            comparison = ir.ComparisonOperator(operator.value)
            return ir.Comparison(comparison, part(left, both), part(right, both))
        case tree.InfixExpression(operator, left, right):
            sides = part(left, own), part(right, own)
            binary = ir.Binary(ir.BinaryOperator(operator.value), *sides, own)
            is_checked = operator in _DIVISIONS and own.is_integer
            return _zero_safe_division(binary) if is_checked else binary
        case tree.ConditionalExpression(condition):
            asked = condition_of(condition)
            then, otherwise = (
                translate_expression(arm, own, environment.under_condition(condition, is_true=true))
                for arm, true in ((expression.then, True), (expression.otherwise, False))
            )
            return ir.Conditional(asked, then, otherwise, own)
        case _:
            assert_never(expression)


def _element(
    element: tree.ElementOrCall, own: ScalarType, environment: NameEnvironment
) -> ir.Expression:
    """Return the value of an element of a tensor."""
    access = environment.access(element, environment.condition)
    if not access.gathered:
        return ir.Load(access, own)
    return ir.Gather(access, translate_subscripts(element.arguments, access, environment), own)


def translate_subscripts(
    subscripts: Sequence[tree.Expression], access: ir.Access, environment: NameEnvironment
) -> tuple[ir.Expression, ...]:
    """Return the subscripts of an access that are computed."""
    computed = [subscripts[dimension] for dimension in access.gathered]
    types = [default_type(promoted_type(type_of(part, environment))) for part in computed]
    return tuple(
        translate_expression(*both, environment) for both in zip(computed, types, strict=True)
    )


def translate_conditions(
    conditions: Sequence[tree.Expression], environment: NameEnvironment
) -> ir.Expression | None:
    """Return the conjunction of conditions, None without any."""
    if not conditions:
        return None
    whole = conditions[0]
    for condition in conditions[1:]:
        operator = tree.InfixOperator.AND
        whole = tree.InfixExpression(operator, whole, condition, condition.location)
    return translate_expression(whole, ScalarType.INT, environment)


def _zero_safe_division(division: ir.Binary) -> ir.Expression:
    """Return a division of integers that is 0 where the divisor is, as NumPy has it."""
    match division.right:
        case ir.IntegerLiteral(value) if value:
            return division
        case divisor:
            is_zero = _is_zero(divisor, ir.ComparisonOperator.EQUAL)
            return ir.Conditional(is_zero, zero_constant(division.type), division, division.type)


def _is_zero(operand: ir.Expression, operator: ir.ComparisonOperator) -> ir.Expression:
    if operand.type.is_storage_only:
        operand = _converted(operand, operand.type.promoted)
    return ir.Comparison(operator, operand, zero_constant(operand.type))


def zero_constant(scalar: ScalarType) -> ir.Expression:
    """Return the constant 0 of a type."""
    return ir.IntegerLiteral(0, scalar) if scalar.is_integer else ir.FloatLiteral(0.0, scalar)


def _literal(number: tree.NumberLiteral, own: ScalarType, target: ScalarType) -> ir.Expression:
    """Return a constant of a type."""
    if own.is_integer:
        assert isinstance(number.value, int), number
        return _converted(ir.IntegerLiteral(number.value, own), target)
    return _converted(ir.FloatLiteral(_rounded(number, own), own), target)


def _rounded(number: tree.NumberLiteral, scalar: ScalarType) -> float:
    try:
        value = round_to_type(float(number.value), scalar)
    except OverflowError:
        value = float("inf")
    if value == math.inf != number.value:
        raise SourceError(number.location, f"{number.text} does not fit {type_text(scalar)}")
    return value


def _call(call: tree.ElementOrCall, own: ScalarType, environment: NameEnvironment) -> ir.Expression:
    callee = callee_of(call, environment)
    within = own.promoted if own.is_storage_only else own
    arguments = tuple(translate_expression(part, within, environment) for part in call.arguments)
    if own.is_storage_only:
        assert isinstance(callee.function, ir.MathFunction)
        return _converted(ir.Call(callee.function, arguments, within), own)
    if isinstance(callee.function, FunctionComposition):
        return callee.function.expand(arguments, own)
    if own.is_floating:
        return ir.Call(callee.function, arguments, own)
    if callee.function is ir.MathFunction.FABS:
        return ir.Call(ir.MathFunction.ABS, arguments, own) if own.is_signed else arguments[0]
    return min_or_max(callee.function, *arguments)


def min_or_max(
    function: ir.MathFunction, first: ir.Expression, second: ir.Expression
) -> ir.Expression:
    """Return the larger of two values (MAXIMUM) or the smaller (MINIMUM), of any type."""
    within = first.type.promoted
    both = (_converted(first, within), _converted(second, within))
    if first.type.is_floating:
        return _converted(ir.Call(function, both, within), first.type)
    operator = ir.ComparisonOperator(">" if function is ir.MathFunction.MAXIMUM else "<")
    return ir.Conditional(ir.Comparison(operator, *both), first, second, first.type)


def sum_or_product(
    operator: ir.BinaryOperator, first: ir.Expression, second: ir.Expression
) -> ir.Expression:
    """Return a sum or a product in the type of its operands: bytes are added as C adds to one."""
    within = first.type.promoted
    left, right = _converted(first, within), _converted(second, within)
    return _converted(ir.Binary(operator, left, right, within), first.type)
