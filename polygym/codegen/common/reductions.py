"""Statements that sum up, multiply up, or keep the greatest or the least: ``x = x ⊕ e``.

Their instances may run in any order, as far as the element x is concerned, if ⊕ is associative and
commutative: then x ends as the first value ⊕ all terms, however these are taken together. Exactly
so are the operations on integers, which wrap around, and their maxima and minima. For floats a sum
or a product in another order is another number, near by; which is what a mapping allows that says
``reassociate=on``. The maximum of floats is the same number in any order, unless NaN or zeros of
both signs are among them (:mod:`polygym.codegen.llvm.loops.emit_split_accumulators`).

What is recognised: x + e, e + x, x - e, sums with x as one of their terms, as in x + e - f;
products in the same way, without divisions; ``a > x ? a : x`` and what means the same, fmax and
fmin; the operators ``&``, ``|``, ``^``; ``c ? x + e : x``, where c does not need x. Whether e reads
x by another name is not looked at: a caller that takes terms in another order has to know that it
does not.

>>> (ReductionOperator.SUM.value, ReductionOperator.PRODUCT.is_idempotent,
...     ReductionOperator.MAXIMUM.is_idempotent)
('+', False, True)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from polygym.codegen.common.math_support import MIN_MAX_OPERATORS
from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Comparison,
    ComparisonOperator,
    Conditional,
    Expression,
    Gather,
    Load,
    Update,
    loaded_accesses,
    walk,
)
from polygym.ir.scop import Statement
from polygym.ir.types import ScalarType

_GREATER = (ComparisonOperator.GREATER, ComparisonOperator.GREATER_EQUAL)
_LESS = (ComparisonOperator.LESS, ComparisonOperator.LESS_EQUAL)
_MIN_BYTES = 4  # narrower numbers are rounded, or cut off, as they are stored


class ReductionOperator(Enum):
    """What takes terms together; the value is OpenMP's name of it."""

    SUM = "+"
    PRODUCT = "*"
    MAXIMUM = "max"
    MINIMUM = "min"
    AND = "&"
    OR = "|"
    XOR = "^"

    @property
    def is_min_max(self) -> bool:
        """Whether it is a maximum or a minimum."""
        return self in (ReductionOperator.MAXIMUM, ReductionOperator.MINIMUM)

    @property
    def is_idempotent(self) -> bool:
        """Whether x ⊕ x is x, so that every chain may begin with the element itself."""
        return self.is_min_max or self in (ReductionOperator.AND, ReductionOperator.OR)


_BITWISE_OPERATORS = {
    BinaryOperator.BIT_AND: ReductionOperator.AND,
    BinaryOperator.BIT_OR: ReductionOperator.OR,
    BinaryOperator.BIT_XOR: ReductionOperator.XOR,
}


@dataclass(frozen=True, slots=True)
class MinMaxUpdate:
    """A statement that keeps the greater of its element and ``operand``, or the smaller.

    ``start`` is the number of the operand's first read.
    """

    operand: Expression
    start: int
    is_maximum: bool


def reduction_operator(statement: Statement) -> ReductionOperator | None:
    """Return the operator of a reduction; None if a statement is none."""
    body, own = statement.body, statement.accumulator_reads
    if isinstance(body, Update) or statement.write.gathered:
        return None
    if any(isinstance(node, Gather) for node in walk(body)):
        return None
    if (extreme := min_max_of(statement)) is not None:
        return ReductionOperator.MAXIMUM if extreme.is_maximum else ReductionOperator.MINIMUM
    return path_operator(body, 0, own) if own and body.type.size >= _MIN_BYTES else None


def row_sum_operator(statement: Statement) -> ReductionOperator | None:
    """Return the operator of a reduction whose terms stay one by one; None for other statements.

    Terms may have computed subscripts, of other arrays than that of the element.
    """
    body, own = statement.body, statement.accumulator_reads
    if isinstance(body, Update) or not own or body.type.size < _MIN_BYTES:
        return None
    same_array = [a for a in statement.reads if a.array == statement.write.array]
    return path_operator(body, 0, own) if len(same_array) == len(own) else None


def is_order_independent(operator: ReductionOperator, kind: ScalarType) -> bool:
    """Whether terms of a type may be taken in any order without a bit of difference."""
    return kind.is_integer or operator.is_min_max


def min_max_of(statement: Statement) -> MinMaxUpdate | None:
    """Return what a statement keeps the extreme of; None if it is no such statement."""
    body = statement.body
    match body:
        case Conditional(Comparison(operator, left, right), then, otherwise):
            left, right = _unwidened(left, right)
            if operator not in (*_GREATER, *_LESS) or {left, right} != {then, otherwise}:
                return None
            is_maximum = (operator in _GREATER) is (then == left)
        case Call(function, (left, right)) if function in MIN_MAX_OPERATORS:
            is_maximum = MIN_MAX_OPERATORS[function] == ">"
        case _:
            return None
    return _other_operand(statement, left, right, is_maximum)


def _unwidened(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Return two bytes or shorts that are compared as int."""
    match left, right:
        case Cast(own, wide), Cast(other, _) if own.type is other.type and (
            own.type.is_integer and wide.is_integer and wide.can_represent(own.type)
        ):
            return own, other
        case _:
            return left, right


def _other_operand(
    statement: Statement, left: Expression, right: Expression, is_maximum: bool
) -> MinMaxUpdate | None:
    """Return the operand beside the statement's own element, which must not read that element."""
    own = [statement.reads[number] for number in statement.accumulator_reads]
    for element, operand, start in ((right, left, 0), (left, right, len(loaded_accesses(left)))):
        if isinstance(element, Load) and element.access in own:
            if any(access in own for access in loaded_accesses(operand)):
                return None
            return MinMaxUpdate(operand, start, is_maximum)
    return None


def _operator_of_step(operator: BinaryOperator, is_left: bool) -> ReductionOperator | None:
    """Return what a step of the way stands for; of a difference, x is what is subtracted from."""
    match operator:
        case BinaryOperator.ADD:
            return ReductionOperator.SUM
        case BinaryOperator.SUBTRACT if is_left:
            return ReductionOperator.SUM
        case BinaryOperator.MULTIPLY:
            return ReductionOperator.PRODUCT
        case BinaryOperator.BIT_AND | BinaryOperator.BIT_OR | BinaryOperator.BIT_XOR:
            return _BITWISE_OPERATORS[operator]
        case _:
            return None


def path_operator(body: Expression, start: int, own: frozenset[int]) -> ReductionOperator | None:
    """Return the operator between a body, whose first read is ``start``, and its own element."""
    operators = set(_operators(body, start, own, body.type))
    return operators.pop() if len(operators) == 1 else None


def _operators(
    body: Expression, start: int, own: frozenset[int], stored: ScalarType
) -> Iterator[ReductionOperator | None]:
    """Yield the operators on the ways to an element of type ``stored``; None for anything else.

    Both arms of a condition have their way to the element: ``c ? x + e : x`` is a sum. Integers may
    be widened on the way, and cut off at its end.
    """
    match body:
        case Load() | Gather() if start in own:
            return
        case Cast(operand, scalar) if _is_modular(operand.type, scalar, stored):
            yield from _operators(operand, start, own, stored)
        case Binary(operator, left, right):
            middle = start + len(loaded_accesses(left))
            is_left, is_right = _reads_any(left, start, own), _reads_any(right, middle, own)
            if is_left is is_right:
                yield None
                return
            yield _operator_of_step(operator, is_left)
            yield from _operators(*((left, start) if is_left else (right, middle)), own, stored)
        case Conditional(condition, then, otherwise):
            middle = start + len(loaded_accesses(condition))
            end = middle + len(loaded_accesses(then))
            if _reads_any(condition, start, own):
                yield None
                return
            yield from _operators(then, middle, own, stored)
            yield from _operators(otherwise, end, own, stored)
        case _:
            yield None


def _is_modular(narrow: ScalarType, wide: ScalarType, stored: ScalarType) -> bool:
    """Whether a conversion keeps all bits that are stored in the end, and adds no meaning."""
    kinds = (narrow, wide, stored)
    return (
        all(kind.is_integer and kind is not ScalarType.BOOL for kind in kinds)
        and min(narrow.bits, wide.bits) >= stored.bits
    )


def _reads_any(part: Expression, start: int, own: frozenset[int]) -> bool:
    """Whether a part whose first read is ``start`` contains a read of the statement's element."""
    return not own.isdisjoint(range(start, start + len(loaded_accesses(part))))
