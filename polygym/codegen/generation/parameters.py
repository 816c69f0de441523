"""Facts about the parameters alone, as indices: the context, and the sizes of arrays.

``[n] -> { : n >= 2 }`` is the condition ``n >= 2``, ``[n] -> { [(2 + n)] }`` the size ``n + 2``.
"""

import islpy as isl

from polygym.codegen.generation.isl_ast import index_from_isl
from polygym.codegen.loopir.ir import Index
from polygym.ir.scop import Array, Scop
from polygym.poly.isl_budget import bounded_operations


def context_condition(scop: Scop) -> Index | None:
    """Return the condition of a program's context, None where it admits all parameters.

    Raises:
        LimitError: it is too large.
    """
    with bounded_operations("the conditions of the parameters"):
        context = isl.Set(scop.context).params()
        if context.plain_is_universe():
            return None
        build = isl.AstBuild.from_context(isl.Set.universe(context.get_space()).params())
        return index_from_isl(build.expr_from_set(context))


def extent_indices(scop: Scop, array: Array) -> tuple[Index, ...]:
    """Return the sizes of an array as functions of the parameters, within the context.

    Raises:
        LimitError: they are too large.
    """
    with bounded_operations("the sizes of the arrays"):
        build = isl.AstBuild.from_context(isl.Set(scop.context))
        return tuple(
            index_from_isl(build.expr_from_pw_aff(isl.PwAff(extent))) for extent in array.extents
        )
