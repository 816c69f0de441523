"""isl's functions as the texts that a Scop holds: accesses, sizes, and both as C."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygym.ir.expressions import Access
from polygym.poly.isl_values import isl_c_text, isl_text


def access_from_map(function: isl.Map, array: str) -> Access:
    """Return the access that a function from instances to elements is."""
    function = function.set_tuple_name(isl.dim_type.out, array)
    return Access(array, isl_text(function), access_text(function, array))


def access_text(function: isl.Map, array: str) -> str:
    """Return an access as C would have it, ``w[i][k + 1]``."""
    subscripts = subscript_texts(function)
    return array + "".join(f"[{subscript}]" for subscript in subscripts)


def subscript_texts(function: isl.Map) -> tuple[str, ...]:
    """Return the results of a function as C texts in terms of its arguments' names."""
    depth = function.dim(isl.dim_type.in_)
    count = function.dim(isl.dim_type.param)
    function = function.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
    numbers = isl.PwMultiAff.from_map(
        function.move_dims(isl.dim_type.param, count, isl.dim_type.in_, 0, depth)
    )
    build = isl.AstBuild.from_context(isl.Set("{ : }"))
    return tuple(
        isl_c_text(build.expr_from_pw_aff(numbers.get_pw_aff(place).project_domain_on_params()))
        for place in range(numbers.dim(isl.dim_type.out))
    )


def size_c_text(size: isl.PwAff) -> str:
    """Return a function of the parameters as C."""
    return isl_c_text(isl.AstBuild.from_context(isl.Set("{ : }")).expr_from_pw_aff(size))


def named_set(points: isl.Set, name: str, iterators: Sequence[str]) -> isl.Set:
    """Return a set of points as instances of a statement."""
    points = points.set_tuple_name(name)
    for place, iterator in enumerate(iterators):
        points = points.set_dim_name(isl.dim_type.set, place, iterator)
    return points
