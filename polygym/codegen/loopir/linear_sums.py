"""Indices as sums: what two of them differ by, however they are written.

``64·c0 + 63`` and ``63 + 64·c0 - 0`` are the same sum, {c0: 64} + 63. What is no sum (a minimum, a
quotient) counts as one term, under its own name.
"""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from polygym.codegen.loopir import ir

LinearSum: TypeAlias = tuple[dict[ir.Index, int], int]
"""Coefficients, none of them 0, and a constant."""


def to_linear_sum(index: ir.Index) -> LinearSum:
    """Return an index as a sum.

    >>> n = ir.IndexVariable("n")
    >>> to_linear_sum(
    ...     ir.IndexOperator.SUBTRACT(ir.IndexConstant(3), ir.IndexOperator.ADD(n, n)))
    ({IndexVariable(name='n'): -2}, 3)
    """
    match index:
        case ir.IndexConstant(value):
            return {}, value
        case ir.IndexVariable():
            return {index: 1}, 0
        case ir.IndexOperation(ir.IndexOperator.NEGATE, (operand,)):
            return _scale_sum(to_linear_sum(operand), -1)
        case ir.IndexOperation(ir.IndexOperator.ADD, (first, second)):
            return _add_sums(to_linear_sum(first), to_linear_sum(second))
        case ir.IndexOperation(ir.IndexOperator.SUBTRACT, (first, second)):
            return _add_sums(to_linear_sum(first), _scale_sum(to_linear_sum(second), -1))
        case ir.IndexOperation(
            ir.IndexOperator.MULTIPLY,
            (ir.IndexConstant(value), operand) | (operand, ir.IndexConstant(value)),
        ):
            return _scale_sum(to_linear_sum(operand), value)
        case ir.IndexOperation():
            return {index: 1}, 0
        case _:
            assert_never(index)


def constant_difference(index: ir.Index, other: ir.Index) -> int | None:
    """Return ``index - other`` if it is a number, else None.

    >>> tile = ir.IndexOperator.MULTIPLY(ir.IndexConstant(64), ir.IndexVariable("c0"))
    >>> constant_difference(ir.IndexOperator.ADD(tile, ir.IndexConstant(63)), tile)
    63
    """
    terms: dict[ir.Index, int] = {}
    constant = _accumulate(terms, index, 1) + _accumulate(terms, other, -1)
    return None if any(terms.values()) else constant


def _accumulate(terms: dict[ir.Index, int], index: ir.Index, factor: int) -> int:
    """Add a multiple of an index to a sum, whose terms may come to be 0; return its constant.

    It makes no sums on the way as :func:`to_linear_sum` does, which has terms in another order.
    """
    match index:
        case ir.IndexConstant(value):
            return factor * value
        case ir.IndexOperation(ir.IndexOperator.ADD, (first, second)):
            return _accumulate(terms, first, factor) + _accumulate(terms, second, factor)
        case ir.IndexOperation(ir.IndexOperator.SUBTRACT, (first, second)):
            return _accumulate(terms, first, factor) + _accumulate(terms, second, -factor)
        case ir.IndexOperation(ir.IndexOperator.NEGATE, (operand,)):
            return _accumulate(terms, operand, -factor)
        case ir.IndexOperation(
            ir.IndexOperator.MULTIPLY,
            (ir.IndexConstant(value), operand) | (operand, ir.IndexConstant(value)),
        ):
            return _accumulate(terms, operand, factor * value)
        case ir.IndexVariable() | ir.IndexOperation():
            terms[index] = terms.get(index, 0) + factor
            return 0
        case _:
            assert_never(index)


def linearized_offset(subscripts: Sequence[ir.Index], sizes: Sequence[int]) -> LinearSum:
    """Return the number of an element in its array as a sum; ``sizes`` are the inner dimensions'.

    >>> i, j = ir.IndexVariable("i"), ir.IndexVariable("j")
    >>> linearized_offset((ir.IndexOperator.ADD(i, ir.IndexConstant(1)), j), (100,))
    ({IndexVariable(name='i'): 100, IndexVariable(name='j'): 1}, 100)
    """
    result: LinearSum = ({}, 0)
    for size, subscript in zip((1, *sizes), subscripts, strict=True):
        result = _add_sums(_scale_sum(result, size), to_linear_sum(subscript))
    return result


def from_linear_sum(linear_sum: LinearSum) -> ir.Index:
    """Return a sum as an index.

    >>> from_linear_sum(({ir.IndexVariable("n"): 1}, -1)) == ir.IndexOperation(
    ...     ir.IndexOperator.SUBTRACT, (ir.IndexVariable("n"), ir.IndexConstant(1))
    ... )
    True
    """
    terms, constant = linear_sum
    index: ir.Index | None = None
    for term, factor in terms.items():
        own = (
            term
            if abs(factor) == 1
            else ir.IndexOperator.MULTIPLY(ir.IndexConstant(abs(factor)), term)
        )
        if index is None:
            index = own if factor > 0 else ir.IndexOperator.NEGATE(own)
            continue
        operator = ir.IndexOperator.ADD if factor > 0 else ir.IndexOperator.SUBTRACT
        index = operator(index, own)
    if index is None:
        return ir.IndexConstant(constant)
    if constant == 0:
        return index
    operator = ir.IndexOperator.ADD if constant > 0 else ir.IndexOperator.SUBTRACT
    return operator(index, ir.IndexConstant(abs(constant)))


def add_indices(index: ir.Index, other: ir.Index) -> ir.Index:
    """Return what two indices add up to, written as a sum."""
    return from_linear_sum(to_linear_sum(ir.IndexOperator.ADD(index, other)))


def subtract_indices(index: ir.Index, other: ir.Index) -> ir.Index:
    """Return by how much an index is greater than another one, written as a sum.

    >>> n = ir.IndexVariable("n")
    >>> subtract_indices(ir.IndexOperation(ir.IndexOperator.ADD, (n, ir.IndexConstant(3))), n)
    IndexConstant(value=3)
    """
    return from_linear_sum(to_linear_sum(ir.IndexOperator.SUBTRACT(index, other)))


def _scale_sum(linear_sum: LinearSum, factor: int) -> LinearSum:
    terms, constant = linear_sum
    if factor == 0:
        return {}, 0
    return {term: factor * value for term, value in terms.items()}, factor * constant


def _add_sums(first: LinearSum, second: LinearSum) -> LinearSum:
    terms = dict(first[0])
    for term, value in second[0].items():
        terms[term] = terms.get(term, 0) + value
        if terms[term] == 0:
            del terms[term]
    return terms, first[1] + second[1]
