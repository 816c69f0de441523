"""Is a vector a combination of those before? Quickly, and sure only where the answer is no.

Computed modulo a prime p: vectors that are independent modulo p are independent over the rational
numbers (a combination that gives 0 can be made primitive, and is then none modulo p either), while
a combination modulo p need not be one. So :meth:`Span.grows_by` is never wrong when it says yes.

The basis is kept in reduced echelon form: row r has a 1 at its pivot, where all others are 0. A
vector v is reduced by all of them at once, v - Σ v[pivot of r]·r.

>>> span = Span(3)
>>> [span.grows_by(vector) for vector in ((1, 1, 0), (0, 2, 4), (2, 4, 4), (0, 0, -7))]
[True, True, False, True]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
