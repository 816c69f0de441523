"""Which arrays a program divides by: those that should be far from zero where it does.

A divisor of floating numbers reads some arrays; these, and all from which they are computed, are
*divided by*. Elimination without pivots, and what it reads, for example::

    A[i][j] -= A[i][k] / A[k][k] * A[k][j]                                A
    U[i][j] = A[i][j];  U[i][j] -= U[i][k] / U[k][k] * U[k][j]            U and A
    p = A[k][k];  f = A[i][k] / p;  A[i][j] -= f * A[k][j]                p, A and f

An array of which one of fewer dimensions is a sum does not count: a norm or a mean of many elements
says little about one of them. ``s[i] += I[i][j];  O[i][j] = I[i][j] / s[i]`` divides by s alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polygym.ir.expressions import Access, Binary, BinaryOperator, loaded_accesses, walk
from polygym.ir.scop import Scop, Statement


def divisor_arrays(scop: Scop) -> frozenset[str]:
    """Return the names of the arrays and scalars that a program divides by."""
    result: set[str] = set()
    left = {name for statement in scop.statements for name in _divisors(statement)}
    while left:
        result |= left
        writing = (statement for statement in scop.statements if statement.write.array in left)
        left = {name for statement in writing for name in _sources(statement)} - result
    return frozenset(result)


def _divisors(statement: Statement) -> Iterator[str]:
    """Yield the arrays that are read in divisors of floating numbers."""
    for node in walk(statement.body):
        if (
            isinstance(node, Binary)
            and node.operator is BinaryOperator.DIVIDE
            and node.type.is_floating
        ):
            yield from (access.array for access in loaded_accesses(node.right))


def _sources(statement: Statement) -> Iterator[str]:
    """Yield the arrays from which a statement computes, but for those that it sums up."""
    rank = _rank(statement.write)
    for access in statement.reads:
        if not statement.accumulator_reads or _rank(access) <= rank:
            yield access.array


def _rank(access: Access) -> int:
    return int(isl.Map(access.relation).dim(isl.dim_type.out))
