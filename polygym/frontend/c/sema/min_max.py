"""Piecewise functions that are one function, a minimum or a maximum in disguise.

C has no ``min`` and no ``floor`` on integers, so programs write ``a < b ? a : b`` and
``n < 0 ? -((-n + 3) / 4) : n / 4``. Taken literally these are two pieces with a condition each, and
a loop bound made of a few of them splits its domain into dozens of parts. They mean less:

* :func:`merge_pieces`: where one piece's formula f is right everywhere, the function *is* f; both
arms of
  the second example are floor(n / 4);
* :func:`nonnegative_set`: where a function g with the formulas f₁ … f_k is their minimum, ``g >=
0`` is
  ``f₁ >= 0 and … and f_k >= 0``, one convex set; where it is their maximum, the union.

Both decide with isl whether the simpler form is equal, on the whole domain, and change nothing
otherwise. Example: ``i <= (a < b ? a : b)`` becomes ``i <= a and i <= b``.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import islpy as isl

_MAX_PIECES = 8


def merge_pieces(function: Any) -> Any:
    """Return an equal function, of one piece if some piece's formula is right everywhere."""
    formulas = _formulas(function)
    domain = function.domain()
    for formula in formulas:
        if domain.is_subset(formula.eq_set(function)):
            return formula.intersect_domain(domain)
    return function


def nonnegative_set(function: Any) -> Any:
    """Return the set where a function is at least zero, in as few convex parts as it has."""
    zero = function.scale_val(0)
    formulas = _formulas(function)
    if not formulas:
        return function.ge_set(zero)
    domain = function.domain()
    sets = [formula.ge_set(formula.scale_val(0)) for formula in formulas]
    if all(domain.is_subset(formula.ge_set(function)) for formula in formulas):
        result = reduce(lambda left, right: left.intersect(right), sets)
    elif all(domain.is_subset(formula.le_set(function)) for formula in formulas):
        result = reduce(lambda left, right: left.union(right), sets).coalesce()
    else:
        return function.ge_set(zero)
    # The domain is a union of the pieces' conditions, even where it is everything.
    return result if result.is_subset(domain) else result.intersect(domain)


def _formulas(function: Any) -> list[Any]:
    """Return the formulas of the pieces, each on the whole space; none where it is not worth it."""
    if not 1 < function.n_piece() <= _MAX_PIECES:
        return []
    return [isl.PwAff.from_aff(formula) for _, formula in function.get_pieces()]
