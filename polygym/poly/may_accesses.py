"""May-accesses: the known part of accesses with computed subscripts.

The relation of ``X[I[i]][j]`` holds the whole of X along the first dimension. Dependences are
computed from it as it is, so they order whatever could be in conflict. Where a function from
instances to elements is needed, its *anchor* serves: 0 in the computed dimensions,
``{ S[i, j] -> X[0, j] }``. It tells how the rest of the access moves, and what is computed is added
to it.
"""

from collections.abc import Mapping
from functools import lru_cache

import islpy as isl

from polygym.ir.expressions import Access
from polygym.ir.gathers import computed_subscripts
from polygym.ir.scop import Scop
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.isl_values import isl_text


def anchor_access(access: Access) -> isl.Map:
    """Return an access with 0 in the place of every computed subscript: a single-valued map."""
    return isl.Map(anchor(access))


def anchor(access: Access) -> str:
    """Return the text of :func:`anchor_access`."""
    if not access.gathered:
        return access.relation
    return _anchor(access.relation, access.gathered)


@lru_cache(maxsize=1024)
def _anchor(relation: str, gathered: tuple[int, ...]) -> str:
    result = isl.Map(relation)
    for dimension in gathered:
        result = result.drop_constraints_involving_dims(isl.dim_type.out, dimension, 1)
        result = result.fix_val(isl.dim_type.out, dimension, isl.Val(0))
    return isl_text(result.coalesce())


def out_of_range_messages(scop: Scop, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Return what is to be said of every computed subscript, should it be out of range."""
    return tuple(
        subscript.out_of_range_message(
            evaluate_extent(scop.array(subscript.array).extents[subscript.dimension], sizes)
        )
        for subscript in computed_subscripts(scop)
    )
