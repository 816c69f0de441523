"""Linear algebra on very many integer vectors at once, through numpy.

Callers with a few vectors, such as the code generator, do without and need not wait for numpy.

Is a vector a combination of those before? Quickly, and sure only where the answer is no.

Computed modulo a prime p: vectors that are independent modulo p are independent over the rational
numbers (a combination that gives 0 can be made primitive, and is then none modulo p either), while
a combination modulo p need not be one. So :meth:`Span.grows_by` is never wrong when it says yes.

The basis is kept in reduced echelon form: row r has a 1 at its pivot, where all others are 0. A
vector v is reduced by all of them at once, v - Σ v[pivot of r]·r.

>>> span = ModularSpan(3)
>>> [span.grows_by(vector) for vector in ((1, 1, 0), (0, 2, 4), (2, 4, 4), (0, 0, -7))]
[True, True, False, True]
"""

from collections.abc import Iterable, Sequence

import numpy as np

from polygym.poly.integer_vectors import Vector, null_space

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
