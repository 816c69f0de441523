"""Expressions of derivatives: sums, products and choices of trees, simplified as they are made.

A term that is 0, or a factor that is 1, is left out. Nothing else is reassociated: a derivative is
computed as the chain rule says.
"""

from collections.abc import Iterable

from polygym.errors import SourceLocation
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import Expression, InfixOperator

NOWHERE = SourceLocation("<derivative>", 1, 1, "")


def number(value: int) -> tree.NumberLiteral:
    """Return a literal."""
    return tree.NumberLiteral(value, str(value), NOWHERE)


ZERO, ONE = number(0), number(1)


def signed(value: int) -> Expression:
    """Return a number that may be negative."""
    return number(value) if value >= 0 else negative(number(-value))


def name(text: str) -> tree.NameUse:
    """Return a name without subscripts."""
    return tree.NameUse(text, NOWHERE)


def element(tensor: str, subscripts: Iterable[Expression]) -> Expression:
    """Return an element of a tensor; a scalar is a name."""
    arguments = tuple(subscripts)
    return tree.ElementOrCall(tensor, arguments, NOWHERE) if arguments else name(tensor)


def infix(operator: str, left: Expression, right: Expression) -> tree.InfixExpression:
    """Return ``left operator right`` as it stands."""
    return tree.InfixExpression(InfixOperator(operator), left, right, NOWHERE)


def names_in(*expressions: Expression) -> set[str]:
    """Return the names without subscripts in expressions."""
    return {part.name for part in tree.parts_of(*expressions) if isinstance(part, tree.NameUse)}


def is_number(expression: Expression, value: int) -> bool:
    """Whether an expression is a literal of that value."""
    return isinstance(expression, tree.NumberLiteral) and expression.value == value


def plus(left: Expression, right: Expression) -> Expression:
    """Return a sum; a term twice is two times the term."""
    if is_number(left, 0):
        return right
    if is_number(right, 0):
        return left
    if is_same(left, right):
        return times(number(2), left)
    if isinstance(right, tree.PrefixExpression) and right.operator is tree.PrefixOperator.NEGATE:
        return infix("-", left, right.operand)
    return infix("+", left, right)


def minus(left: Expression, right: Expression) -> Expression:
    """Return a difference."""
    if is_number(right, 0):
        return left
    if isinstance(left, tree.NumberLiteral) and isinstance(right, tree.NumberLiteral):
        if isinstance(left.value, int) and isinstance(right.value, int):
            if left.value >= right.value:
                return number(left.value - right.value)
    return negative(right) if is_number(left, 0) else infix("-", left, right)


def times(left: Expression, right: Expression) -> Expression:
    """Return a product."""
    if is_number(left, 1):
        return right
    if is_number(right, 1):
        return left
    if is_number(left, 0) or is_number(right, 0):
        return ZERO
    return infix("*", left, right)


def negative(operand: Expression) -> Expression:
    """Return the negative of a value."""
    if isinstance(operand, tree.PrefixExpression):
        if operand.operator is tree.PrefixOperator.NEGATE:
            return operand.operand
    if is_number(operand, 0):
        return operand
    return tree.PrefixExpression(tree.PrefixOperator.NEGATE, operand, NOWHERE)


def choice(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """Return ``condition ? then : otherwise``."""
    if is_same(then, otherwise):
        return then
    return tree.ConditionalExpression(condition, then, otherwise, NOWHERE)


def opposite(condition: Expression) -> Expression:
    """Return the condition that another one does not hold."""
    return tree.PrefixExpression(tree.PrefixOperator.NOT, condition, NOWHERE)


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """Return the conjunction of conditions, None without any."""
    result: Expression | None = None
    for condition in conditions:
        result = condition if result is None else infix("&&", result, condition)
    return result


def is_same(one: Expression, other: Expression) -> bool:
    """Whether two expressions are the same, wherever they stand."""
    return expression_text(one) == expression_text(other)
