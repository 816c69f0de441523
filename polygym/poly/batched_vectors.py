"""What :mod:`polygym.poly.integer_vectors` computes, of very many vectors: through numpy.

Whoever has a few, as the code generator does, has no use for it and need not wait for numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from polygym.poly.integer_vectors import Vector, null_space
from polygym.poly.modular_span import ModularSpan

_LARGEST_SUM = 2**63 - 1


def inner_products(
    forms: Sequence[Sequence[int]], vectors: Sequence[Sequence[int]]
) -> list[Vector]:
    """Return every form's inner products with all vectors: exact, and quick for small numbers.

    >>> products([(1, 2), (0, 1)], [(3, 4), (5, 6), (2**70, 0)])
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

    >>> null_space_of_many([(1, -1, 0), (2, -2, 0)], 3)
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
