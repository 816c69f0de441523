"""Exact linear algebra on integer vectors that are long, sparse and small.

Everything here is about directions: a vector stands for its positive multiples, so results are
*primitive*, divided by the greatest common divisor of their entries. Of very many vectors
:mod:`polygym.poly.integer_vectors` finds the same sooner.

Linear algebra on very many integer vectors at once, through numpy.

Is a vector a combination of those before? Quickly, and sure only where the answer is no.

Computed modulo a prime p: vectors that are independent modulo p are independent over the rational
numbers (a combination that gives 0 can be made primitive, and is then none modulo p either), while
a combination modulo p need not be one. So :meth:`ModularSpan.grows_by` is never wrong when it says
yes.

The basis is kept in reduced echelon form: row r has a 1 at its pivot, where all others are 0. A
vector v is reduced by all of them at once, v - Σ v[pivot of r]·r.

>>> span = ModularSpan(3)
>>> [span.grows_by(vector) for vector in ((1, 1, 0), (0, 2, 4), (2, 4, 4), (0, 0, -7))]
[True, True, False, True]
"""

from collections.abc import Iterable, Sequence
from math import gcd
from operator import mul
from typing import TypeAlias

import numpy as np

Vector: TypeAlias = tuple[int, ...]

Basis: TypeAlias = list[tuple[Vector, int]]
"""Vectors with their pivots, as those of :func:`echelon`."""


def dot(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the inner product."""
    assert len(first) == len(second), "both vectors have one length"
    return sum(map(mul, first, second))


def primitive(vector: Sequence[int]) -> Vector:
    """Return the vector divided by the greatest common divisor of its entries.

    >>> primitive((4, 0, -6))
    (2, 0, -3)
    """
    divisor = gcd(*vector)
    return tuple(vector) if divisor <= 1 else tuple(value // divisor for value in vector)


def last_nonzero(vector: Sequence[int]) -> int:
    """Return the position of the last entry that is not 0, or -1."""
    for position in range(len(vector) - 1, -1, -1):
        if vector[position]:
            return position
    return -1


def reduce_by(vector: Sequence[int], line: Sequence[int], pivot: int) -> Vector:
    """Return a positive multiple of ``vector + t·line`` that is 0 at ``pivot``.

    It is primitive unless the vector was 0 there already: then it is returned as it came.

    >>> reduce_by((0, 0, 1), (0, 1, 1), 2)
    (0, -1, 0)
    """
    if not vector[pivot]:
        return tuple(vector)
    size, factor = abs(line[pivot]), vector[pivot] * (1 if line[pivot] > 0 else -1)
    return primitive([size * a - factor * b for a, b in zip(vector, line, strict=True)])


def echelon(vectors: Iterable[Sequence[int]]) -> tuple[tuple[Vector, int], ...]:
    """Return the canonical basis of a span, each vector with its pivot.

    The pivot is the last entry that is not 0; it is positive, and every other basis vector is 0
    there. Two sets of vectors with one span give one basis.

    >>> echelon([(1, 1, 0), (1, 0, -1)])
    (((1, 1, 0), 1), ((-1, 0, 1), 2))
    """
    basis: Basis = []
    for vector in vectors:
        basis = extend_basis(basis, vector) or basis
    return tuple(sorted(basis, key=lambda item: item[1]))


def extend_basis(basis: Basis, vector: Sequence[int]) -> Basis | None:
    """Return a basis with one vector more, in any order; None where that is in the span already.

    >>> extend_basis([((1, 1, 0), 1)], (2, 1, -1))
    [((1, 1, 0), 1), ((-1, 0, 1), 2)]
    >>> extend_basis([((1, 1, 0), 1)], (2, 2, 0)) is None
    True
    """
    reduced = reduce_by_all(vector, basis)
    pivot = last_nonzero(reduced)
    if pivot < 0:
        return None
    if reduced[pivot] < 0:
        reduced = tuple(-value for value in reduced)
    # The new vector is 0 at the others' pivots, so these keep their signs.
    result = [(reduce_by(other, reduced, pivot), at) for other, at in basis]
    return [*result, (primitive(reduced), pivot)]


def reduce_by_all(vector: Sequence[int], basis: Iterable[tuple[Vector, int]]) -> Vector:
    """Reduce a vector to 0 at every pivot of a basis."""
    result = tuple(vector)
    for line, pivot in basis:
        result = reduce_by(result, line, pivot)
    return result


def null_space(rows: Iterable[Sequence[int]], width: int) -> tuple[tuple[Vector, int], ...]:
    """Return the canonical basis of the vectors on which every row is 0.

    >>> null_space([(1, -1, 0)], 3)
    (((1, 1, 0), 1), ((0, 0, 1), 2))
    """
    basis = echelon(rows)
    pivots = {pivot for _, pivot in basis}
    kernel = []
    for free in range(width):
        if free in pivots:
            continue
        # With entry `scale` at the free place, row `line` asks for -line[free]·scale/line[pivot].
        scale = 1
        for line, pivot in basis:
            if line[free]:
                part = line[pivot] // gcd(line[pivot], line[free])
                scale = scale * part // gcd(scale, part)
        vector = [0] * width
        vector[free] = scale
        for line, pivot in basis:
            vector[pivot] = -line[free] * scale // line[pivot]
        kernel.append(vector)
    return echelon(kernel)


# Sums of a thousand products of two remainders fit 64 bits.
_PRIME = 67_108_859


class ModularSpan:
    """What the vectors so far span; ``width`` is how many of them can be independent."""

    def __init__(self, width: int) -> None:
        self._basis = np.zeros((width, width), np.int64)
        self._pivots: list[int] = []

    def grows_by(self, vector: Sequence[int]) -> bool:
        """Add a vector; return whether it is proved to be no combination of those before."""
        rank = len(self._pivots)
        if rank == len(self._basis):
            return False
        left = np.array([value % _PRIME for value in vector], np.int64)
        left -= left[self._pivots] @ self._basis[:rank]
        left %= _PRIME
        places = np.flatnonzero(left)
        if not len(places):
            return False
        pivot = int(places[0])
        left *= pow(int(left[pivot]), -1, _PRIME)
        left %= _PRIME
        hit = np.flatnonzero(self._basis[:rank, pivot])
        if len(hit):
            self._basis[hit] -= self._basis[hit, pivot, None] * left
            self._basis[hit] %= _PRIME
        self._basis[rank] = left
        self._pivots.append(pivot)
        return True


_LARGEST_SUM = 2**63 - 1


def inner_products(
    forms: Sequence[Sequence[int]], vectors: Sequence[Sequence[int]]
) -> list[Vector]:
    """Return every form's inner products with all vectors: exact, and quick for small numbers.

    >>> inner_products([(1, 2), (0, 1)], [(3, 4), (5, 6), (2**70, 0)])
    [(11, 17, 1180591620717411303424), (4, 6, 0)]
    """
    if not forms or not vectors:
        return [()] * len(forms)
    try:
        left, right = np.array(forms, np.int64), np.array(vectors, np.int64)
        small = (
            max(1, left.shape[1]) * _largest_magnitude(left) * _largest_magnitude(right)
            <= _LARGEST_SUM
        )
    except OverflowError:
        small = False
    if not small:
        left, right = np.array(forms, object), np.array(vectors, object)
    return [tuple(row) for row in (left @ right.T).tolist()]


def _largest_magnitude(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
    return max(1, int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def batched_null_space(rows: Iterable[Sequence[int]], width: int) -> tuple[tuple[Vector, int], ...]:
    """Return the canonical basis of the vectors on which every row is 0.

    Most of many rows are combinations of others; those are left out, which is sure in the end.

    >>> batched_null_space([(1, -1, 0), (2, -2, 0)], 3)
    (((1, 1, 0), 1), ((0, 0, 1), 2))
    """
    given = list(rows)
    span = ModularSpan(width)
    chosen = [row for row in given if span.grows_by(row)]
    result = null_space(chosen, width)
    # What is left out is a combination of the others if it is 0 wherever these are.
    if len(chosen) < len(given) and result:
        vectors = [vector for vector, _ in result]
        if any(map(any, inner_products(given, vectors))):
            return null_space(given, width)
    return result
