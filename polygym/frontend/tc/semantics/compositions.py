"""Functions that are made of others: rsqrt(x) is 1 / sqrt(x), norm3d(a, b, c) two times hypot.

Every argument stands once in what they are made of. Single precision is computed in double and
rounded, but for rsqrt and fdivide, which run in vectors so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polygym.ir import expressions as ir
from polygym.ir.expressions import Expression, MathFunction
from polygym.ir.types import ScalarType

CompositionBody = Callable[[Sequence[Expression], ScalarType], Expression]


@dataclass(frozen=True, slots=True)
class FunctionComposition:
    """A function of so many arguments; ``is_double`` says that it is computed in double."""

    arity: int
    body: CompositionBody
    is_double: bool = True

    def expand(self, arguments: Sequence[Expression], own: ScalarType) -> Expression:
        """Return the value for arguments of a type, in this type."""
        if not self.is_double or own is ScalarType.DOUBLE:
            return self.body(arguments, own)
        wide = [ir.Cast(expression, ScalarType.DOUBLE) for expression in arguments]
        return ir.Cast(self.body(wide, ScalarType.DOUBLE), own)


def _called(function: MathFunction) -> CompositionBody:
    return lambda arguments, own: ir.Call(function, tuple(arguments), own)


def _inverse(body: CompositionBody) -> CompositionBody:
    def found(arguments: Sequence[Expression], own: ScalarType) -> Expression:
        literal = ir.FloatLiteral(1.0, own)
        return ir.Binary(ir.BinaryOperator.DIVIDE, literal, body(arguments, own), own)

    return found


def _norm(arguments: Sequence[Expression], own: ScalarType) -> Expression:
    """Return the root of the sum of squares, in pairs."""
    if len(arguments) == 1:
        return arguments[0]
    half = (len(arguments) + 1) // 2
    parts = (_norm(arguments[:half], own), _norm(arguments[half:], own))
    return ir.Call(MathFunction.HYPOT, parts, own)


def _quotient(arguments: Sequence[Expression], own: ScalarType) -> Expression:
    first, second = arguments
    return ir.Binary(ir.BinaryOperator.DIVIDE, first, second, own)


COMPOSITIONS = {
    "rsqrt": FunctionComposition(1, _inverse(_called(MathFunction.SQRT)), is_double=False),
    "rcbrt": FunctionComposition(1, _inverse(_called(MathFunction.CBRT))),
    "rhypot": FunctionComposition(2, _inverse(_norm)),
    "norm3d": FunctionComposition(3, _norm),
    "norm4d": FunctionComposition(4, _norm),
    "rnorm3d": FunctionComposition(3, _inverse(_norm)),
    "rnorm4d": FunctionComposition(4, _inverse(_norm)),
    "fdivide": FunctionComposition(2, _quotient, is_double=False),
    **{
        literal.value: FunctionComposition(1, _called(literal))
        for literal in (MathFunction.J0, MathFunction.J1, MathFunction.Y0, MathFunction.Y1)
    },
}
