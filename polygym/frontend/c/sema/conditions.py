"""C conditions to isl sets: which parameter and iterator values make an affine condition true.

Works together with :mod:`polygym.frontend.c.sema.affine`, which reads the operands. The result
is exact: ``!`` is the complement, ``&&`` the intersection, ``||`` the union, and an integer ``e``
by itself means ``e != 0``. As in C the right operand of ``&&`` is only evaluated where the left one
holds, so ``n > 0 && i % n == 0`` may divide by ``n``.
"""

from __future__ import annotations

from typing import Any, Protocol

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.sema.bindings import ExpressionEnvironment
from polygym.frontend.c.sema.min_max import nonnegative_set

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


class AffineExpressionReader(Protocol):
    """Whatever turns an affine C expression into a piecewise affine function."""

    def expression(self, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return the expression's value."""

    def operands(
        self, left: Any, right: Any, environment: ExpressionEnvironment
    ) -> tuple[Any, Any]:
        """Return the values of two operands, as C compares them."""

    def within_piece_limit(self, node: Any, condition: Any) -> Any:
        """Return a condition that is not too complex to work with."""


def read_condition(
    reader: AffineExpressionReader, node: Any, environment: ExpressionEnvironment
) -> Any:
    """Return the set where a condition holds (compare :meth:`Affine.condition`)."""
    match node:
        case c_ast.BinaryOp(op="&&"):
            left = read_condition(reader, node.left, environment)
            both = left.intersect(_right_operand(reader, node.right, environment, left))
            return reader.within_piece_limit(node.right, both)
        case c_ast.BinaryOp(op="||"):
            left = read_condition(reader, node.left, environment)
            right = _right_operand(reader, node.right, environment, left.complement())
            return reader.within_piece_limit(node.right, left.union(right).coalesce())
        case c_ast.UnaryOp(op="!"):
            holds = read_condition(reader, node.expr, environment)
            return reader.within_piece_limit(node, holds.complement())
        case c_ast.BinaryOp() if node.op in COMPARISONS:
            left, right = reader.operands(node.left, node.right, environment)
            return comparison_set(node.op, left, right)
        case _:
            value = reader.expression(node, environment)
            return value.ne_set(value.scale_val(0))


def _right_operand(
    reader: AffineExpressionReader, node: Any, environment: ExpressionEnvironment, reached: Any
) -> Any:
    """Read the right operand of && or ||: where it is reached, if it has no meaning elsewhere."""
    try:
        return read_condition(reader, node, environment)
    except SourceError:
        return read_condition(reader, node, environment.restricted_to(reached))


def comparison_set(operator: str, left: Any, right: Any) -> Any:
    """Return the set where ``left operator right`` holds."""
    if operator in ("==", "!="):
        return left.eq_set(right) if operator == "==" else left.ne_set(right)
    difference = right.sub(left) if operator[0] == "<" else left.sub(right)
    return nonnegative_set(difference if "=" in operator else difference.add_constant_val(-1))
