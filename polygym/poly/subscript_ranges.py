"""Computed subscripts that are in range for sure, by ranges of values.

::

    table[v < 0 ? 0 : v > 9 ? 9 : v]  with 10 elements               0 … 9: in range
    count[image[i][j]]                of bytes, with 256 elements    0 … 255: in range
    table[(c ^ b) & 0xff]             with 256 elements              0 … 255: in range
    bins[k[i]]                        of integers                    may leave the array

An iterator has the values of its statement's domain, an element those of its type. Where the type
of a sum, a difference or a product cannot hold its range, it may wrap, and all values of the type
are possible. In the arms of ``c ? a : b`` a comparison with a number narrows what stands on its
other side.

Code needs no comparison with the size there, and no note that the subscript was out of range.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    IntegerLiteral,
    IteratorValue,
    Unary,
    UnaryOperator,
)
from polygym.ir.gathers import computed_subscripts
from polygym.ir.scop import Scop, Statement
from polygym.ir.types import ScalarType
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import highest_value, lowest_value

_OPPOSITES = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER_EQUAL,
    ComparisonOperator.GREATER_EQUAL: ComparisonOperator.LESS,
    ComparisonOperator.GREATER: ComparisonOperator.LESS_EQUAL,
    ComparisonOperator.LESS_EQUAL: ComparisonOperator.GREATER,
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
}


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The integers from ``low`` to ``high``; none if ``low`` is greater."""

    low: int
    high: int

    def meet(self, other: "ValueRange") -> "ValueRange":
        """Return what both have."""
        return ValueRange(max(self.low, other.low), min(self.high, other.high))

    def join(self, other: "ValueRange") -> "ValueRange":
        """Return the smallest range with the values of both."""
        if self.low > self.high:
            return other
        if other.low > other.high:
            return self
        return ValueRange(min(self.low, other.low), max(self.high, other.high))

    def is_within(self, other: "ValueRange") -> bool:
        """Whether all values are another range's."""
        return self.low > self.high or (other.low <= self.low and self.high <= other.high)


@lru_cache(maxsize=64)
def sure_subscripts(scop: Scop) -> frozenset[tuple[str, int, int]]:
    """Return the computed subscripts that are in range: statement, number of the read, dimension.

    Where isl would take too long for the size or the iterators, a subscript is not one of them.
    """
    result: set[tuple[str, int, int]] = set()
    for site in computed_subscripts(scop):
        try:
            size = _least_size(scop, scop.array(site.array).extents[site.dimension])
            if size is None:
                continue
            known = _iterator_ranges(scop, scop.statement(site.statement))
        except LimitError:
            continue
        if value_range(site.subscript, known).is_within(ValueRange(0, size - 1)):
            result.add((site.statement, site.read, site.dimension))
    return frozenset(result)


def value_range(expression: Expression, known: Mapping[Expression, ValueRange]) -> ValueRange:
    """Return a range of an integer expression, of parts of which ranges are known.

    >>> i, minus_one = IteratorValue("i"), IntegerLiteral(-1)
    >>> product = Binary(BinaryOperator.MULTIPLY, i, minus_one, ScalarType.INT)
    >>> value_range(product, {i: ValueRange(-2, 5)})
    ValueRange(low=-5, high=2)
    """
    whole = _of_type(expression.type)
    result = _computed_range(expression, known)
    if not result.is_within(whole):
        result = whole
    return result.meet(known.get(expression, whole))


def _computed_range(expression: Expression, known: Mapping[Expression, ValueRange]) -> ValueRange:
    """Return the exact range of an operation, before its type cuts it off."""
    match expression:
        case IntegerLiteral(value):
            return ValueRange(value, value)
        case Cast(operand) if operand.type.is_integer:
            return value_range(operand, known)
        case Unary(UnaryOperator.NEGATE, operand):
            inner = value_range(operand, known)
            return ValueRange(-inner.high, -inner.low)
        case Binary(operator, left, right):
            return _binary_range(
                operator, value_range(left, known), value_range(right, known), expression.type
            )
        case Conditional(condition, then, otherwise):
            return value_range(then, _narrowed(condition, known, holds=True)).join(
                value_range(otherwise, _narrowed(condition, known, holds=False))
            )
        case Comparison():
            return ValueRange(0, 1)
        case _:
            return _of_type(expression.type)


def _binary_range(
    operator: BinaryOperator, left: ValueRange, right: ValueRange, kind: ScalarType
) -> ValueRange:
    """Return the range of an operation of two ranges."""
    if left.low > left.high or right.low > right.high:
        return left if left.low > left.high else right
    match operator:
        case BinaryOperator.ADD:
            return ValueRange(left.low + right.low, left.high + right.high)
        case BinaryOperator.SUBTRACT:
            return ValueRange(left.low - right.high, left.high - right.low)
        case BinaryOperator.MULTIPLY:
            corners = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
            return ValueRange(min(corners), max(corners))
        case BinaryOperator.BIT_AND if min(left.high, right.high) >= 0 and (
            left.low >= 0 or right.low >= 0
        ):
            positive = [part.high for part in (left, right) if part.low >= 0]
            return ValueRange(0, min(positive))
        case BinaryOperator.REMAINDER if left.low >= 0 and right.low > 0:
            return ValueRange(0, min(left.high, right.high - 1))
        case BinaryOperator.DIVIDE if left.low >= 0 and right.low > 0:
            return ValueRange(left.low // right.high, left.high // right.low)
        case BinaryOperator.SHIFT_RIGHT if left.low >= 0 and 0 <= right.low <= right.high < 64:
            return ValueRange(left.low >> right.high, left.high >> right.low)
        case _:
            return _of_type(kind)


def _narrowed(
    condition: Expression, known: Mapping[Expression, ValueRange], *, holds: bool
) -> Mapping[Expression, ValueRange]:
    """Return what is known where a condition holds, or does not."""
    match condition:
        case Comparison(ComparisonOperator.NOT_EQUAL, Comparison() as inner, IntegerLiteral(0)):
            return _narrowed(inner, known, holds=holds)
        case Comparison(operator, left, IntegerLiteral(value)) if left.type.is_integer:
            operator = operator if holds else _OPPOSITES[operator]
            limits = _of_type(left.type)
            match operator:
                case ComparisonOperator.LESS:
                    limits = ValueRange(limits.low, value - 1)
                case ComparisonOperator.LESS_EQUAL:
                    limits = ValueRange(limits.low, value)
                case ComparisonOperator.GREATER:
                    limits = ValueRange(value + 1, limits.high)
                case ComparisonOperator.GREATER_EQUAL:
                    limits = ValueRange(value, limits.high)
                case ComparisonOperator.EQUAL:
                    limits = ValueRange(value, value)
            return {**known, left: value_range(left, known).meet(limits)}
        case _:
            return known


def _of_type(kind: ScalarType) -> ValueRange:
    """Return the values of an integer type."""
    return ValueRange(kind.lowest, kind.highest)


def _least_size(scop: Scop, extent: str) -> int | None:
    """Return the smallest size that an array may have in a dimension; None if it is not known."""
    with bounded_operations("the size of an array"):
        sizes = _without_parameters(isl.Set.from_pw_aff(isl.PwAff(extent)), scop)
        if sizes.is_empty() or not sizes.dim_has_any_lower_bound(isl.dim_type.set, 0):
            return None
        return lowest_value(sizes, 0)


def _iterator_ranges(scop: Scop, statement: Statement) -> dict[Expression, ValueRange]:
    """Return the ranges of a statement's iterators that are known as numbers."""
    result: dict[Expression, ValueRange] = {}
    with bounded_operations("the ranges of iterators"):
        points = _without_parameters(isl.Set(statement.domain), scop)
        for place, name in enumerate(statement.iterators):
            line = points.project_out(
                isl.dim_type.set, place + 1, points.dim(isl.dim_type.set) - place - 1
            )
            line = line.project_out(isl.dim_type.set, 0, place)
            if line.is_bounded() and not line.is_empty():
                own = ValueRange(lowest_value(line, 0), highest_value(line, 0))
                for kind in ScalarType:
                    if kind.is_integer:
                        result[IteratorValue(name, kind)] = own
    return result


def _without_parameters(points: isl.Set, scop: Scop) -> isl.Set:
    """Return what a set has for any parameters of the context."""
    points = points.intersect_params(isl.Set(scop.context))
    return points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
