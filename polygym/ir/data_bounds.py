"""Bounds of loops that are read from memory, found in the guards of statements.

The rows of a sparse matrix have other bounds in each iteration. The front ends give such a loop the
size of an array, and its statements a guard::

    for (k = row[i]; k < row[i + 1]; k++)          for (k = 0; k < nnz; k++)
      y[i] += value[k] * x[column[k]];        →      y[i] = k >= row[i] && k < row[i + 1]
                                                            ? y[i] + value[k] * x[column[k]] : y[i];

Here the guard is read back as bounds of k: ``k >= row[i]`` and ``k < row[i + 1]``. A statement is
guarded if it changes nothing where the condition fails: it keeps its element, or is an
:class:`~polygym.ir.expressions.Update`. A conjunct of the condition is a bound if it compares an
iterator with an integer that is read from memory, and whose evaluation cannot trap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    FloatLiteral,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    ParameterValue,
    Unary,
    Update,
    loaded_accesses,
    walk,
)
from polygym.ir.scop import Statement

_MIRRORED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_EQUAL: ComparisonOperator.GREATER_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_EQUAL: ComparisonOperator.LESS_EQUAL,
}
_DIVISIONS = (BinaryOperator.DIVIDE, BinaryOperator.REMAINDER)


@dataclass(frozen=True, slots=True)
class DataBound:
    """The bound ``iterator operator value``, which a guard's conjunct states.

    ``start`` is the number of the first read of ``value``. If ``is_unsigned``, the comparison means
    that only where the iterator is not negative.
    """

    iterator: str
    operator: ComparisonOperator
    value: Expression
    start: int
    is_unsigned: bool

    @property
    def is_lower(self) -> bool:
        """Whether the iterator is bounded from below."""
        return self.operator in (ComparisonOperator.GREATER, ComparisonOperator.GREATER_EQUAL)

    @property
    def is_strict(self) -> bool:
        """Whether the value itself is outside."""
        return self.operator in (ComparisonOperator.GREATER, ComparisonOperator.LESS)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A part of a guard, all of which have to hold, and the bound that it states, if any."""

    condition: Expression
    bound: DataBound | None


@lru_cache(maxsize=1024)
def guard_conjuncts(statement: Statement, *, keeps: bool = True) -> tuple[Conjunct, ...]:
    """Return the conjuncts of a statement's guard in the order of their evaluation.

    Without ``keeps`` the element may get a constant where the guard fails.
    """
    match statement.body:
        case Update(condition=condition) if condition is not None:
            parts = _conjuncts(condition, 1)
        case Conditional(condition, _, Load(access)) if _is_own(statement, access.relation):
            parts = _conjuncts(condition, 0)
        case Conditional(condition, _, IntegerLiteral() | FloatLiteral()) if not keeps:
            parts = _conjuncts(condition, 0)
        case _:
            return ()
    return tuple(Conjunct(condition, _bound(condition, start)) for condition, start in parts)


def holds_by(condition: Expression, known: frozenset[Expression]) -> bool:
    """Whether a condition holds where all ``known`` ones do."""
    if condition in known:
        return True
    match condition:
        case Conditional(asked, then, _):
            return holds_by(asked, known) and holds_by(then, known)
        case Comparison(ComparisonOperator.NOT_EQUAL, inner, IntegerLiteral(0)):
            return holds_by(inner, known)
        case _:
            return False


def _is_own(statement: Statement, relation: str) -> bool:
    """Whether a relation is that of the written element."""
    return relation == statement.write.relation and not statement.write.gathered


def _conjuncts(condition: Expression, start: int) -> Iterator[tuple[Expression, int]]:
    """Yield the parts of ``a && b``, which is ``a ? (b != 0) : 0``, with their first reads."""
    match condition:
        case Conditional(first, second, IntegerLiteral(0)):
            yield from _conjuncts(first, start)
            yield from _conjuncts(second, start + len(loaded_accesses(first)))
        case Comparison(
            ComparisonOperator.NOT_EQUAL, (Conditional() | Comparison()) as inner, IntegerLiteral(0)
        ):
            yield from _conjuncts(inner, start)
        case _:
            yield condition, start


def _bound(condition: Expression, start: int) -> DataBound | None:
    """Return the bound that a comparison states, with the iterator on the left or on the right."""
    if not isinstance(condition, Comparison) or condition.operator not in _MIRRORED:
        return None
    left, right, operator = condition.left, condition.right, condition.operator
    behind = start + len(loaded_accesses(left))
    for side, value, own, first in (
        (left, right, operator, behind),
        (right, left, _MIRRORED[operator], start),
    ):
        iterator = _converted_iterator(side)
        if iterator is not None and loaded_accesses(value) and _is_total(value):
            name, is_unsigned = iterator
            return DataBound(name, own, value, first, is_unsigned)
    return None


def _converted_iterator(side: Expression) -> tuple[str, bool] | None:
    """Return an iterator and whether its sign is lost on the way, None for other expressions.

    No conversion may lose more: each is to a wider type, or to the unsigned one of the same width.
    """
    match side:
        case IteratorValue(name, scalar):
            return name, not scalar.is_signed
        case Cast(operand, scalar) if scalar.is_integer and operand.type.is_integer:
            inner = _converted_iterator(operand)
            keeps_bits = scalar.bits >= operand.type.bits and not scalar.is_signed
            if inner is None or not (keeps_bits or scalar.can_represent(operand.type)):
                return None
            return inner[0], inner[1] or not scalar.is_signed
        case _:
            return None


def _is_total(value: Expression) -> bool:
    """Whether an expression is an integer that has a value, at little cost, whatever it reads."""
    return value.type.is_integer and all(
        isinstance(
            node, Load | Gather | IntegerLiteral | IteratorValue | ParameterValue | Cast | Unary
        )
        or (isinstance(node, Binary) and node.operator not in _DIVISIONS)
        for node in walk(value)
    )
