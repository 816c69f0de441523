"""Functions of parameters and iterators as expressions: what isl knows, computed when it runs.

A piece of a function is a sum of multiples, of parameters, iterators and floors; the pieces become
a chain of ``?:``. All is computed in 64 bits, where nothing overflows that fits the variable which
the function is the value of::

    [n, i] -> { [] -> [(2n - i)] : i > 3; [] -> [(0)] : i <= 3 }        i > 3 ? 2 * n - i : 0

C conditions to isl sets: which parameter and iterator values make an affine condition true.

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
from polygym.frontend.c.sema.arithmetic import (
    binary_expression,
    comparison_expression,
    convert_to_type,
)
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment
from polygym.ir.expressions import (
    BinaryOperator,
    ComparisonOperator,
    Conditional,
    Expression,
    IntegerLiteral,
    IteratorValue,
    ParameterValue,
)
from polygym.ir.types import ScalarType
from polygym.poly.isl_values import to_int

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
    """Return the set where a condition holds.

    Compare :meth:`polygym.frontend.c.sema.affine.AffineReader.condition`.
    """
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


_MAX_MERGED_PIECES = 8


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
    if not 1 < function.n_piece() <= _MAX_MERGED_PIECES:
        return []
    return [isl.PwAff.from_aff(formula) for _, formula in function.get_pieces()]


_MAX_PIECES = 6
_MAX_CONSTRAINTS = 4
_LONG = ScalarType.LONG


def affine_expression(
    function: Any, scalar: ScalarType, environment: ExpressionEnvironment, bindings: Bindings
) -> Expression | None:
    """Return a function as an expression of a type; None if it is too complex for that."""
    if environment.domain.is_empty():
        return convert_to_type(IntegerLiteral(0), scalar)
    function = function.gist(environment.domain).coalesce()
    if function.n_piece() > _MAX_PIECES:
        return None
    known: dict[str, Expression] = {
        bindings.name(symbol): ParameterValue(bindings.name(symbol), kind)
        for symbol, kind in bindings.parameters.items()
    }
    known |= {
        iterator.name: IteratorValue(iterator.name, iterator.type)
        for iterator in environment.iterators.values()
    }
    result: Expression | None = None
    for where, form in reversed(function.get_pieces()):
        piece = _form(form, known)
        if piece is None:
            return None
        if result is None:
            result = piece  # the pieces cover all there is: the last one needs no condition
            continue
        condition = _condition(where, known)
        if condition is None:
            return None
        first, second = convert_to_type(piece, _LONG), convert_to_type(result, _LONG)
        result = Conditional(condition, first, second, _LONG)
    return None if result is None else convert_to_type(result, scalar)


def _form(form: Any, known: dict[str, Expression]) -> Expression | None:
    """Return an affine form as an expression; None if one of its numbers is wider than long."""
    denominator = to_int(form.get_denominator_val())
    terms: list[tuple[Expression, int]] = []
    for index in range(form.dim(isl.dim_type.param)):
        factor = _scaled(form.get_coefficient_val(isl.dim_type.param, index), denominator)
        if factor:
            name = form.get_dim_name(isl.dim_type.param, index)
            if name not in known:
                return None
            terms.append((known[name], factor))
    for index in range(form.dim(isl.dim_type.div)):
        factor = _scaled(form.get_coefficient_val(isl.dim_type.div, index), denominator)
        if factor:
            inner = _form(form.get_div(index), known)
            if inner is None:
                return None
            terms.append((inner, factor))
    constant = _scaled(form.get_constant_val(), denominator)
    numbers = (denominator, constant, *(factor for _, factor in terms))
    if max(map(abs, numbers)) > _LONG.highest:
        return None
    total = _sum(terms, constant)
    return total if denominator == 1 else _quotient(total, denominator)


def _scaled(value: Any, denominator: int) -> int:
    return to_int(value.mul(isl.Val(str(denominator), value.get_ctx())))


def _sum(terms: list[tuple[Expression, int]], constant: int) -> Expression:
    """Return a sum of multiples."""
    if len(terms) == 1 and terms[0][1] == 1 and not constant:
        return terms[0][0]
    if not terms:
        return IntegerLiteral(constant, ScalarType.INT if abs(constant) < 1 << 31 else _LONG)
    result: Expression | None = None
    for term, factor in sorted(terms, key=lambda pair: pair[1] < 0):
        part: Expression = convert_to_type(term, _LONG)
        if abs(factor) != 1 or (result is None and factor < 0):
            size = abs(factor) if result is not None else factor
            part = binary_expression(BinaryOperator.MULTIPLY, IntegerLiteral(size, _LONG), part)
        operator = BinaryOperator.ADD if factor > 0 else BinaryOperator.SUBTRACT
        result = part if result is None else binary_expression(operator, result, part)
    assert result is not None
    if constant:
        operator = BinaryOperator.ADD if constant > 0 else BinaryOperator.SUBTRACT
        result = binary_expression(operator, result, IntegerLiteral(abs(constant), _LONG))
    return result


def _quotient(total: Expression, denominator: int) -> Expression:
    """Return a quotient e / d, rounded down: ``e >= 0 ? e / d : -((d - 1 - e) / d)``."""
    total = convert_to_type(total, _LONG)
    divisor = IntegerLiteral(denominator, _LONG)
    zero = IntegerLiteral(0, _LONG)
    above = binary_expression(BinaryOperator.DIVIDE, total, divisor)
    over = binary_expression(BinaryOperator.SUBTRACT, IntegerLiteral(denominator - 1, _LONG), total)
    below = binary_expression(
        BinaryOperator.SUBTRACT, zero, binary_expression(BinaryOperator.DIVIDE, over, divisor)
    )
    condition = comparison_expression(ComparisonOperator.GREATER_EQUAL, total, zero)
    return Conditional(condition, above, below, _LONG)


def _condition(where: Any, known: dict[str, Expression]) -> Expression | None:
    """Return a set of parameters and iterators as a condition."""
    parts = where.compute_divs().get_basic_sets()
    if len(parts) > _MAX_CONSTRAINTS:
        return None
    result: Expression | None = None
    for basic_set in parts:
        whole: Expression | None = None
        for constraint in basic_set.get_constraints():
            value = _form(constraint.get_aff(), known)
            if value is None:
                return None
            operator = ComparisonOperator("==" if constraint.is_equality() else ">=")
            sides = convert_to_type(value, _LONG), IntegerLiteral(0, _LONG)
            part = comparison_expression(operator, *sides)
            if whole is not None:
                part = Conditional(whole, part, IntegerLiteral(0), ScalarType.INT)
            whole = part
        if whole is None:
            whole = IntegerLiteral(1)
        yes = IntegerLiteral(1)
        result = whole if result is None else Conditional(result, yes, whole, ScalarType.INT)
    return result
