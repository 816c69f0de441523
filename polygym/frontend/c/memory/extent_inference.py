"""Sizes of arrays that nothing declares: one more than the largest subscript of each.

The largest value of a subscript is a piecewise function of the parameters. Where one of its
formulas is the largest for all parameters that are at least 1, that is the size; otherwise a chain
of ``?:`` picks the largest of them::

    for (i = 0; i < n; i++) A[i] = A[i + 1];                   double A[n + 1]
    for (i = 0; i < n; i++) x[i] = 0;
    for (i = 0; i < m; i++) x[i] = 1;                          double x[n >= m ? n : m]

A subscript that is computed when the program runs says nothing: the size is a parameter of its own.

Nor do subscripts without a sign that have wrapped around: no array is so large. The size is that of
parameters for which nothing does, and whatever else the program needs, the bounds check finds::

    unsigned i, n;   for (i = 0; i < n - 2; i++) A[i + 2] = 0;     double A[n], and n >= 2
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import islpy as isl

from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.sema.accesses import SourceAccess, without_iterators
from polygym.frontend.c.sema.wraparound import LARGE_VALUE, at_most, wrapped_domain
from polygym.poly.isl_values import isl_c_text

_MAX_FORMULAS = 4


def inferred_sizes(
    accesses: Sequence[SourceAccess], array: str, rank: int, translation: Translation
) -> tuple[str | None, ...]:
    """Return the size of every dimension of an array as C; None where it cannot be told.

    ``translation`` is that of the region with the accesses.
    """
    bindings = translation.bindings
    parameters = {bindings.name(symbol): symbol.name for symbol in bindings.parameters}
    try:
        result = _sizes(accesses, array, rank, parameters, translation.context)
    except isl.Error:
        return (None,) * rank  # the translation of the region meets the limit, too

    def in_c(text: str) -> str:
        """Return a size with C's names."""
        return re.sub(r"[A-Za-z_]\w*", lambda name: parameters.get(name[0], name[0]), text)

    return tuple(None if size is None else in_c(size) for size in result)


def _sizes(
    accesses: Sequence[SourceAccess], array: str, rank: int, parameters: Iterable[str], context: Any
) -> tuple[str | None, ...]:
    """Return the sizes with isl's names."""
    mine = [touch for touch in accesses if touch.symbol.name == array]
    positive = isl.Set.universe(isl.Space.params_alloc(context, 0))
    for name in parameters:
        text = f"[{name}] -> {{ : {name} >= 1 }}"
        positive = positive.intersect(isl.Set.read_from_str(context, text))
    return tuple(_size(mine, dimension, positive) for dimension in range(rank))


def _size(accesses: Sequence[SourceAccess], dimension: int, positive_parameters: Any) -> str | None:
    """Return one size."""
    formulas: list[Any] = []
    for touch in accesses:
        subscript = touch.subscripts[dimension]
        if subscript is None:
            continue
        values = isl.Map.from_pw_aff(subscript).intersect_domain(touch.domain).range()
        values = without_iterators(values, touch.iterators)
        values = _without_wraparound(values, positive_parameters)
        if values.is_empty():
            continue
        if not values.dim_has_any_upper_bound(isl.dim_type.set, 0):
            return None
        pieces = values.dim_max(0).coalesce().get_pieces()
        formulas += [isl.PwAff.from_aff(formula.add_constant_val(1)) for _, formula in pieces]
    kept = _undominated(formulas, positive_parameters)
    return _text(kept, positive_parameters) if kept else None


def _without_wraparound(values: Any, positive_parameters: Any) -> Any:
    """Return subscripts for positive parameters: without those that have wrapped around."""
    index = values.dim(isl.dim_type.set) - 1
    least = isl.Val(str(LARGE_VALUE), values.get_ctx())
    large = values.lower_bound_val(isl.dim_type.set, index, least).params()
    wrong = wrapped_domain(values, large)
    if wrong.is_empty():
        return values.intersect_params(positive_parameters)
    usual = at_most(positive_parameters.align_params(wrong.get_space()), LARGE_VALUE)
    result = values.intersect_params(usual.subtract(wrong))
    # Twice: the first finds the quotients that are zero then.
    return result.gist_params(usual).gist_params(usual).coalesce()


def _undominated(formulas: Sequence[Any], positive_parameters: Any) -> list[Any]:
    """Return the formulas that are not everywhere at most another one."""
    kept: list[Any] = []
    for formula in formulas:
        if any(positive_parameters.is_subset(_params(other.ge_set(formula))) for other in kept):
            continue
        kept = [o for o in kept if not positive_parameters.is_subset(_params(formula.ge_set(o)))]
        kept.append(formula)
    return kept


def _params(values: Any) -> Any:
    return values if values.is_params() else values.params()


def _text(formulas: Sequence[Any], positive_parameters: Any) -> str | None:
    """Return the largest of some formulas as C."""
    if len(formulas) > _MAX_FORMULAS:
        return None
    build = isl.AstBuild.from_context(positive_parameters)
    functions = [formula.project_domain_on_params() for formula in formulas]
    texts = [isl_c_text(build.expr_from_pw_aff(function)) for function in functions]
    result = texts[-1]
    for text in reversed(texts[:-1]):
        result = f"({text}) >= ({result}) ? ({text}) : ({result})"
    return result
