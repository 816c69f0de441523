"""C conditions to isl sets: which parameter and iterator values make an affine condition true.

Works together with :mod:`polygym.frontend.c.sema.affine`, which reads the operands. The result
is exact: ``!`` is the complement, ``&&`` the intersection, ``||`` the union, and an integer ``e``
by itself means ``e != 0``. As in C the right operand of ``&&`` is only evaluated where the left one
holds, so ``n > 0 && i % n == 0`` may divide by ``n``.
"""

from functools import reduce
from typing import Any, Protocol

import islpy as isl
from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.sema.bindings import ExpressionEnvironment

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


class AffineExpressionReader(Protocol):
    """The reader that turns an affine C expression into a piecewise affine function."""

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
    """Read the right operand of && or ||, only where it is reached if need be."""
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


_MAX_PIECES = 8


def merge_pieces(function: Any) -> Any:
    """Return an equal function, of one piece if some piece's formula is right everywhere."""
    formulas = _formulas(function)
    domain = function.domain()
    for formula in formulas:
        if domain.is_subset(formula.eq_set(function)):
            return formula.intersect_domain(domain)
    return function


def nonnegative_set(function: Any) -> Any:
    """Return the set where a function is at least zero, in as few convex parts as it has."""
    zero = function.scale_val(0)
    formulas = _formulas(function)
    if not formulas:
        return function.ge_set(zero)
    domain = function.domain()
    sets = [formula.ge_set(formula.scale_val(0)) for formula in formulas]
    if all(domain.is_subset(formula.ge_set(function)) for formula in formulas):
        result = reduce(lambda left, right: left.intersect(right), sets)
    elif all(domain.is_subset(formula.le_set(function)) for formula in formulas):
        result = reduce(lambda left, right: left.union(right), sets).coalesce()
    else:
        return function.ge_set(zero)
    # The domain is a union of the pieces' conditions, even where it is everything.
    return result if result.is_subset(domain) else result.intersect(domain)


def _formulas(function: Any) -> list[Any]:
    """Return the formulas of the pieces, each on the whole space; none where it is not worth it."""
    if not 1 < function.n_piece() <= _MAX_PIECES:
        return []
    return [isl.PwAff.from_aff(formula) for _, formula in function.get_pieces()]
