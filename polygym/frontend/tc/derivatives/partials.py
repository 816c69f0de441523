"""Partial derivatives of an expression with respect to the elements that it reads.

With an expression v and a number D, the derivative of some result with respect to v, each element
e that v reads gets D · ∂v/∂e. D goes down the tree, from an operator to its operands: of ``f(a) *
b`` the operand ``b`` gets ``D * f(a)`` and ``a`` gets ``D * b * f'(a)``. Under ``c ? a : b`` an
element of ``a`` gets it where c holds; these conditions are kept beside the derivative.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from polygym.errors import SourceError
from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import FLOATS
from polygym.frontend.tc.derivatives.functions import partial_derivative
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import Expression, InfixOperator


@dataclass(frozen=True, slots=True)
class Partial:
    """The derivative with respect to one element, where the ``conditions`` hold."""

    element: tree.ElementOrCall
    derivative: Expression
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class PartialDerivatives:
    """What is differentiated by: the elements of the tensors for which ``varies`` holds."""

    varies: Callable[[str], bool]
    is_tensor: Callable[[str], bool]

    def depends(self, expression: Expression) -> bool:
        """Whether the derivative of an expression may be other than 0."""
        match expression:
            case tree.NameUse(name):
                return self.varies(name)
            case tree.ElementOrCall(name, arguments):
                return (
                    self.varies(name) if self.is_tensor(name) else any(map(self.depends, arguments))
                )
            case tree.ConvertExpression(scalar, operand):
                return scalar in FLOATS and self.depends(operand)
            case tree.InfixExpression(operator, left, right):
                is_smooth = operator in tree.ARITHMETIC and operator is not InfixOperator.REMAINDER
                return is_smooth and (self.depends(left) or self.depends(right))
            case tree.PrefixExpression(operator, operand):
                return operator is tree.PrefixOperator.NEGATE and self.depends(operand)
            case tree.ConditionalExpression(_, then, otherwise):
                return self.depends(then) or self.depends(otherwise)
            case tree.NumberLiteral():
                return False
            case _:
                assert_never(expression)

    def of(
        self,
        expression: Expression,
        derivative: Expression,
        result: Expression | None,
        conditions: tuple[Expression, ...] = (),
    ) -> Iterator[Partial]:
        """Yield the partial derivatives; ``result`` is where the value is kept, if it is.

        Raises:
            SourceError: a function has no derivative.
        """
        if not self.depends(expression):
            return
        match expression:
            case tree.NameUse(name, place):
                yield Partial(tree.ElementOrCall(name, (), place), derivative, conditions)
            case tree.ElementOrCall(name) if self.is_tensor(name):
                yield Partial(expression, derivative, conditions)
            case tree.ElementOrCall():
                yield from self._of_call(expression, derivative, result, conditions)
            case tree.ConvertExpression(_, operand):
                yield from self.of(operand, derivative, result, conditions)
            case tree.PrefixExpression(_, operand):
                yield from self.of(operand, arithmetic.negative(derivative), None, conditions)
            case tree.InfixExpression():
                yield from self._of_infix(expression, derivative, result, conditions)
            case tree.ConditionalExpression(condition, then, otherwise):
                holds = (*conditions, condition)
                fails = (*conditions, arithmetic.opposite(condition))
                yield from self.of(then, derivative, result, holds)
                yield from self.of(otherwise, derivative, result, fails)
            case tree.NumberLiteral():
                pass
            case _:
                assert_never(expression)

    def _of_infix(
        self,
        expression: tree.InfixExpression,
        derivative: Expression,
        result: Expression | None,
        conditions: tuple[Expression, ...],
    ) -> Iterator[Partial]:
        left, right = expression.left, expression.right
        match expression.operator:
            case InfixOperator.ADD:
                yield from self.of(left, derivative, None, conditions)
                yield from self.of(right, derivative, None, conditions)
            case InfixOperator.SUBTRACT:
                yield from self.of(left, derivative, None, conditions)
                yield from self.of(right, arithmetic.negative(derivative), None, conditions)
            case InfixOperator.MULTIPLY:
                yield from self.of(left, arithmetic.times(derivative, right), None, conditions)
                yield from self.of(right, arithmetic.times(derivative, left), None, conditions)
            case InfixOperator.DIVIDE:
                inverse = self.depends(right)  # which loops may have in common, and is no integer
                quotient = _divided(derivative, right, by_inverse=inverse)
                yield from self.of(left, quotient, None, conditions)
                product = arithmetic.times(quotient, result or expression)
                yield from self.of(right, arithmetic.negative(product), None, conditions)
            case _:
                raise AssertionError(expression.operator)

    def _of_call(
        self,
        call: tree.ElementOrCall,
        derivative: Expression,
        result: Expression | None,
        conditions: tuple[Expression, ...],
    ) -> Iterator[Partial]:
        varying = [self.depends(argument) for argument in call.arguments]
        for place, argument in enumerate(call.arguments):
            if not varying[place]:
                continue
            others = any(varying[:place]) or any(varying[place + 1 :])
            factor = partial_derivative(call, place, result or call, others_vary=others)
            if factor is None:
                raise SourceError(
                    call.location,
                    f"{call.name} has no derivative among the functions of the language",
                    "detach its arguments, or write the gradient",
                )
            yield from self.of(argument, _scaled(derivative, factor), None, conditions)


def _divided(derivative: Expression, divisor: Expression, *, by_inverse: bool) -> Expression:
    if by_inverse:
        return arithmetic.times(derivative, arithmetic.infix("/", arithmetic.ONE, divisor))
    return arithmetic.infix("/", derivative, divisor)


def _scaled(derivative: Expression, factor: Expression) -> Expression:
    """Return a product that is 0 where a choice among factors is 0, whatever the derivative is."""
    if isinstance(factor, tree.ConditionalExpression):
        then, otherwise = (_scaled(derivative, arm) for arm in (factor.then, factor.otherwise))
        return arithmetic.choice(factor.condition, then, otherwise)
    return arithmetic.times(derivative, factor)


def summed(partials: Iterator[Partial]) -> list[Partial]:
    """Return the derivatives with those of one element under the same conditions added up."""
    result: dict[tuple[str, ...], Partial] = {}
    for partial in partials:
        if arithmetic.is_number(partial.derivative, 0):
            continue
        texts = (partial.element, *partial.conditions)
        key = tuple(map(expression_text, texts))
        before = result.get(key)
        if before is not None:
            total = arithmetic.plus(before.derivative, partial.derivative)
            partial = replace(before, derivative=total)
        result[key] = partial
    return list(result.values())
