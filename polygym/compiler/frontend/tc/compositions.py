"""Functions that are made of others: rsqrt(x) is 1 / sqrt(x), norm3d(a, b, c) two times hypot.

Every argument stands once in what they are made of. Single precision is computed in double and
rounded, but for rsqrt and fdivide, which run in vectors so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polygym.compiler.ir import expr as ir
from polygym.compiler.ir.expr import Expression, MathFunction
from polygym.compiler.ir.types import ScalarType

Body = Callable[[Sequence[Expression], ScalarType], Expression]


@dataclass(frozen=True, slots=True)
class Composition:
    """A function of so many arguments; ``wide`` says that it is computed in double."""

    arity: int
    body: Body
    wide: bool = True

    def of(self, arguments: Sequence[Expression], own: ScalarType) -> Expression:
        """Return the value for arguments of a type, in this type."""
        if not self.wide or own is ScalarType.DOUBLE:
            return self.body(arguments, own)
        wide = [ir.Cast(one, ScalarType.DOUBLE) for one in arguments]
        return ir.Cast(self.body(wide, ScalarType.DOUBLE), own)


def _called(function: MathFunction) -> Body:
    return lambda arguments, own: ir.Call(function, tuple(arguments), own)


def _inverse(body: Body) -> Body:
    def found(arguments: Sequence[Expression], own: ScalarType) -> Expression:
        one = ir.FloatLiteral(1.0, own)
        return ir.Binary(ir.BinaryOperator.DIVIDE, one, body(arguments, own), own)

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
    "rsqrt": Composition(1, _inverse(_called(MathFunction.SQRT)), wide=False),
    "rcbrt": Composition(1, _inverse(_called(MathFunction.CBRT))),
    "rhypot": Composition(2, _inverse(_norm)),
    "norm3d": Composition(3, _norm),
    "norm4d": Composition(4, _norm),
    "rnorm3d": Composition(3, _inverse(_norm)),
    "rnorm4d": Composition(4, _inverse(_norm)),
    "fdivide": Composition(2, _quotient, wide=False),
    **{
        one.value: Composition(1, _called(one))
        for one in (MathFunction.J0, MathFunction.J1, MathFunction.Y0, MathFunction.Y1)
    },
}
