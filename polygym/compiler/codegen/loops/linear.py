"""Indices as sums: what two of them differ by, however they are written.

``64·c0 + 63`` and ``63 + 64·c0 - 0`` are the same sum, {c0: 64} + 63. What is no sum (a minimum, a
quotient) counts as one term, under its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from polygym.compiler.codegen.loops.ir import Index, IndexOperator, Number, Operation, Variable

Sum: TypeAlias = tuple[dict[Index, int], int]
"""Coefficients, none of them 0, and a constant."""


def as_sum(index: Index) -> Sum:
    """Return an index as a sum.

    >>> n = Variable("n")
    >>> as_sum(Operation(IndexOperator.SUBTRACT, (Number(3), Operation(IndexOperator.ADD, (n, n)))))
    ({Variable(name='n'): -2}, 3)
    """
    match index:
        case Number(value):
            return {}, value
        case Variable():
            return {index: 1}, 0
        case Operation(IndexOperator.NEGATE, (operand,)):
            return _scaled(as_sum(operand), -1)
        case Operation(IndexOperator.ADD, (first, second)):
            return _added(as_sum(first), as_sum(second))
        case Operation(IndexOperator.SUBTRACT, (first, second)):
            return _added(as_sum(first), _scaled(as_sum(second), -1))
        case Operation(IndexOperator.MULTIPLY, (Number(value), operand) | (operand, Number(value))):
            return _scaled(as_sum(operand), value)
        case Operation():
            return {index: 1}, 0
        case _:
            assert_never(index)


def difference(index: Index, other: Index) -> int | None:
    """Return ``index - other`` if it is a number, else None.

    >>> tile = Operation(IndexOperator.MULTIPLY, (Number(64), Variable("c0")))
    >>> difference(Operation(IndexOperator.ADD, (tile, Number(63))), tile)
    63
    """
    terms: dict[Index, int] = {}
    constant = _add_to(terms, index, 1) + _add_to(terms, other, -1)
    return None if any(terms.values()) else constant


def _add_to(terms: dict[Index, int], index: Index, factor: int) -> int:
    """Add a multiple of an index to a sum, whose terms may come to be 0; return its constant.

    It makes no sums on the way as :func:`as_sum` does, which has terms in another order.
    """
    match index:
        case Number(value):
            return factor * value
        case Operation(IndexOperator.ADD, (first, second)):
            return _add_to(terms, first, factor) + _add_to(terms, second, factor)
        case Operation(IndexOperator.SUBTRACT, (first, second)):
            return _add_to(terms, first, factor) + _add_to(terms, second, -factor)
        case Operation(IndexOperator.NEGATE, (operand,)):
            return _add_to(terms, operand, -factor)
        case Operation(IndexOperator.MULTIPLY, (Number(value), operand) | (operand, Number(value))):
            return _add_to(terms, operand, factor * value)
        case Variable() | Operation():
            terms[index] = terms.get(index, 0) + factor
            return 0
        case _:
            assert_never(index)


def flattened(subscripts: Sequence[Index], sizes: Sequence[int]) -> Sum:
    """Return the number of an element in its array as a sum; ``sizes`` are the inner dimensions'.

    >>> i, j = Variable("i"), Variable("j")
    >>> flattened((Operation(IndexOperator.ADD, (i, Number(1))), j), (100,))
    ({Variable(name='i'): 100, Variable(name='j'): 1}, 100)
    """
    found: Sum = ({}, 0)
    for size, subscript in zip((1, *sizes), subscripts, strict=True):
        found = _added(_scaled(found, size), as_sum(subscript))
    return found


def from_sum(found: Sum) -> Index:
    """Return a sum as an index.

    >>> from_sum(({Variable("n"): 1}, -1)) == Operation(
    ...     IndexOperator.SUBTRACT, (Variable("n"), Number(1))
    ... )
    True
    """
    terms, constant = found
    index: Index | None = None
    for term, factor in terms.items():
        own = (
            term
            if abs(factor) == 1
            else Operation(IndexOperator.MULTIPLY, (Number(abs(factor)), term))
        )
        if index is None:
            index = own if factor > 0 else Operation(IndexOperator.NEGATE, (own,))
            continue
        operator = IndexOperator.ADD if factor > 0 else IndexOperator.SUBTRACT
        index = Operation(operator, (index, own))
    if index is None:
        return Number(constant)
    if constant == 0:
        return index
    operator = IndexOperator.ADD if constant > 0 else IndexOperator.SUBTRACT
    return Operation(operator, (index, Number(abs(constant))))


def total(index: Index, other: Index) -> Index:
    """Return what two indices add up to, written as a sum."""
    return from_sum(as_sum(Operation(IndexOperator.ADD, (index, other))))


def minus(index: Index, other: Index) -> Index:
    """Return by how much an index is greater than another one, written as a sum.

    >>> n = Variable("n")
    >>> minus(Operation(IndexOperator.ADD, (n, Number(3))), n)
    Number(value=3)
    """
    return from_sum(as_sum(Operation(IndexOperator.SUBTRACT, (index, other))))


def _scaled(found: Sum, factor: int) -> Sum:
    terms, constant = found
    if factor == 0:
        return {}, 0
    return {term: factor * value for term, value in terms.items()}, factor * constant


def _added(first: Sum, second: Sum) -> Sum:
    terms = dict(first[0])
    for term, value in second[0].items():
        terms[term] = terms.get(term, 0) + value
        if terms[term] == 0:
            del terms[term]
    return terms, first[1] + second[1]
