"""Windows of images as bodies: pools, and all windows as the columns of a matrix."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from polygym.graphs.execution.ir.nests import (
    ArrayAccess,
    Expression,
    NestArray,
    NestStatement,
    TextTemplate,
    index_named,
)
from polygym.graphs.execution.ir.operations import ArrayOperation
from polygym.graphs.execution.operators.bodies import (
    NestBuilder,
    OperatorBody,
    combine_pairwise,
    index_names,
    reduction_body,
)
from polygym.graphs.operators.element_text import literal_text

__all__ = ["pool_body", "windows_body"]

_MAX_UNROLLED = 8
"""Rows and columns of windows that are written out element by element."""


def windows_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return the windows of an image below each other, as the columns of a matrix."""
    height, width, *stride = (int(head) for head in operation.literals)
    (x,) = operation.operands
    count, channels = x.shape[:2]
    rows, columns = operation.result.shape[2:]
    extents = {"n": count, "c": channels, "y": height, "x": width, "h": rows, "w": columns}
    n, c, down, across, h, w = (index_named(name) for name in extents)
    value = draft.read(x, (n, c, h * stride[0] + down, w * stride[1] + across))
    logical = (n, c * (height * width) + down * width + across, h, w)
    return OperatorBody(extents, (), (), value, tuple(extents), logical)


def pool_body(operation: ArrayOperation, draft: NestBuilder) -> OperatorBody:
    """Return what comes of windows: of their columns first, then of rows of such.

    So a window of 3 by 3 takes 4 operations instead of 8, and the first ones run along rows.
    """
    rows, columns, *stride = (int(head) for head in operation.literals)
    (image, *shares), dtype = operation.operands, operation.result.dtype
    at, extents = index_names("o", operation.result.shape)
    n, c, h, w = map(index_named, at)
    join = "max({0}, {1})" if operation.head == "poolmax" else "({0} + {1})"
    body: OperatorBody
    is_one = prod(operation.result.shape[2:]) == 1
    if is_one or max(rows, columns) > _MAX_UNROLLED:
        operator = "max=!" if operation.head == "poolmax" else "+=!"
        extents |= {"y": rows, "x": columns}
        place = (n, c, h * stride[0] + index_named("y"), w * stride[1] + index_named("x"))
        body = reduction_body(operation, at, extents, operator, draft.read(image, place))
    else:
        extents["all"] = image.shape[3]
        column = combine_pairwise(
            join,
            [draft.read(image, (n, c, h * stride[0] + y, index_named("all"))) for y in range(rows)],
        )
        between = (*at[:3], "all")
        value = combine_pairwise(
            join, [ArrayAccess("columns", (n, c, h, w * stride[1] + x)) for x in range(columns)]
        )
        body = OperatorBody(
            extents,
            (NestStatement("columns", between, "=", column),),
            (NestArray("columns", tuple(extents[one] for one in between), dtype),),
            value,
            at,
            (n, c, h, w),
        )
    if operation.head == "poolmax":
        return body
    share: Expression = TextTemplate(literal_text(1 / (rows * columns), dtype))
    if shares:
        share = draft.read(shares[0], (h, w))
    return replace(body, result=TextTemplate("{0} * {1}", (body.result, share)))
