"""Loops over the elements of a set, which depends on the counters around: isl's, looked through.

::

    { [c0] -> A[i, j] : 8c0 <= i < 8c0 + 8 and 0 <= j <= i }

        for i = 8 * c0 .. 8 * c0 + 7:  for j = 0 .. i:  …

They follow the dimensions of the array, the last one innermost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from polygym.codegen.generation.isl_ast import index_from_isl, node_from_isl
from polygym.codegen.loopir.ir import Index, Instance, Node
from polygym.poly.isl_budget import unbounded_operations


def scan_set(
    elements: isl.Map,
    around: isl.Set,
    outer: Sequence[str],
    counters: Sequence[str],
    instance: Callable[[tuple[Index, ...]], Instance],
) -> Node:
    """Return loops that run an instance for all elements that belong to the values of counters.

    The ``outer`` counters have values in the set ``around``; the ``counters`` are those of the new
    loops, and an instance is made of the subscripts.
    """
    count = len(outer)
    parameters = elements.dim(isl.dim_type.param)
    moved = elements.move_dims(isl.dim_type.param, parameters, isl.dim_type.in_, 0, count).range()
    context = around.move_dims(isl.dim_type.param, parameters, isl.dim_type.set, 0, count).params()
    for place, name in enumerate(outer, parameters):
        moved = moved.set_dim_name(isl.dim_type.param, place, name)
        context = context.set_dim_name(isl.dim_type.param, place, name)
    names = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(counters))
    for name in counters:
        names = names.add(isl.Id(name))
    build = isl.AstBuild.from_context(context).set_iterators(names)
    moved = moved.set_tuple_name("copied")
    order = moved.identity().reset_tuple_id(isl.dim_type.out)
    ast = build.node_from_schedule_map(isl.UnionMap.from_map(order))

    def leaf(node: isl.AstNode) -> Instance:
        call = node.user_get_expr()
        places = range(1, call.get_op_n_arg())
        return instance(tuple(index_from_isl(call.get_op_arg(place)) for place in places))

    with unbounded_operations():
        return node_from_isl(ast, leaf, {})
